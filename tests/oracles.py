"""Numbers to try things with, and what attention makes of them by hand."""

import math

import torch


def tokens(*shape: int, seed: int = 1, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Draw signed numbers, the same ones for the same shape and seed."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def by_hand(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attend with one head, number by number, each query over its own past: (context, weights)."""
    T, D = values.shape
    context, weights = (torch.zeros(T, n, dtype=torch.float64) for n in (D, T))
    for i, query in enumerate(queries.tolist()):
        past = keys[: i + 1].tolist()
        scores = [sum(q * k for q, k in zip(query, key, strict=True)) for key in past]
        exponentials = [math.exp(score / math.sqrt(len(query))) for score in scores]
        for j, exponential in enumerate(exponentials):
            weights[i, j] = exponential / sum(exponentials)
            for column, value in enumerate(values[j].tolist()):
                context[i, column] += weights[i, j] * value
    return context, weights
