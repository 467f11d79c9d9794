"""How is the future hidden? The causal mask, applied in two ways.

In this package True in a mask means *hidden*. PyTorch's own functions disagree with one another:
``nn.MultiheadAttention`` also takes True as hidden, ``scaled_dot_product_attention`` takes it as
visible.

Source: section 3.5.1. Taught in ``04_masking``.
"""

import torch

from chapter3_helpers._checks.edge import checked_by
from chapter3_helpers._checks.numbers import check_size
from chapter3_helpers._checks.tensors import check_square


@checked_by(lambda T, device=None: check_size("T", T))
def causal_mask(T: int, device: torch.device | str | None = None) -> torch.Tensor:
    """Mark, for every query, the keys that come after it.

    Args:
        T: the number of tokens.
        device: where to make the mask (default: the CPU).

    Returns:
        Boolean tensor (T, T); True at row i, column j means that query i must not see key j.

    Raises:
        TypeError, ValueError: ``T`` is not an integer of at least 1.

    >>> causal_mask(3)
    tensor([[False,  True,  True],
            [False, False,  True],
            [False, False, False]])

    Source: section 3.5.1.
    """
    return torch.triu(torch.ones(T, T, dtype=torch.bool, device=device), diagonal=1)


@checked_by(lambda weights: check_square("weights", weights))
def mask_then_renormalise(weights: torch.Tensor) -> torch.Tensor:
    """Zero the weights of future tokens and scale every row back to a sum of 1.

    The sums of the softmax that made ``weights`` had future tokens in them, yet nothing of these
    leaks: the sum of a row divides all of its weights alike, so scaling cancels it. That holds up
    to rounding. Where a future token took nearly all the weight, what is left is imprecise, and a
    row whose visible weights have all underflowed to 0 becomes NaN; ``mask_scores`` avoids both.

    Args:
        weights: attention weights (..., T, T) after softmax.

    Returns:
        Weights (..., T, T), zero above the diagonal.

    Raises:
        TypeError, ValueError: ``weights`` is not a floating-point tensor of shape (..., T, T).

    >>> mask_then_renormalise(torch.full((2, 2), 0.5))
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])

    Source: section 3.5.1.
    """
    hidden = causal_mask(weights.shape[-1], weights.device)
    visible = weights.masked_fill(hidden, 0.0)
    return visible / visible.sum(dim=-1, keepdim=True)


@checked_by(lambda scores: check_square("scores", scores))
def mask_scores(scores: torch.Tensor) -> torch.Tensor:
    """Replace the scores of future tokens by -inf, so that softmax gives them weight 0.

    New compared with ``mask_then_renormalise``: one softmax does both the hiding and the scaling.

    Args:
        scores: attention scores (..., T, T) before softmax.

    Returns:
        Scores (..., T, T), -inf above the diagonal.

    Raises:
        TypeError, ValueError: ``scores`` is not a floating-point tensor of shape (..., T, T).

    >>> mask_scores(torch.zeros(2, 2))
    tensor([[0., -inf],
            [0., 0.]])

    Source: section 3.5.1.
    """
    hidden = causal_mask(scores.shape[-1], scores.device)
    return scores.masked_fill(hidden, -torch.inf)
