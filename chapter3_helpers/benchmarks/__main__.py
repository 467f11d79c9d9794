"""Run the benchmark: ``python -m chapter3_helpers.benchmarks``."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch
from tqdm.auto import tqdm

from chapter3_helpers.benchmarks.machine import describe_machine
from chapter3_helpers.benchmarks.measure import measure_generation, measure_memory, measure_sizes
from chapter3_helpers.benchmarks.real_model import measure_writing
from chapter3_helpers.benchmarks.report import (
    generation_table,
    memory_table,
    save,
    table,
    writing_table,
)
from chapter3_helpers.benchmarks.variants import make_variants
from chapter3_helpers.model_files import model_path
from chapter3_helpers.performance import Sizes
from chapter3_helpers.real_model import Llama, load_llama

SIZES = (
    Sizes(2, 6, 4, 2),  # the reader's six tokens, twice
    Sizes(4, 256, 256, 8),
    Sizes(8, 1024, 768, 12),  # GPT-2 small's attention
    Sizes(1, 4096, 768, 12),
    Sizes(1, 8192, 768, 12),
)
QUICK_SIZES = (Sizes(2, 6, 4, 2), Sizes(2, 128, 64, 4))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="chapter3_helpers.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, a few seconds in all")
    parser.add_argument("--out", type=Path, default=Path("benchmarks"), help="folder for results")
    parser.add_argument("--seconds", type=float, default=10.0, help="per set of sizes")
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), help="where (default: the CPU, then a GPU if any)"
    )
    options = parser.parse_args(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda needs a GPU that torch can use")
    devices = [options.device] if options.device else ["cpu"]
    if options.device is None and torch.cuda.is_available():
        devices.append("cuda")
    seconds = 0.1 if options.quick else options.seconds
    for device in devices:
        machine = describe_machine(device)
        print(", ".join(f"{name}: {value}" for name, value in machine.items()))
        results = {"machine": machine, "times": [], "memory": [], "generation": [], "writing": []}
        folder = options.out if device == "cpu" else options.out / device

        # every part is shown and saved when it is done, so that stopping the rest loses nothing
        lengths = (256, 512) if options.quick else (1024, 2048, 4096, 8192, 16384)
        results["memory"] = measure_memory(lengths, device)
        print(f"\n{memory_table(results['memory'])}\n")
        lengths = (32, 64) if options.quick else (1024, 4096)
        results["generation"] = measure_generation(lengths, device, seconds)
        print(f"\n{generation_table(results['generation'])}\n")
        save(folder, results)
        if device == "cpu" and (options.quick or model_path()):
            lengths = (4, 8) if options.quick else (10, 300)
            model = Llama(53, 24, 2, 6, 2, 37, 400) if options.quick else load_llama()
            results["writing"] = measure_writing(model, lengths, seconds=seconds)
            del model
            print(f"\n{writing_table(results['writing'])}\n")
            save(folder, results)
        for sizes in tqdm(QUICK_SIZES if options.quick else SIZES, desc="sizes", unit="size"):
            rows = measure_sizes(sizes, make_variants(sizes, device), device, seconds)
            tqdm.write(f"\n{table(rows)}\n")
            results["times"] += rows
            paths = save(folder, results)
        for path in paths:
            print(f"saved {path}")


if __name__ == "__main__":
    main()
