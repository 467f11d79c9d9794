"""The exercises of ``01_dot_products``."""

import torch

from chapter3_helpers.exercises import Exercise
from chapter3_helpers.sentence import example_inputs

_, JOURNEY, _, WITH, _, STEP = example_inputs()
FIRST = torch.tensor([2.0, -1.0, 0.5])
SECOND = torch.tensor([1.0, 3.0, -4.0])
QUERIES = torch.tensor([[1.0, 0.0, 2.0, -1.0], [0.5, 3.0, -2.0, 1.0]])  # (2, 4)
KEYS = torch.tensor([[0.0, 1.0, 1.0, 2.0], [2.0, -1.0, 0.0, 1.0], [1.0, 1.0, -3.0, 0.5]])  # (3, 4)
# The first token scores below zero with both others, so a 0 on the diagonal would win.
OPPOSED = torch.tensor([[2.0, 0.0], [-1.0, 1.0], [-1.5, -2.0]])


def _cosines(x: torch.Tensor) -> torch.Tensor:
    unit = x / x.norm(dim=-1, keepdim=True)
    return unit @ unit.T


def _nearest(x: torch.Tensor, diagonal: float) -> torch.Tensor:
    scores = x @ x.T
    return scores.fill_diagonal_(diagonal).argmax(dim=-1)


STRETCH = Exercise(
    name="01a",
    solution=lambda: (STEP @ JOURNEY / (WITH @ JOURNEY)).item(),
    misconceptions={
        "That makes *with* as long as *step*. It points more nearly where *journey* does, so it "
        "need not become as long.": lambda: (STEP.norm() / WITH.norm()).item(),
        "You took the square root, as if both sides of the comparison grew. Only the key is "
        "stretched, so the score grows by the same factor.": (
            lambda: (STEP @ JOURNEY / (WITH @ JOURNEY)).sqrt().item()
        ),
        "That shrinks it: the fraction is upside down.": (
            lambda: (WITH @ JOURNEY / (STEP @ JOURNEY)).item()
        ),
        "That is the difference of the two scores. Stretching a vector multiplies its score.": (
            lambda: (STEP @ JOURNEY - WITH @ JOURNEY).item()
        ),
    },
)

SHADOW = Exercise(
    name="01b",
    solution=lambda a, b: a @ b / b.norm(),
    # one shadow falls forwards, onto a vector shorter than 1
    cases=((FIRST, SECOND), (KEYS[0], QUERIES[1]), (FIRST[:2], torch.tensor([0.5, 0.25]))),
    misconceptions={
        "That is the dot product. It is as long as the shadow only where b has length 1.": (
            lambda a, b: a @ b
        ),
        "You divided by the length of a. The shadow grows with a; it is the length of b that does "
        "not matter.": lambda a, b: a @ b / a.norm(),
        "You divided by both lengths. That is the cosine, which does not know how long a is.": (
            lambda a, b: a @ b / (a.norm() * b.norm())
        ),
        "You divided by the square of the length of b, so this counts how many times b the shadow "
        "is. The length of a vector is the square root of its dot product with itself.": (
            lambda a, b: a @ b / (b @ b)
        ),
        "A shadow that falls backwards counts as negative.": lambda a, b: (a @ b).abs() / b.norm(),
    },
)

CROSS_SCORES = Exercise(
    name="01c",
    solution=lambda q, k: q @ k.T,
    cases=((QUERIES, KEYS), (KEYS, QUERIES[:1])),
    misconceptions={
        "Your rows are the keys. Each row belongs to the token that asks, so the queries come "
        "first.": lambda q, k: k @ q.T,
        "You compared the queries with each other. The second factor has to be the keys.": (
            lambda q, k: q @ q.T
        ),
        "You compared the keys with each other. The first factor has to be the queries.": (
            lambda q, k: k @ k.T
        ),
    },
)

COSINES = Exercise(
    name="01d",
    solution=_cosines,
    cases=((KEYS,), (QUERIES,)),
    misconceptions={
        "You divided every column by its length. A token is a row: take the length along the last "
        "dimension.": lambda x: (x / x.norm(dim=0)) @ (x / x.norm(dim=0)).T,
        "You divided by the query's length only, so the longer key still wins. Divide by both.": (
            lambda x: (x / x.norm(dim=-1, keepdim=True)) @ x.T
        ),
        "You divided by the key's length only, so the longer query still scores higher. Divide by "
        "both.": lambda x: x @ (x / x.norm(dim=-1, keepdim=True)).T,
        "You divided by the squared lengths. The length of a vector is the square root of its dot "
        "product with itself.": (
            lambda x: (x @ x.T) / ((x * x).sum(dim=-1)[:, None] * (x * x).sum(dim=-1))
        ),
        "These are the plain dot products: the lengths are still in them.": lambda x: x @ x.T,
    },
)

NEAREST = Exercise(
    name="01e",
    solution=lambda x: _nearest(x, -torch.inf),
    # a diagonal of 0 wins a row of the first, and even one of -10 a row of the second; in the
    # last, four of six tokens score higher with another one than with themselves
    cases=((OPPOSED,), (100 * OPPOSED,), (KEYS,), (example_inputs(),)),
    misconceptions={
        "You took the second-best score of each row, as if a token always came first with itself. "
        "A longer token can score higher: leave the diagonal out, whatever stands there.": (
            lambda x: (x @ x.T).topk(2).indices[:, 1]
        ),
        "A token may still choose itself. Take the diagonal out of the race first.": (
            lambda x: (x @ x.T).argmax(dim=-1)
        ),
        "You put 0 on the diagonal. Where all other scores are negative, 0 wins: a score that must "
        "never win is -inf.": lambda x: _nearest(x, 0.0),
        "You compared directions. Asked for is the highest score, in which a longer token has more "
        "weight.": lambda x: _cosines(x).fill_diagonal_(-torch.inf).argmax(dim=-1),
        "You found the least alike: argmin, or a sign the wrong way round.": (
            lambda x: (x @ x.T).argmin(dim=-1)
        ),
        "You returned the scores themselves. Asked for is the place where they stand: argmax, not "
        "max.": lambda x: (x @ x.T).fill_diagonal_(-torch.inf).amax(dim=-1),
    },
)
