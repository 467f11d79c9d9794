"""The exercises of ``04_masking``."""

import torch

from chapter3_helpers.exercises import INSIDE_OUT, Exercise, wants_truths
from chapter3_helpers.masking import causal_mask

LATE_PADDING = torch.tensor([[False, False, False, True], [False, False, True, True]])  # (2, 4)
EARLY_PADDING = torch.arange(5) < torch.tensor([[1], [0], [3]])  # (3, 5)
INF = torch.inf
BLIND_ROWS = torch.tensor([[1.0, -INF, 2.0, 0.5], [-INF, -INF, -INF, -INF], [-INF, 0.0, 0.0, 3.0]])
LARGE_ROWS = torch.tensor([[1000.0, 999.0, -INF], [-INF, -INF, -INF]])
LOW_ROWS = torch.tensor([[-1000.0, -999.0, -INF, -INF], [-2e30, -INF, -1e30, -INF], [-INF] * 4])
BROKEN_ROWS = torch.tensor([[0.0, torch.nan], [-INF, -INF], [-INF, torch.nan], [1.0, 2.0]])


def _blind_softmax(scores: torch.Tensor) -> torch.Tensor:
    sees_nothing = (scores == -torch.inf).all(dim=-1, keepdim=True)
    return torch.softmax(scores, dim=-1).masked_fill(sees_nothing, 0.0)


def _unshifted(scores: torch.Tensor) -> torch.Tensor:
    return scores.exp() / (scores.exp().sum(dim=-1, keepdim=True) + 1e-9)


def _back(T: int) -> torch.Tensor:
    """Return how many tokens each key stands before its query, (T, T)."""
    return torch.arange(T)[:, None] - torch.arange(T)


def _window_mask(T: int, window: int) -> torch.Tensor:
    return (_back(T) < 0) | (_back(T) >= window)


def _prefix_mask(T: int, prefix: int) -> torch.Tensor:
    hidden = causal_mask(T)
    hidden[:prefix, :prefix] = False
    return hidden


WINDOW = Exercise(
    name="04a",
    solution=_window_mask,
    cases=((7, 3), (5, 1), (9, 4), (3, 8)),
    demand=wants_truths,
    misconceptions={
        INSIDE_OUT: (lambda T, w: ~_window_mask(T, w)),
        "This is the plain causal mask: the far past is not hidden yet.": (
            lambda T, w: causal_mask(T)
        ),
        "Off by one: every token sees itself and `window` tokens before it. The token itself is "
        "one of the `window`.": lambda T, w: _window_mask(T, w + 1),
        "Off by one: every token sees only `window - 1` tokens, itself included.": (
            lambda T, w: _window_mask(T, w - 1)
        ),
        "Rows and columns have changed places: every token sees itself and later tokens. A row is "
        "the query, a column the key.": lambda T, w: _window_mask(T, w).T,
        "You looked at the distance alone, so the future within the window is visible.": (
            lambda T, w: _back(T).abs() >= w
        ),
        "The far past is hidden, and the whole future is visible.": (lambda T, w: _back(T) >= w),
    },
)

PREFIX = Exercise(
    name="04b",
    solution=_prefix_mask,
    cases=((7, 2), (8, 5), (4, 4)),
    demand=wants_truths,
    misconceptions={
        "The question reads the answer: its rows are open to the end. Open only the corner in "
        "which the keys belong to the question too.": (
            lambda T, n: causal_mask(T) & (torch.arange(T) >= n)[:, None]
        ),
        "This is the plain causal mask: within the question nobody looks ahead yet.": (
            lambda T, n: causal_mask(T)
        ),
        "The corner is a token too large: the first token of the answer is open to the question.": (
            lambda T, n: _prefix_mask(T, n + 1)
        ),
        "The corner is a token too small: the question does not see its own last token yet.": (
            lambda T, n: _prefix_mask(T, n - 1)
        ),
        INSIDE_OUT: (lambda T, n: ~_prefix_mask(T, n)),
        "You opened the corner of the answer: there the future is what is to be predicted.": (
            lambda T, n: _prefix_mask(T, T - n).flip(0, 1).T
        ),
    },
)

PADDING = Exercise(
    name="04c",
    solution=lambda p: causal_mask(p.shape[1]) | p[:, None, :],
    cases=((LATE_PADDING,), (EARLY_PADDING,)),
    demand=wants_truths,
    misconceptions={
        "You hid the rows of padded tokens. A row is a query; what nobody may look at is a key, a "
        "column.": lambda p: causal_mask(p.shape[1]) | p[:, :, None],
        "You hid the rows of padded tokens as well. A row is a query: one that may look at nothing "
        "is NaN after softmax. Hide keys alone, which are columns.": lambda p: (
            causal_mask(p.shape[1]) | p[:, :, None] | p[:, None, :]
        ),
        "You hid only what is future and padding at once. A key is hidden if it is one or the "
        "other.": lambda p: causal_mask(p.shape[1]) & p[:, None, :],
        "Padding is hidden, and the future is visible.": (
            lambda p: p[:, None, :].expand(-1, p.shape[1], -1)
        ),
        INSIDE_OUT: (lambda p: ~(causal_mask(p.shape[1]) | p[:, None, :])),
    },
)

BLIND = Exercise(
    name="04d",
    solution=_blind_softmax,
    cases=((BLIND_ROWS,), (BLIND_ROWS.T[:, 1:],), (LARGE_ROWS,), (LOW_ROWS,), (BROKEN_ROWS,)),
    misconceptions={
        "A score that was NaN has become 0 as well: `nan_to_num` hides a fault. Find the rows in "
        "which every score is -inf, and set these to zero.": (
            lambda s: s.softmax(-1).nan_to_num(0.0)
        ),
        "A row of very low scores is all zeros as well: their exponentials underflow to 0. Only a "
        "row in which every score is -inf sees nothing.": (
            lambda s: s.softmax(-1).masked_fill(s.exp().sum(-1, True) == 0, 0.0),
            lambda s: s.softmax(-1).masked_fill(s.amax(-1, True) < -1e9, 0.0),
        ),
        "Large scores overflow: e to the power of 1000 is infinite. `torch.softmax` takes the "
        "largest score of a row away first.": _unshifted,
        "The row that sees nothing is NaN: softmax divides 0 by 0 there.": (
            lambda s: s.softmax(-1)
        ),
        "The row that sees nothing now looks at everything: equal scores, however low, give equal "
        "weights. That hides the trouble and shows what was to be hidden.": (
            lambda s: s.clamp(min=-1e9).softmax(-1)
        ),
        "You set every row to zero that has a hidden score in it. Only rows without any visible "
        "score are meant.": (lambda s: s.softmax(-1).masked_fill(s.isinf().any(-1, True), 0.0)),
    },
)
