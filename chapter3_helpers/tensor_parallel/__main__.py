"""Compare several processes with one: ``python -m chapter3_helpers.tensor_parallel``."""

import os

import torch

from chapter3_helpers.fused_multihead import MultiHeadAttention
from chapter3_helpers.grouped_query import GroupedQueryAttention
from chapter3_helpers.tensor_parallel.comparison import compare, run
from chapter3_helpers.tensor_parallel.processes import join_group, leave_group


def main() -> None:
    """Print the report for both kinds of attention, under ``torchrun`` or with two processes."""
    torch.manual_seed(123)
    x = torch.randn(128, 768)
    modules = (
        MultiHeadAttention(768, 768, context_length=128, dropout=0.0, num_heads=12),
        GroupedQueryAttention(768, num_heads=12, num_kv_heads=4, context_length=128),
    )
    if "RANK" not in os.environ:
        for module in modules:
            print(f"{type(module).__name__}\n{run(module, x)}\n")
        return
    rank, n = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    join_group(rank, n)
    for module in modules:
        report = compare(module, x, num_threads=os.cpu_count() or 1)
        if rank == 0:
            print(f"{type(module).__name__}\n{report}\n")
    leave_group()


if __name__ == "__main__":
    main()
