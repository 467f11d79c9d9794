"""The exercises of ``04_masking``."""

import torch

from chapter3_helpers.exercises import Exercise
from chapter3_helpers.masking import causal_mask, mask_scores

SCORES_3 = torch.tensor([[0.5, 2.0, -1.0], [1.5, -0.5, 3.0], [0.0, 1.0, -2.0]])
SCORES_5 = torch.arange(25.0).reshape(5, 5).sin() * 2
LATE_PADDING = torch.tensor([[False, False, False, True], [False, False, True, True]])  # (2, 4)
EARLY_PADDING = torch.tensor([[True, False, False, False, False]]).repeat(3, 1)  # (3, 5)
INF = torch.inf
BLIND_ROWS = torch.tensor([[1.0, -INF, 2.0, 0.5], [-INF, -INF, -INF, -INF], [-INF, 0.0, 0.0, 3.0]])


def _back(T: int) -> torch.Tensor:
    """Return how many tokens before its query every key stands, (T, T)."""
    return torch.arange(T)[:, None] - torch.arange(T)


def _window_mask(T: int, window: int) -> torch.Tensor:
    return (_back(T) < 0) | (_back(T) >= window)


CAUSAL_WEIGHTS = Exercise(
    name="04a",
    solution=lambda scores: torch.softmax(mask_scores(scores), dim=-1),
    cases=((SCORES_3,), (SCORES_5,)),
    misconceptions={
        "You set hidden scores to 0. A score of 0 is an ordinary score, with e**0 = 1 in the sum. "
        "Only -inf has the exponential 0.": (
            lambda scores: torch.softmax(scores.masked_fill(causal_mask(len(scores)), 0.0), dim=-1)
        ),
        "You hid the past. Row i is the query: it may see the columns up to i, and those after it, "
        "above the diagonal, are the future.": (
            lambda scores: torch.softmax(
                scores.masked_fill(causal_mask(len(scores)).T, -INF), dim=-1
            )
        ),
        "You hid the diagonal too. A token may see itself; without that the first one sees nothing "
        "and its row is NaN.": (
            lambda scores: torch.softmax(
                scores.masked_fill(torch.ones_like(scores).triu().bool(), -INF), dim=-1
            )
        ),
        "Hidden weights are zero, but the rows no longer sum to 1: the hidden tokens took their "
        "share of the softmax first. Mask before it, or divide by the row sums after it.": (
            lambda scores: torch.softmax(scores, dim=-1).tril()
        ),
        "Your columns sum to 1. Softmax runs along a row, over the keys of one query.": (
            lambda scores: torch.softmax(mask_scores(scores), dim=0)
        ),
    },
)

WINDOW = Exercise(
    name="04b",
    solution=_window_mask,
    cases=((6, 3), (5, 1), (7, 4)),
    misconceptions={
        "The mask is inside out. In this package True means hidden.": (
            lambda T, window: ~_window_mask(T, window)
        ),
        "Off by one: every token sees itself and `window` tokens before it. The token itself is "
        "one of the `window`.": lambda T, window: _window_mask(T, window + 1),
        "You looked at the distance alone, so the future within the window is visible.": (
            lambda T, window: _back(T).abs() >= window
        ),
        "The far past is hidden, and the whole future is visible.": (
            lambda T, window: _back(T) >= window
        ),
    },
)

PADDING = Exercise(
    name="04c",
    solution=lambda padding: causal_mask(padding.shape[1]) | padding[:, None, :],
    cases=((LATE_PADDING,), (EARLY_PADDING,)),
    misconceptions={
        "You hid the rows of padded tokens. A row is a query; what nobody may look at is a key, a "
        "column.": lambda padding: causal_mask(padding.shape[1]) | padding[:, :, None],
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
    solution=lambda scores: torch.softmax(scores, dim=-1).nan_to_num(0.0),
    cases=((BLIND_ROWS,), (BLIND_ROWS.T[:, 1:],)),
    misconceptions={
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
