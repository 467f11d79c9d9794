"""The exercises of ``02_softmax``."""

import math

import torch

from chapter3_helpers.dot_products import attention_scores
from chapter3_helpers.exercises import Exercise
from chapter3_helpers.sentence import example_inputs

SCORES = torch.tensor([[2.0, 1.0, 0.5], [-1.0, 3.0, 0.0]])  # (2, 3)
# One row lies far below the other: the largest score of the whole matrix helps only the first.
EXTREME = torch.tensor([[1000.0, 999.0, 0.0], [-1000.0, -999.0, -998.0]])
ABOVE = torch.tensor([[0.0, 0.0, 0.0, 1000.0]])  # the largest is neither the first nor the median
BELOW = torch.tensor([[0.0, -1000.0, 1.0, 2.0]])  # the one farthest from 0 is not the largest
# The exponential of 89 overflows: of mean, median, smallest, first and last score, any two can be
# told apart by the rows in which the largest lies that far above them.
UNEVEN = torch.tensor(
    [
        [60.0, 0.0, 100.0, 70.0, 20.0],
        [0.0, 0.0, 5.0, 0.0, 115.0],
        [0.0, 100.0, 30.0, 8.0, 5.0],
        [0.0, 50.0, 100.0, 60.0, 55.0],
    ]
)
# what journey scores with itself and with one
_, JOURNEY_SCORE, _, _, ONE_SCORE, _ = attention_scores(example_inputs())[1].tolist()
DIFFERENCE = JOURNEY_SCORE - ONE_SCORE


def _naive(scores: torch.Tensor, largest: torch.Tensor | float = 0.0) -> torch.Tensor:
    exponentials = torch.exp(scores - largest)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def _with_nothing(scores: torch.Tensor) -> torch.Tensor:
    nothing = scores.new_zeros(len(scores), 1)
    return torch.softmax(torch.cat([nothing, scores], dim=-1), dim=-1)


HALF = Exercise(
    name="02a",
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

TENFOLD = Exercise(
    name="02b",
    solution=lambda: DIFFERENCE / math.log(10),
    misconceptions={
        "That sharpens by so much, and a temperature is what you divide by: turn it over.": (
            lambda: math.log(10) / DIFFERENCE
        ),
        "You took the logarithm to base 10. Softmax raises e to the scores.": (
            lambda: DIFFERENCE / math.log10(10)
        ),
        "At temperature 1 the ratio is 2.1990; but it does not grow in proportion as the "
        "temperature falls. The exponent does.": lambda: math.exp(DIFFERENCE) / 10,
        "You set the scores themselves in proportion. A weight depends on the difference of "
        "scores.": lambda: JOURNEY_SCORE / ONE_SCORE / 10,
    },
)

STABLE = Exercise(
    name="02c",
    solution=lambda scores: torch.softmax(scores, dim=-1),
    cases=((SCORES,), (EXTREME,), (ABOVE,), (BELOW,), (UNEVEN,)),
    misconceptions={
        "This is right for small scores, and NaN for large ones: an exponential overflowed, or a "
        "whole row underflowed to 0 / 0.": (_naive, lambda scores: _naive(scores.double())),
        "You subtracted the largest score of the whole matrix, so a row far below it underflows to "
        "0 / 0. Every row needs its own maximum.": lambda scores: _naive(scores, scores.max()),
        **{
            f"You subtracted the {name} of each row. The exponential of a score far above it "
            "overflows.": (lambda scores, of=of: _naive(scores, of(scores)[:, None]))
            for name, of in {
                "mean": lambda scores: scores.mean(dim=-1),
                "median": lambda scores: scores.median(dim=-1).values,
                "smallest score": lambda scores: scores.amin(dim=-1),
                "first score": lambda scores: scores[:, 0],
                "last score": lambda scores: scores[:, -1],
            }.items()
        },
        "You subtracted the largest score without its sign. In a row with a very low score, every "
        "exponential then becomes 0.": (
            lambda scores: _naive(scores, scores.abs().amax(dim=-1, keepdim=True))
        ),
        "You divided by the sum of the whole matrix, so only all the rows together sum to 1. Sum "
        "along the last dimension, with keepdim=True.": (
            lambda scores: torch.softmax(scores.flatten(), dim=0).view_as(scores)
        ),
        "Your columns sum to 1. A row belongs to one query, so both the maximum and the sum run "
        "along the last dimension.": lambda scores: torch.softmax(scores, dim=0),
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

DECLINE = Exercise(
    name="02e",
    solution=lambda scores: _with_nothing(scores)[:, 1:],
    cases=(
        (SCORES,),
        (2 * SCORES.T[:, :1] - 5,),
        (torch.tensor([[-1000.0, -999.0, -998.0, 2.0]]),),
    ),
    misconceptions={
        "You subtracted the largest score of a row from the keys alone. Subtract it from the 0 of "
        "nothing as well, or leave both as they are.": lambda scores: (
            scores.softmax(dim=-1)
            / (1 + 1 / (scores - scores.amax(dim=-1, keepdim=True)).exp().sum(-1, keepdim=True))
        ),
        "Every row still sums to 1, so each query must spend all that it has.": (
            lambda scores: torch.softmax(scores, dim=-1)
        ),
        "This is softmax with the offer of nothing among the tokens. Its weight has to be left "
        "out of what you return: T columns.": _with_nothing,
        "Here every key is weighed against nothing alone, and not against the other keys, so a row "
        "can sum to more than 1. One sum is shared by all of them.": (
            lambda scores: scores.exp() / (1 + scores.exp())
        ),
        "You let the queries compete. The sum runs along the last dimension.": (
            lambda scores: scores.exp() / (1 + scores.exp().sum(dim=0))
        ),
        "You offered nothing once for each key. It is one offer: it adds 1 to the sum.": (
            lambda scores: torch.softmax(torch.cat([scores, scores * 0], dim=-1), dim=-1)[
                :, : scores.shape[1]
            ]
        ),
    },
)
