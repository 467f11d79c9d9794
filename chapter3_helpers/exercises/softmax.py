"""The exercises of ``02_softmax``."""

import math

import torch

from chapter3_helpers.exercises import Exercise

SCORES = torch.tensor([[2.0, 1.0, 0.5], [-1.0, 3.0, 0.0]])  # (2, 3)
# One row lies far below the other: the largest score of the whole matrix helps the first row alone.
EXTREME = torch.tensor([[1000.0, 999.0, 0.0], [-1000.0, -999.0, -998.0]])
X = torch.tensor([[1.0, 0.0, -2.0, 4.0], [3.0, -1.0, 0.5, 0.0], [0.0, 2.0, 1.0, -1.0]])  # (3, 4)


def _naive(scores: torch.Tensor, largest: torch.Tensor | float = 0.0) -> torch.Tensor:
    exponentials = torch.exp(scores - largest)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


TEMPERATURE = Exercise(
    name="02a",
    solution=lambda scores, temperature: torch.softmax(scores / temperature, dim=-1),
    cases=((SCORES, 0.5), (SCORES, 4.0)),
    misconceptions={
        "Here a higher temperature sharpens the weights. Divide by it instead of multiplying.": (
            lambda scores, temperature: torch.softmax(scores * temperature, dim=-1)
        ),
        "You divided the weights, so the rows no longer sum to 1. The temperature belongs to the "
        "scores.": lambda scores, temperature: torch.softmax(scores, dim=-1) / temperature,
        "The temperature has no effect: a number that is added to every score, or divides every "
        "weight of a row, cancels. Divide the scores by it.": (
            lambda scores, temperature: torch.softmax(scores, dim=-1)
        ),
        "Your columns sum to 1. A row belongs to one query, so softmax runs along the last "
        "dimension.": lambda scores, temperature: torch.softmax(scores / temperature, dim=0),
    },
)

STABLE = Exercise(
    name="02b",
    solution=lambda scores: torch.softmax(scores, dim=-1),
    cases=((SCORES,), (EXTREME,)),
    misconceptions={
        "This is right for small scores, and NaN for large ones: an exponential overflowed, or a "
        "whole row underflowed to 0 / 0.": _naive,
        "You subtracted the largest score of the whole matrix, so a row far below it underflows to "
        "0 / 0. Every row needs its own maximum.": lambda scores: _naive(scores, scores.max()),
        "You divided by the sum of the whole matrix, so only all the rows together sum to 1. Sum "
        "along the last dimension, with keepdim=True.": (
            lambda scores: torch.softmax(scores.flatten(), dim=0).view_as(scores)
        ),
        "Your columns sum to 1. A row belongs to one query, so both the maximum and the sum run "
        "along the last dimension.": lambda scores: torch.softmax(scores, dim=0),
    },
)

CONTEXT = Exercise(
    name="02c",
    solution=lambda scores, x: torch.softmax(scores, dim=-1) @ x,
    cases=((SCORES, X), (2 * SCORES[:1], X)),
    misconceptions={
        "You mixed with the scores. They are neither positive nor do they sum to 1: softmax comes "
        "first.": lambda scores, x: scores @ x,
        "You used softmax over the queries, so the tokens of one context vector do not share a "
        "total of 1. It runs along the last dimension.": (
            lambda scores, x: torch.softmax(scores, dim=0) @ x
        ),
        "You took the token with the largest score and dropped the others. Softmax keeps a share "
        "of each.": lambda scores, x: x[scores.argmax(dim=-1)],
        "You divided the scores by their sum. With negative scores that gives negative weights: "
        "use softmax.": lambda scores, x: (scores / scores.sum(dim=-1, keepdim=True)) @ x,
        "Every token got the same weight. The scores have to come in.": (
            lambda scores, x: x.mean(dim=0).expand(len(scores), -1)
        ),
    },
)

SCORES_FROM_WEIGHTS = Exercise(
    name="02d",
    solution=lambda weights: weights.log() - weights.log().max(),
    cases=((torch.tensor([0.1, 0.2, 0.7]),), (torch.tensor([0.4, 0.3, 0.2, 0.1]),)),
    misconceptions={
        "Softmax of these gives the weights back, but the largest is not 0. Only differences "
        "matter, so you may subtract the largest from all of them.": lambda weights: weights.log(),
        "These differences are those of the weights. It is the logarithm that undoes an "
        "exponential.": lambda weights: weights - weights.max(),
        "These are the ratios to the largest weight. The scores are their logarithms.": (
            lambda weights: weights / weights.max()
        ),
        "The signs are the wrong way round: the largest weight comes from the largest score.": (
            lambda weights: weights.log().max() - weights.log()
        ),
    },
)

HALF = Exercise(
    name="02e",
    solution=lambda: math.log(5),
    misconceptions={
        "That is the ratio of its weight to each other weight. The difference of the scores is the "
        "logarithm of that ratio.": lambda: 5.0,
        "It competes with five others, not with six: its weight has to equal theirs together.": (
            lambda: math.log(6)
        ),
        "That gives it twice the weight of each other token: 2 parts of 7, not one half.": (
            lambda: math.log(2)
        ),
        "You took the logarithm to base 10. Softmax raises e to the scores.": lambda: math.log10(5),
    },
)
