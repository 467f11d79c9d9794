"""How do scores become weights? Softmax, naive and stable.

Source: sections 3.3.1 and 3.3.2. Taught in ``02_softmax``.
"""

import torch


def softmax_naive(scores: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Exponentiate and divide by the sum, as the formula is written.

    Overflows to NaN for large scores (from about 89 in float32), and underflows to 0 / 0 when
    every score is far below zero; ``softmax`` does neither.

    Args:
        scores: any floating-point tensor.
        dim: the dimension whose entries share a total of 1.

    Returns:
        Weights of the shape of ``scores``.

    >>> softmax_naive(torch.tensor([1.0, 2.0, 3.0]))
    tensor([0.0900, 0.2447, 0.6652])
    >>> softmax_naive(torch.tensor([1.0, 1000.0]))
    tensor([0., nan])

    Source: section 3.3.1.
    """
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def softmax(scores: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Turn scores into positive weights that sum to 1, for scores of any size.

    New compared with ``softmax_naive``: the largest score is subtracted first. That changes
    nothing, since the factor exp(-max) cancels from the quotient, and no exponential exceeds 1.

    Arguments are those of ``softmax_naive``. Entries of -inf get weight 0; a row of nothing else is
    NaN, since there is nothing among which a weight of 1 could be shared.

    Returns:
        Weights of the shape and dtype of ``scores``, computed in that dtype; in float16 a sum
        over more than 65504 entries can overflow.

    >>> softmax(torch.tensor([1.0, 2.0, 3.0]))
    tensor([0.0900, 0.2447, 0.6652])
    >>> softmax(torch.tensor([1.0, 1000.0]))
    tensor([0., 1.])

    Source: section 3.3.1.
    """
    exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)
