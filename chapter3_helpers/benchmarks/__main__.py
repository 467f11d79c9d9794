"""Measure every implementation of attention: ``python -m chapter3_helpers.benchmarks``."""

import argparse
from collections.abc import Sequence

import torch
from tqdm.auto import tqdm

from chapter3_helpers.benchmarks.machine import describe_machine
from chapter3_helpers.benchmarks.measure import measure_memory, measure_sizes
from chapter3_helpers.benchmarks.real_model import measure_writing
from chapter3_helpers.benchmarks.report import memory_table, table, writing_table
from chapter3_helpers.benchmarks.variants import make_variants
from chapter3_helpers.model_files import model_path
from chapter3_helpers.performance import Sizes
from chapter3_helpers.real_model import load_llama

LENGTHS = (1024, 2048, 4096, 8192, 16384)  # of texts whose memory is measured
SIZES = (
    Sizes(2, 6, 4, 2),  # the reader's six tokens, twice
    Sizes(4, 256, 256, 8),
    Sizes(8, 1024, 768, 12),  # GPT-2 small's attention
    Sizes(1, 4096, 768, 12),
    Sizes(1, 8192, 768, 12),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print each table when it is done, so that stopping the rest loses nothing."""
    parser = argparse.ArgumentParser(prog="chapter3_helpers.benchmarks", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="per set of sizes")
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), help="where (default: the CPU, then a GPU if any)"
    )
    options = parser.parse_args(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda needs a GPU that torch can use")
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    for device in [options.device] if options.device else devices:
        print(", ".join(f"{name}: {value}" for name, value in describe_machine(device).items()))
        print(f"\n{memory_table(measure_memory(LENGTHS, device))}\n")
        if device == "cpu" and model_path():
            print(f"\n{writing_table(measure_writing(load_llama(), seconds=options.seconds))}\n")
        for sizes in tqdm(SIZES, desc="sizes", unit="size"):
            rows = measure_sizes(sizes, make_variants(sizes, device), device, options.seconds)
            tqdm.write(f"\n{table(rows)}\n")


if __name__ == "__main__":
    main()
