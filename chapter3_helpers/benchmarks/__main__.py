"""Run the benchmark: ``python -m chapter3_helpers.benchmarks``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from tqdm.auto import tqdm

from chapter3_helpers.benchmarks.measure import measure_generation, measure_memory, measure_sizes
from chapter3_helpers.benchmarks.report import (
    describe_machine,
    generation_table,
    memory_table,
    save,
    table,
)
from chapter3_helpers.performance import Sizes

SIZES = (
    Sizes(2, 6, 4, 2),  # the reader's six tokens, twice
    Sizes(4, 256, 256, 8),
    Sizes(8, 1024, 768, 12),  # GPT-2 small's attention
    Sizes(1, 4096, 768, 12),
    Sizes(1, 8192, 768, 12),
)
QUICK_SIZES = (Sizes(2, 6, 4, 2), Sizes(2, 128, 64, 4))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, save; return the exit status: 1 if any variant was wrong."""
    parser = argparse.ArgumentParser(prog="chapter3_helpers.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, some seconds in all")
    parser.add_argument("--out", type=Path, default=Path("benchmarks"), help="folder for results")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each set of sizes")
    parser.add_argument("--device", help="cpu or cuda (default: the CPU, then a GPU if any)")
    parser.add_argument("--no-flex", action="store_true", help="leave FlexAttention out")
    options = parser.parse_args(arguments)
    devices = [options.device] if options.device else ["cpu"]
    if options.device is None and torch.cuda.is_available():
        devices.append("cuda")
    seconds = 0.1 if options.quick else options.seconds
    some_wrong = False
    for device in devices:
        machine = describe_machine(device)
        print(", ".join(f"{name}: {value}" for name, value in machine.items()))
        times = []
        for sizes in tqdm(QUICK_SIZES if options.quick else SIZES, desc="sizes", unit="size"):
            flex = not (options.quick or options.no_flex)
            times += measure_sizes(sizes, device, seconds, flex)
        lengths = (256, 512) if options.quick else (1024, 2048, 4096, 8192, 16384)
        memory = measure_memory(lengths, device)
        generation = measure_generation(
            (32, 64) if options.quick else (1024, 4096), device, seconds
        )
        print(f"\n{table(times)}\n\n{memory_table(memory)}\n\n{generation_table(generation)}\n")
        folder = options.out if device == "cpu" else options.out / device
        results = {
            "machine": machine,
            "times": times,
            "memory": memory,
            "generation": generation,
        }
        for path in save(folder, results):
            print(f"saved {path}")
        some_wrong |= any(row.get("reason", "").startswith("WRONG") for row in times)
    return int(some_wrong)


if __name__ == "__main__":
    sys.exit(main())
