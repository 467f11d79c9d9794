"""The exercises of ``00_why_attention``."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from chapter3_helpers._language import say
from chapter3_helpers.exercises import Exercise, drawn, dtype_of


def _alignment(order):
    return torch.eye(len(order))[order]


def _asks_for_floats(attempt: Callable[..., Any], case: tuple) -> str:
    dtype = dtype_of(attempt(*case))
    if "float" in str(dtype):
        return ""
    return say(
        "The places are right, but these numbers are {dtype}. Floats were asked for: a matrix "
        "product of weights and states needs them.",
        dtype=dtype,
    )


def _additive_scores(query, keys, W, U, v):
    return torch.tanh(W @ query + keys @ U.T) @ v


def _score_case(T, d, a, seed):
    """Return a query (d,), keys (T, d), W and U (a, d), v (a,)."""
    return (
        drawn(d, seed=seed),
        drawn(T, d, seed=seed + 1),
        drawn(a, d, seed=seed + 2),
        drawn(a, d, seed=seed + 3),
        drawn(a, seed=seed + 4),
    )


WORDS = Exercise(
    name="00a",
    solution=lambda: 26**10,
    misconceptions={
        "That many letters could be chosen if there were one choice among 26 x 10. There are ten "
        "choices, one after another, so their numbers multiply.": lambda: 26 * 10,
        "That counts words of 26 letters from an alphabet of ten: base and exponent have changed "
        "places.": lambda: 10**26,
        "That counts the words in which no letter comes twice. Here a letter may come again.": (
            lambda: math.perm(26, 10)
        ),
        "That counts all words of up to ten letters. Here every word has ten.": (
            lambda: sum(26**length for length in range(1, 11))
        ),
    },
)

TIMES_READ = Exercise(
    name="00b",
    solution=lambda w: w.sum(dim=0),
    cases=(
        (torch.softmax(2 * drawn(4, 5, seed=20), dim=-1),),
        (torch.softmax(2 * drawn(7, 3, seed=22), dim=-1),),
    ),
    misconceptions={
        "These are the sums of the rows, which are 1 whatever the weights. A word read is a "
        "column: sum over the rows, dim=0.": lambda w: w.sum(dim=1),
        "This is the mean over the words written. In total, a word that is read by all of them "
        "is read as many times as there are rows.": lambda w: w.mean(dim=0),
        "This counts for how many rows a word is the one read most. The smaller weights are read "
        "as well, and count with what they are.": (
            lambda weights: (
                functional.one_hot(weights.argmax(dim=-1), weights.shape[1])
                .sum(dim=0)
                .to(weights.dtype)
            )
        ),
        "This is the most that any one row reads of a word. Two rows may read the same word.": (
            lambda w: w.amax(dim=0)
        ),
    },
)

ALIGNMENT = Exercise(
    name="00c",
    solution=_alignment,
    cases=(([2, 0, 1, 3],), ([3, 1, 0, 4, 2],)),
    misconceptions={
        "This is the transpose. A row is a word that is written, a column one that is read.": (
            lambda order: _alignment(order).T
        ),
        "This reads word by word, each from its own place, and ignores the order.": (
            lambda order: torch.eye(len(order))
        ),
        "This reads every sentence backwards. That is our toy language; the order is given here.": (
            lambda order: torch.eye(len(order)).flip(0)
        ),
    },
    demand=_asks_for_floats,
)

ADDITIVE_SCORES = Exercise(
    name="00d",
    solution=_additive_scores,
    cases=(_score_case(T=5, d=3, a=2, seed=0), _score_case(T=2, d=7, a=3, seed=10)),
    misconceptions={
        "Without tanh the query adds the same number to every score, and softmax cancels it: the "
        "weights would be the same for every query.": (lambda q, K, W, U, v: (W @ q + K @ U.T) @ v),
        "Here each projection has a tanh of its own. Then the query adds the same number to every "
        "score again: tanh belongs around their sum.": lambda q, K, W, U, v: (
            (torch.tanh(W @ q) + torch.tanh(K @ U.T)) @ v
        ),
        "Here tanh comes last, on the finished score. It belongs inside, on the sum of the two "
        "projections, before v weighs its numbers.": (
            lambda q, K, W, U, v: torch.tanh((W @ q + K @ U.T) @ v)
        ),
        "W and U have changed places: W is for the query, U for the keys.": (
            lambda q, K, W, U, v: torch.tanh(U @ q + K @ W.T) @ v
        ),
        "This compares by a dot product, as the notebooks from 01 on do. The additive score adds "
        "the projections instead.": lambda q, K, W, U, v: K @ q,
        "These are weights. The scores are asked for, before softmax.": (
            lambda q, K, W, U, v: torch.softmax(_additive_scores(q, K, W, U, v), dim=0)
        ),
    },
)
