"""How is the future hidden? The causal mask, applied in two ways.

In this package True in a mask means *hidden*. PyTorch's own functions disagree with one another:
``nn.MultiheadAttention`` also takes True as hidden, ``scaled_dot_product_attention`` takes it as
visible.

Source: section 3.5.1. Taught in ``04_masking``.
"""

import torch


def causal_mask(T: int, device: torch.device | str | None = None) -> torch.Tensor:
    """Mark, for every query, the keys that come after it.

    Args:
        T: the number of tokens.
        device: where to make the mask (default: the CPU).

    Returns:
        Boolean tensor (T, T); True at row i, column j means that query i must not see key j.

    >>> causal_mask(3)
    tensor([[False,  True,  True],
            [False, False,  True],
            [False, False, False]])

    Source: section 3.5.1.
    """
    return torch.ones(T, T, dtype=torch.bool, device=device).triu(diagonal=1)


def mask_then_renormalise(weights: torch.Tensor) -> torch.Tensor:
    """Zero the weights (..., T, T) of future tokens and scale every row back to a sum of 1.

    The sums of the softmax that made ``weights`` had future tokens in them, yet nothing of these
    leaks: the sum of a row divides all of its weights alike, so scaling cancels it. That holds up
    to rounding. Where a future token took nearly all the weight, what is left is imprecise, and a
    row whose visible weights have all underflowed to 0 becomes NaN; ``mask_scores`` avoids both.

    Raises:
        ValueError: ``weights`` is not square: a single row would be broadcast to all queries.

    >>> mask_then_renormalise(torch.full((2, 2), 0.5))
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])

    Source: section 3.5.1.
    """
    T = weights.shape[-1]
    if weights.shape[-2] != T:
        raise ValueError(f"weights must be square, (..., T, T), got {tuple(weights.shape)}")
    hidden = causal_mask(T, weights.device)
    visible = weights.masked_fill(hidden, 0.0)
    return visible / visible.sum(dim=-1, keepdim=True)


def mask_scores(scores: torch.Tensor) -> torch.Tensor:
    """Replace scores (..., T, T) of future tokens by -inf, so that softmax gives them weight 0.

    New compared with ``mask_then_renormalise``: one softmax does both the hiding and the scaling.

    Raises:
        ValueError: ``scores`` is not square: a single row would be broadcast to all queries.

    >>> mask_scores(torch.zeros(2, 2))
    tensor([[0., -inf],
            [0., 0.]])

    Source: section 3.5.1.
    """
    T = scores.shape[-1]
    if scores.shape[-2] != T:
        raise ValueError(f"scores must be square, (..., T, T), got {tuple(scores.shape)}")
    hidden = causal_mask(T, scores.device)
    return scores.masked_fill(hidden, -torch.inf)
