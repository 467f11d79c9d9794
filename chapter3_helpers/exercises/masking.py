"""The exercises of ``04_masking``."""

import torch

from chapter3_helpers.exercises import Exercise, wants_truths
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
        "The mask is inside out. In this package True means hidden.": (
            lambda T, window: ~_window_mask(T, window)
        ),
        "This is the plain causal mask: the far past is not hidden yet.": (
            lambda T, window: causal_mask(T)
        ),
        "Off by one: every token sees itself and `window` tokens before it. The token itself is "
        "one of the `window`.": lambda T, window: _window_mask(T, window + 1),
        "Off by one: every token sees only `window - 1` tokens, itself included.": (
            lambda T, window: _window_mask(T, window - 1)
        ),
        "Rows and columns have changed places: every token sees itself and later tokens. A row is "
        "the query, a column the key.": lambda T, window: _window_mask(T, window).T,
        "You looked at the distance alone, so the future within the window is visible.": (
            lambda T, window: _back(T).abs() >= window
        ),
        "The far past is hidden, and the whole future is visible.": (
            lambda T, window: _back(T) >= window
        ),
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
            lambda T, prefix: causal_mask(T) & (torch.arange(T) >= prefix)[:, None]
        ),
        "This is the plain causal mask: within the question nobody looks ahead yet.": (
            lambda T, prefix: causal_mask(T)
        ),
        "The corner is a token too large: the first token of the answer is open to the question.": (
            lambda T, prefix: _prefix_mask(T, prefix + 1)
        ),
        "The corner is a token too small: the question does not see its own last token yet.": (
            lambda T, prefix: _prefix_mask(T, prefix - 1)
        ),
        "The mask is inside out. In this package True means hidden.": (
            lambda T, prefix: ~_prefix_mask(T, prefix)
        ),
        "You opened the corner of the answer: there the future is what is to be predicted.": (
            lambda T, prefix: _prefix_mask(T, T - prefix).flip(0, 1).T
        ),
    },
)

PADDING = Exercise(
    name="04c",
    solution=lambda padding: causal_mask(padding.shape[1]) | padding[:, None, :],
    cases=((LATE_PADDING,), (EARLY_PADDING,)),
    demand=wants_truths,
    misconceptions={
        "You hid the rows of padded tokens. A row is a query; what nobody may look at is a key, a "
        "column.": lambda padding: causal_mask(padding.shape[1]) | padding[:, :, None],
        "You hid the rows of padded tokens as well. A row is a query: one that may look at nothing "
        "is NaN after softmax. Hide keys alone, which are columns.": lambda padding: (
            causal_mask(padding.shape[1]) | padding[:, :, None] | padding[:, None, :]
        ),
        "You hid only what is future and padding at once. A key is hidden if it is one or the "
        "other.": lambda padding: causal_mask(padding.shape[1]) & padding[:, None, :],
        "Padding is hidden, and the future is visible.": (
            lambda padding: padding[:, None, :].expand(-1, padding.shape[1], -1)
        ),
        "The mask is inside out. In this package True means hidden.": (
            lambda padding: ~(causal_mask(padding.shape[1]) | padding[:, None, :])
        ),
    },
)

BLIND = Exercise(
    name="04d",
    solution=_blind_softmax,
    cases=((BLIND_ROWS,), (BLIND_ROWS.T[:, 1:],), (LARGE_ROWS,), (LOW_ROWS,), (BROKEN_ROWS,)),
    misconceptions={
        "A score that was NaN has become 0 as well: `nan_to_num` hides a fault. Find the rows in "
        "which every score is -inf, and set these to zero.": (
            lambda scores: torch.softmax(scores, dim=-1).nan_to_num(0.0)
        ),
        "A row of very low scores is all zeros as well: their exponentials underflow to 0. Only a "
        "row in which every score is -inf sees nothing.": (
            lambda scores: torch.softmax(scores, dim=-1).masked_fill(
                scores.exp().sum(dim=-1, keepdim=True) == 0, 0.0
            ),
            lambda scores: torch.softmax(scores, dim=-1).masked_fill(
                scores.amax(dim=-1, keepdim=True) < -1e9, 0.0
            ),
        ),
        "Large scores overflow: e to the power of 1000 is infinite. `torch.softmax` takes the "
        "largest score of a row away first.": _unshifted,
        "The row that sees nothing is NaN: softmax divides 0 by 0 there.": (
            lambda scores: torch.softmax(scores, dim=-1)
        ),
        "The row that sees nothing now looks at everything: equal scores, however low, give equal "
        "weights. That hides the trouble and shows what was to be hidden.": (
            lambda scores: torch.softmax(scores.clamp(min=-1e9), dim=-1)
        ),
        "You set every row to zero that has a hidden score in it. Only rows without any visible "
        "score are meant.": (
            lambda scores: torch.softmax(scores, dim=-1).masked_fill(
                scores.isinf().any(dim=-1, keepdim=True), 0.0
            )
        ),
    },
)
