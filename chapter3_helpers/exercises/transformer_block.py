"""The exercises of ``09_transformer_block``."""

from functools import reduce
from itertools import pairwise

import torch
from torch.nn import functional

from chapter3_helpers.exercises import Exercise


def _product(matrices: list[torch.Tensor]) -> torch.Tensor:
    return reduce(torch.matmul, matrices)


def _stack(alphas: list[torch.Tensor], Vs: list[torch.Tensor]) -> tuple:
    return _product(alphas[::-1]), _product(Vs)


def _stacks(T: int, widths: tuple[int, ...]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Draw one stack of layers: random weights (T, T), and value matrices between the widths."""
    generator = torch.Generator().manual_seed(T)
    pairs = list(pairwise(widths))
    alphas = [torch.rand(T, T, generator=generator).softmax(dim=-1) for _ in pairs]
    return alphas, [torch.randn(pair, generator=generator) for pair in pairs]


COLLAPSE = Exercise(
    name="09a",
    solution=_stack,
    # four layers, where both orders are possible; then three, where the shapes allow only one
    cases=(_stacks(5, (3, 3, 3, 3, 3)), _stacks(4, (3, 3, 3, 3))),
    misconceptions={
        "Your weights are multiplied first layer first. Row i of the last layer's weights says "
        "which outputs of the layers before it are mixed, so the last layer stands on the left.": (
            lambda alphas, Vs: (_product(alphas), _product(Vs))
        ),
        "Your value matrices are multiplied last layer first. Tokens are rows here and meet the "
        "first value matrix first: x @ V1 @ V2.": (
            lambda alphas, Vs: (_product(alphas[::-1]), _product(Vs[::-1]))
        ),
        "Both products run the wrong way. The weights stand to the left of x and the values to its "
        "right, so the first layer is the innermost in both.": (
            lambda alphas, Vs: (_product(alphas), _product(Vs[::-1]))
        ),
    },
)

PARAMETERS = Exercise(
    name="09b",
    solution=lambda d, hidden: 2 * d * hidden + hidden + d,
    cases=((3, 12), (7, 5), (64, 256)),
    misconceptions={
        "You count the two matrices alone. Each linear layer also adds a bias, one number for "
        "each of its outputs.": lambda d, hidden: 2 * d * hidden,
        "You count one of the two linear layers. After the ReLU a second one leads back to d.": (
            lambda d, hidden: d * hidden + hidden
        ),
        "You give both layers a bias of the same length. The bias is as long as the output: "
        "hidden for the first layer, d for the second.": (
            lambda d, hidden: 2 * d * hidden + 2 * hidden
        ),
    },
)


def _next_token_loss(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(logits[:-1], ids[1:])


def _piece(T: int, vocab_size: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(T)
    logits = torch.randn(T, vocab_size, generator=generator)
    return logits, torch.randint(vocab_size, (T,), generator=generator)


NEXT_TOKEN_LOSS = Exercise(
    name="09c",
    solution=_next_token_loss,
    cases=(_piece(5, 7), _piece(11, 3)),
    misconceptions={
        "You compare each row of logits with the token at the same place, which the model has "
        "just read. Row i predicts token i + 1.": (
            lambda logits, ids: functional.cross_entropy(logits, ids)
        ),
        "Your shift goes backwards: you ask each row for the token before it.": (
            lambda logits, ids: functional.cross_entropy(logits[1:], ids[:-1])
        ),
        "You add the losses up. Take their mean, or a longer piece would count as a worse one.": (
            lambda logits, ids: functional.cross_entropy(logits[:-1], ids[1:], reduction="sum")
        ),
    },
)


def _weights_or_nothing(scores: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
    return weights.masked_fill(hidden, 0.0)


def _masked(T: int, dtype: torch.dtype, factor: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw negative scores (T, T) and hide the future, and from the first token everything."""
    generator = torch.Generator().manual_seed(T)
    scores = -factor * (0.5 + torch.rand(T, T, generator=generator))
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    hidden[0] = True
    return scores.to(dtype), hidden


SAFE_MASK = Exercise(
    name="09d",
    solution=_weights_or_nothing,
    cases=(_masked(5, torch.float32, 1.0), _masked(7, torch.float32, 30000.0)),
    misconceptions={
        "The row that sees nothing is NaN: with -inf everywhere there is no largest score to "
        "subtract. It has to be mended after softmax.": (
            lambda scores, hidden: torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
        ),
        "The row that sees nothing spreads its weight evenly over tokens that are all hidden. A "
        "finite constant avoids NaN, but those weights look as real as any.": (
            lambda scores, hidden: torch.softmax(
                scores.masked_fill(hidden, torch.finfo(scores.dtype).min), dim=-1
            )
        ),
        "Hidden weights are zero, but with -1e4 as the constant a row of very negative real scores "
        "lost its weight to them before that.": (
            lambda scores, hidden: torch.softmax(
                scores.masked_fill(hidden, -1e4), dim=-1
            ).masked_fill(hidden, 0.0)
        ),
        "You set hidden scores to 0, which is a score like any other: the others share their "
        "weight with them.": (
            lambda scores, hidden: torch.softmax(scores.masked_fill(hidden, 0.0), dim=-1)
        ),
    },
)
