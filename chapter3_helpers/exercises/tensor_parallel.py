"""The exercises of ``14_tensor_parallel``."""

import torch

from chapter3_helpers.exercises import Exercise, drawn


def _partial_sums(
    parts: list[torch.Tensor], weight: torch.Tensor, bias: torch.Tensor, biases: float = 1.0
) -> torch.Tensor:
    columns = weight.split([part.shape[-1] for part in parts], dim=1)
    products = [part @ column.T for part, column in zip(parts, columns, strict=True)]
    return torch.stack(products).sum(dim=0) + biases * bias


ADD_UP = Exercise(
    name="14a",
    solution=_partial_sums,
    cases=(
        ([*drawn(2, 5, 3)], drawn(7, 6, seed=2), drawn(7, seed=3)),
        ([*drawn(3, 2, 4)], drawn(5, 12, seed=2), drawn(5, seed=3)),
    ),
    misconceptions={
        "The bias comes in once for every process. Only the sum of all partial products gets it, "
        "once.": lambda parts, weight, bias: _partial_sums(parts, weight, bias, len(parts)),
        "You averaged the partial products. They are parts of one sum, so they are added; it is "
        "copies of a gradient, in data parallelism, that are averaged.": (
            lambda parts, weight, bias: _partial_sums(parts, weight, 0 * bias) / len(parts) + bias
        ),
        "The bias is missing.": lambda parts, weight, bias: _partial_sums(parts, weight, 0 * bias),
        "Every process used the same columns. Process r reads those that its own heads feed.": (
            lambda parts, weight, bias: _partial_sums(
                parts, weight[:, : parts[0].shape[-1]].repeat(1, len(parts)), bias
            )
        ),
    },
)


def _packed(d_out: int, num_processes: int, rank: int) -> torch.Tensor:
    return torch.arange(3 * d_out).view(3, num_processes, -1)[:, rank].flatten()


PACKED_ROWS = Exercise(
    name="14b",
    solution=_packed,
    cases=((12, 2, 0), (14, 2, 1), (20, 5, 3)),
    misconceptions={
        "You cut the packed rows straight through: process 0 gets queries for which the keys live "
        "elsewhere. Cut queries, keys and values one by one.": (
            lambda d_out, n, rank: torch.arange(3 * d_out).view(n, -1)[rank]
        ),
        "You found the rows of the queries. The process needs the same share of keys and values.": (
            lambda d_out, n, rank: torch.arange(d_out).view(n, -1)[rank]
        ),
        "You deal the rows out one by one, so every head is scattered over all processes. "
        "Neighbouring rows make a head, and have to stay together.": (
            lambda d_out, n, rank: torch.arange(rank, 3 * d_out, n)
        ),
    },
)


def _kv_heads(num_heads: int, num_kv_heads: int, num_processes: int, rank: int) -> torch.Tensor:
    share, group = num_heads // num_processes, num_heads // num_kv_heads
    return (torch.arange(rank * share, (rank + 1) * share) // group).unique()


KV_HEADS_HERE = Exercise(
    name="14c",
    solution=_kv_heads,
    cases=((24, 6, 3, 2), (16, 2, 8, 5), (12, 6, 4, 1), (12, 6, 4, 0), (15, 1, 5, 2)),
    misconceptions={
        "This deals the kv heads out as if there were enough of them. With fewer kv heads than "
        "processes, some process would get none: start from its query heads.": (
            lambda H, G, n, rank: torch.arange(
                rank * G // n,
                rank * G // n + G // n,
            )
        ),
        "Your list ends where the next process begins. But two processes may share a kv head: the "
        "last one here is that of the last query head here.": (
            lambda H, G, n, rank: torch.arange(
                first := rank * G // n,
                max(first + 1, (rank + 1) * G // n),
            )
        ),
        "Query head h reads kv head h // (H // G), not h % G: those that share one are "
        "neighbours.": lambda H, G, n, rank: (
            torch.arange(rank * H // n, (rank + 1) * H // n) % G
        ).unique(),
        "You keep every kv head everywhere. A process needs those that its query heads read.": (
            lambda H, G, n, rank: torch.arange(G)
        ),
    },
)
