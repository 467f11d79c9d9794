"""How does attention learn about order? Learned, linear and rotary positions.

Attention by itself sees a set of tokens, in no order. There are three ways to tell it, each in
another place: a vector added to every token (``LearnedPositions``), a penalty added to every score
(``linear_bias``, ``alibi_bias``), a rotation of queries and keys (``apply_rotary``).

Source: lecture notes on self-attention, section 2; the worked walk through rotary positions.
Taught in ``08_positions``.
"""

import torch
from torch import nn

from chapter3_helpers.masking import mask_scores


class LearnedPositions(nn.Module):
    """Add to every token a learned vector that belongs to its position.

    ::

        x (T, d) + weight[:T] (T, d) --> (T, d), which goes into attention in the place of x

    The vectors start small, with a standard deviation of 0.02, as GPT-2's word embeddings do.

    Args:
        max_length: the most tokens it will read at once.
        d: numbers per token.

    Raises:
        ValueError: more than ``max_length`` tokens come in.

    >>> _ = torch.manual_seed(123)
    >>> positions = LearnedPositions(max_length=6, d=4)
    >>> bool((positions(torch.zeros(5, 4)) == positions.weight[:5]).all())
    True

    Source: lecture notes, section 2; used by BERT and GPT-2.
    """

    def __init__(self, max_length: int, d: int):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(max_length, d))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d) to tokens (..., T, d) that know their position."""
        if x.shape[-2] > len(self.weight):
            raise ValueError(f"at most {len(self.weight)} tokens fit, got {x.shape[-2]}")
        return x + self.weight[: x.shape[-2]]  # (..., T, d) + (T, d)


def linear_bias(T: int, causal: bool = False) -> torch.Tensor:
    """Penalise every score by the distance between query and key.

    Args:
        T: the number of tokens.
        causal: whether the future is hidden: -inf at every key after the query, so that softmax
            gives it weight 0. Otherwise scores tell how far a token is, but not on which side.

    Returns:
        Tensor (T, T) to add to scores that are already divided by sqrt(D). Row i is
        [-i, ..., -1, 0, -1, ..., -(T - 1 - i)]; with
        ``causal`` it is [-i, ..., -1, 0, -inf, ..., -inf].

    >>> linear_bias(3)
    tensor([[ 0., -1., -2.],
            [-1.,  0., -1.],
            [-2., -1.,  0.]])
    >>> linear_bias(3, causal=True)
    tensor([[ 0., -inf, -inf],
            [-1.,  0., -inf],
            [-2., -1.,  0.]])

    Source: lecture notes, section 2.
    """
    bias = -(torch.arange(T)[:, None] - torch.arange(T)).abs() * 1.0  # -|i - j|, (T, T)
    return mask_scores(bias) if causal else bias


def alibi_slopes(num_heads: int) -> torch.Tensor:
    """Choose how steeply each head's penalty grows with the distance: positive slopes (H,).

    For a power of two the slopes are 2^(-8/H), 2^(-16/H), ..., 2^(-8): from a head that looks
    close by to one that looks far. For any other number H, the first P heads, P being the largest
    power of two below H, get the slopes of P heads; the others take every second slope of 2P
    heads, whose exponents lie midway between those.

    >>> alibi_slopes(4)
    tensor([0.2500, 0.0625, 0.0156, 0.0039])
    >>> alibi_slopes(6)
    tensor([0.2500, 0.0625, 0.0156, 0.0039, 0.5000, 0.1250])

    Source: Press, Smith and Lewis, "Train Short, Test Long" (2021).
    """
    power = 2 ** (num_heads.bit_length() - 1)  # the largest power of two up to num_heads
    exponents = [8 * (head + 1) / power for head in range(power)]
    exponents += [8 * (2 * extra + 1) / (2 * power) for extra in range(num_heads - power)]
    return torch.tensor([2.0**-exponent for exponent in exponents])


def alibi_bias(num_heads: int, T: int) -> torch.Tensor:
    """Penalise the scores of every head by the distance times the head's own slope.

    New compared with ``linear_bias``: one slope per head. The future is visible; the published
    models hide it, as ``mask_scores(scores + alibi_bias(H, T))`` does.

    Returns:
        Tensor (H, T, T) to add to scores (..., H, T, T) that are already divided by sqrt(D).

    >>> alibi_bias(num_heads=2, T=3)[0]
    tensor([[ 0.0000, -0.0625, -0.1250],
            [-0.0625,  0.0000, -0.0625],
            [-0.1250, -0.0625,  0.0000]])

    Source: Press, Smith and Lewis, "Train Short, Test Long" (2021).
    """
    return alibi_slopes(num_heads)[:, None, None] * linear_bias(T)  # (H, 1, 1) * (T, T)


def rotary_frequencies(
    head_dim: int, max_length: int, theta: float = 10000.0, start: int = 0
) -> torch.Tensor:
    """Compute the complex numbers that rotate the pairs of a query or key at each position.

    Pair k at position m is rotated by the angle m * theta^(-2k / head_dim): the first pair by one
    radian per position, the last far more slowly. Angles are computed in float64, since in
    float32 that of a far position would lose its decimals.

    Args:
        head_dim: numbers per query and key, even.
        max_length: the number of positions.
        theta: the base; the larger it is, the slower the later pairs turn.
        start: the first position.

    Returns:
        complex64 tensor (max_length, head_dim // 2), every entry of absolute value 1.

    Raises:
        ValueError: ``head_dim`` is odd, or ``theta`` is not a positive, finite number.

    >>> rotary_frequencies(head_dim=4, max_length=3).angle()
    tensor([[0.0000, 0.0000],
            [1.0000, 0.0100],
            [2.0000, 0.0200]])

    Source: Su et al., "RoFormer" (2021); the worked walk.
    """
    if head_dim % 2 != 0 or not 0 < theta < torch.inf:
        raise ValueError(
            f"head_dim must be even and theta positive and finite, got {head_dim} and {theta}"
        )
    speeds = theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)  # (D/2,)
    positions = torch.arange(start, start + max_length, dtype=torch.float64)  # (T,)
    angles = positions[:, None] * speeds  # (T, D/2)
    return torch.polar(torch.ones_like(angles), angles).to(torch.complex64)


def apply_rotary(x: torch.Tensor, frequencies: torch.Tensor) -> torch.Tensor:
    """Rotate queries or keys by their position; never the values.

    Neighbours form a pair: x[..., 2k] and x[..., 2k + 1] are turned together, as the coordinates
    of a point, by the angle of frequency k. Written as one complex number they are turned by one
    product. (Other code pairs x[..., k] with x[..., k + D/2]: the same idea with the columns in
    another order, so weights trained for one have to be reordered for the other.)

    A rotation keeps every norm, and the score of a rotated query and a rotated key depends on how
    far apart the two are, not on where they stand.

    Args:
        x: queries or keys (..., T, D), D even.
        frequencies: from ``rotary_frequencies``, (T, D // 2), a row for each token. For tokens
            that start at position s, compute them with ``start=s``.

    Returns:
        Tensor of the shape and dtype of ``x``; half precision is rotated in float32.

    Raises:
        ValueError: ``frequencies`` are angles instead of complex numbers, or are for other tokens
            or another width, as where the heads of ``x`` stand behind its tokens, (B, T, H, D).

    >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])  # one token twice
    >>> apply_rotary(x, rotary_frequencies(head_dim=2, max_length=2))  # the second: one radian on
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])

    Source: Su et al., "RoFormer" (2021); the worked walk.
    """
    T, D = x.shape[-2:]
    if frequencies.shape != (T, D // 2) or not frequencies.is_complex():
        kind = f"{frequencies.dtype} {tuple(frequencies.shape)}"
        raise ValueError(f"frequencies must be complex, (T, D / 2) = {(T, D // 2)}, got {kind}")
    numbers = x.to(torch.promote_types(x.dtype, torch.float32))  # half precision in float32
    pairs = torch.view_as_complex(numbers.unflatten(-1, (-1, 2)).contiguous())  # (..., T, D/2)
    turned = pairs * frequencies  # (..., T, D/2) * (T, D/2)
    return torch.view_as_real(turned).flatten(start_dim=-2).to(x.dtype)  # (..., T, D)


def sinusoids(T: int, d: int) -> torch.Tensor:
    """Compute float32 vectors (T, d): where d / 2 clock hands point, as cosine and sine.

    The hands turn as fast as the pairs of ``rotary_frequencies``. Added to the tokens, the vectors
    take the place of a learned table, and there is one for every position. (The paper puts each
    sine before its cosine; for a model it makes no difference.)

    Raises:
        ValueError: ``d`` is odd.

    >>> sinusoids(2, 4)
    tensor([[1.0000, 0.0000, 1.0000, 0.0000],
            [0.5403, 0.8415, 0.9999, 0.0100]])

    Source: Vaswani et al., "Attention Is All You Need" (2017).
    """
    if d % 2 != 0:
        raise ValueError(f"d must be even, got {d}")
    hands = torch.view_as_real(rotary_frequencies(d, T))  # (T, d/2, 2)
    return hands.flatten(start_dim=1)
