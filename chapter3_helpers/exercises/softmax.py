"""The exercises of ``02_softmax``."""

import math

import torch

from chapter3_helpers._language import say, to_say
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
    solution=lambda s: s.softmax(-1),
    cases=((SCORES,), (EXTREME,), (ABOVE,), (BELOW,), (UNEVEN,)),
    misconceptions={
        "This is right for small scores, and NaN for large ones: an exponential overflowed, or a "
        "whole row underflowed to 0 / 0.": (_naive, lambda s: _naive(s.double())),
        "You subtracted the largest score of the whole matrix, so a row far below it underflows to "
        "0 / 0. Every row needs its own maximum.": lambda s: _naive(s, s.max()),
        **{
            say(
                "You subtracted the {number} of each row. The exponential of a score far above it "
                "overflows.",
                number=say(number),
            ): (lambda s, of=of: _naive(s, of(s)[:, None]))
            for number, of in {
                to_say("mean"): lambda s: s.mean(dim=-1),
                to_say("median"): lambda s: s.median(dim=-1).values,
                to_say("smallest score"): lambda s: s.amin(dim=-1),
                to_say("first score"): lambda s: s[:, 0],
                to_say("last score"): lambda s: s[:, -1],
            }.items()
        },
        "You subtracted the largest score without its sign. In a row with a very low score, every "
        "exponential then becomes 0.": (lambda s: _naive(s, s.abs().amax(dim=-1, keepdim=True))),
        "You divided by the sum of the whole matrix, so only all the rows together sum to 1. Sum "
        "along the last dimension, with keepdim=True.": (
            lambda s: s.flatten().softmax(0).view_as(s)
        ),
        "Your columns sum to 1. A row belongs to one query, so both the maximum and the sum run "
        "along the last dimension.": lambda s: s.softmax(0),
    },
)

SCORES_FROM_WEIGHTS = Exercise(
    name="02d",
    solution=lambda w: w.log() - w.log().max(),
    cases=((torch.tensor([0.1, 0.2, 0.7]),), (torch.tensor([0.4, 0.3, 0.2, 0.1]),)),
    misconceptions={
        "Softmax of these gives the weights back, but the largest is not 0. Only differences "
        "matter, so you may subtract the largest from all of them.": lambda w: w.log(),
        "These differences are those of the weights. It is the logarithm that undoes an "
        "exponential.": lambda w: w - w.max(),
        "These are the ratios to the largest weight. The scores are their logarithms.": (
            lambda w: w / w.max()
        ),
        "The signs are the wrong way round: the largest weight comes from the largest score.": (
            lambda w: w.log().max() - w.log()
        ),
    },
)

DECLINE = Exercise(
    name="02e",
    solution=lambda s: _with_nothing(s)[:, 1:],
    cases=(
        (SCORES,),
        (2 * SCORES.T[:, :1] - 5,),
        (torch.tensor([[-1000.0, -999.0, -998.0, 2.0]]),),
    ),
    misconceptions={
        "You subtracted the largest score of a row from the keys alone. Subtract it from the 0 of "
        "nothing as well, or leave both as they are.": lambda s: (
            s.softmax(dim=-1)
            / (1 + 1 / (s - s.amax(dim=-1, keepdim=True)).exp().sum(-1, keepdim=True))
        ),
        "Every row still sums to 1, so each query must spend all that it has.": (
            lambda s: s.softmax(-1)
        ),
        "This is softmax with the offer of nothing among the tokens. Its weight has to be left "
        "out of what you return: T columns.": _with_nothing,
        "Here every key is weighed against nothing alone, and not against the other keys, so a row "
        "can sum to more than 1. One sum is shared by all of them.": (
            lambda s: s.exp() / (1 + s.exp())
        ),
        "You let the queries compete. The sum runs along the last dimension.": (
            lambda s: s.exp() / (1 + s.exp().sum(dim=0))
        ),
        "You offered nothing once for each key. It is one offer: it adds 1 to the sum.": (
            lambda s: torch.cat([s, 0 * s], dim=-1).softmax(-1)[:, : s.shape[1]]
        ),
    },
)
