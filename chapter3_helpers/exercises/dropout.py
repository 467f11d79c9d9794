"""The exercises of ``05_dropout``."""

import torch

from chapter3_helpers.dropout import dropout_mask
from chapter3_helpers.exercises import Exercise
from chapter3_helpers.masking import causal_mask

WEIGHTS_3_5 = torch.arange(1.0, 16.0).reshape(3, 5).cos().softmax(dim=-1)
WEIGHTS_2_4_4 = torch.arange(32.0).reshape(2, 4, 4).sin().softmax(dim=-1)
KEPT_3_5 = dropout_mask((3, 5), 0.2, seed=4)
KEPT_2_4_4 = dropout_mask((2, 4, 4), 0.75, seed=2)


def _matrices(d_in: int, d_out: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return query, key and value matrices (d_in, d_out)."""
    numbers = torch.arange(3.0 * d_in * d_out).reshape(3, d_in, d_out)
    query, key, value = (2.7 * numbers).sin()
    return query, key, value


def _batch(*shape: int) -> torch.Tensor:
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape).cos()


def _context(scaled: bool = True, hidden: str = "future", dim: int = -1, fill: float = -torch.inf):
    """Make a causal attention over a batch, or one that gets something wrong."""

    def context(x, W_query, W_key, W_value):
        T, d_out = x.shape[-2], W_query.shape[-1]
        scores = (x @ W_query) @ (x @ W_key).transpose(-2, -1)
        mask = causal_mask(T)
        if hidden == "future":
            scores = scores.masked_fill(mask, fill)
        elif hidden == "past":
            scores = scores.masked_fill(mask.T, fill)
        weights = torch.softmax(scores / d_out**0.5 if scaled else scores, dim=dim)
        return weights @ (x @ W_value)

    return context


DROP = Exercise(
    name="05a",
    solution=lambda weights, kept, p: weights * kept / (1 - p),
    cases=((WEIGHTS_3_5, KEPT_3_5, 0.2), (WEIGHTS_2_4_4, KEPT_2_4_4, 0.75)),
    misconceptions={
        "The right cells are zero, but what is left is too small on average: a share of 1 - p was "
        "kept, so divide by 1 - p.": lambda weights, kept, p: weights * kept,
        "You multiplied by 1 - p, which makes up for the loss the wrong way round. Divide by it.": (
            lambda weights, kept, p: weights * kept * (1 - p)
        ),
        "You divided by p, the share that was dropped. What makes up for it is the share that was "
        "kept, 1 - p.": lambda weights, kept, p: weights * kept / p,
        "Your rows sum to 1 again, as if the dropped keys had been hidden by a mask. Dropout "
        "multiplies every kept weight by the same factor, whatever its row lost.": (
            lambda weights, kept, p: weights * kept / (weights * kept).sum(dim=-1, keepdim=True)
        ),
        "You dropped the cells that were to be kept. In `kept`, True stays.": (
            lambda weights, kept, p: weights * ~kept / (1 - p)
        ),
    },
)

MASK = Exercise(
    name="05b",
    solution=dropout_mask,
    cases=(((4, 7), 0.2, 5), ((3, 2, 6), 0.7, 123)),
    misconceptions={
        "You kept a share of p. p is the probability of being dropped: kept is what lies below "
        "1 - p.": lambda shape, p, seed: dropout_mask(shape, 1 - p, seed),
        "You keep the right share, but other cells: PyTorch keeps the draws below 1 - p, and you "
        "keep those above p.": lambda shape, p, seed: (
            torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
            >= p
        ),
        "You drew float32 numbers, the default. The mask is drawn as float64, which takes twice as "
        "many bits per cell from the generator and so gives other cells.": (
            lambda shape, p, seed: (
                torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 1 - p
            )
        ),
    },
)

LOST_ROWS = Exercise(
    name="05c",
    solution=lambda T, p: p ** torch.arange(1.0, T + 1),
    cases=((6, 0.5), (4, 0.1), (9, 0.8)),
    misconceptions={
        "p is the probability that one weight is dropped. A row is lost only if all the weights "
        "in it are dropped.": lambda T, p: torch.full((T,), p),
        "You counted the hidden weights too. They are 0 before dropout: row i has i + 1 weights "
        "that can be lost.": lambda T, p: torch.full((T,), p**T),
        "Off by one: a token sees itself too, so row i has i + 1 weights.": (
            lambda T, p: p ** torch.arange(0.0, T)
        ),
        "That is the probability that at least one weight is dropped. A row is lost if it keeps "
        "none.": lambda T, p: 1 - (1 - p) ** torch.arange(1.0, T + 1),
    },
)

BATCHED_CONTEXT = Exercise(
    name="05d",
    solution=_context(),
    cases=((_batch(2, 5, 7), *_matrices(7, 3)), (_batch(4, 3, 2), *_matrices(2, 5))),
    misconceptions={
        "No future is hidden.": _context(hidden="nothing"),
        "You hid the past: the mask has to be True above the diagonal, and is True below.": (
            _context(hidden="past")
        ),
        "The scores are not scaled. Divide by the square root of the width of a key.": (
            _context(scaled=False)
        ),
        "Softmax runs over the queries. Every query has weights of its own that sum to 1, so it "
        "runs over the keys, the last dimension.": _context(dim=-2),
        "A hidden score became 0, an ordinary score. Only -inf gets the weight 0.": (
            _context(fill=0.0)
        ),
    },
)
