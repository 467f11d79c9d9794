"""The exercises of ``09_transformer_block``."""

from functools import reduce
from itertools import pairwise

import torch
from torch.nn import functional

from chapter3_helpers.exercises import Exercise, drawn


def _product(matrices: list[torch.Tensor]) -> torch.Tensor:
    return reduce(torch.matmul, matrices)


def _stack(alphas: list[torch.Tensor], Vs: list[torch.Tensor]) -> tuple:
    return _product(alphas[::-1]), _product(Vs)


def _stacks(T: int, widths: tuple[int, ...]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Draw one stack of layers: random weights (T, T), and value matrices between the widths."""
    alphas = [drawn(T, T, seed=layer).softmax(dim=-1) for layer in range(1, len(widths))]
    return alphas, [drawn(*pair, seed=10 + layer) for layer, pair in enumerate(pairwise(widths))]


COLLAPSE = Exercise(
    name="09d",
    solution=_stack,
    # widths with which both orders are possible, then such that allow only one
    cases=(_stacks(4, (3, 3, 3)), _stacks(7, (2, 5, 2, 5)), _stacks(6, (3, 5, 4, 2, 7))),
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
    name="09a",
    solution=lambda d, hidden: 2 * d * hidden + hidden + d,
    cases=((3, 11), (7, 5), (64, 256)),
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
    return drawn(T, vocab_size), drawn(T, vocab_size, seed=2).argmax(dim=-1)


NEXT_TOKEN_LOSS = Exercise(
    name="09b",
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
        "Your losses are right, and you divide their sum by T. The last row has no answer: there "
        "are T - 1 losses.": lambda logits, ids: (
            _next_token_loss(logits, ids) * (len(ids) - 1) / len(ids)
        ),
        "You made probabilities of the logits first. `cross_entropy` takes logits, and applies "
        "softmax itself.": lambda logits, ids: _next_token_loss(logits.softmax(dim=-1), ids),
        "The sign is missing: a loss is *minus* the logarithm of a probability.": (
            lambda logits, ids: -_next_token_loss(logits, ids)
        ),
        "You add the losses up. Take their mean, or a longer piece would count as a worse one.": (
            lambda logits, ids: functional.cross_entropy(logits[:-1], ids[1:], reduction="sum")
        ),
    },
)


def _fold(
    W1: torch.Tensor, b1: torch.Tensor, W2: torch.Tensor, b2: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return W2 @ W1, W2 @ b1 + b2


def _two_layers(d_in: int, hidden: int, d_out: int) -> tuple[torch.Tensor, ...]:
    """Draw weight and bias of a layer from d_in to hidden numbers, and of one on to d_out."""
    shapes = ((hidden, d_in), (hidden,), (d_out, hidden), (d_out,))
    return tuple(drawn(*shape, seed=seed) for seed, shape in enumerate(shapes))


FOLD = Exercise(
    name="09c",
    solution=_fold,
    # sizes with which the matrices fit in either order, then such that allow only one
    cases=(_two_layers(4, 4, 4), _two_layers(5, 2, 5), _two_layers(3, 7, 5)),
    misconceptions={
        "Your bias is that of the second layer alone. The first layer's bias goes through the "
        "second layer, too: W2 @ b1.": lambda W1, b1, W2, b2: (W2 @ W1, b2),
        "Your biases are simply added. The first layer's bias goes through the second layer's "
        "matrix on its way.": (lambda W1, b1, W2, b2: (W2 @ W1, b1 + b2)),
        "Your matrices stand in the other order. nn.Linear multiplies by the transpose, x @ W.T, "
        "so the first layer's matrix stands on the right: W2 @ W1.": (
            lambda W1, b1, W2, b2: (W1 @ W2, W2 @ b1 + b2)
        ),
        "Your matrix is transposed. nn.Linear keeps a weight as (numbers out, numbers in).": (
            lambda W1, b1, W2, b2: ((W2 @ W1).T, W2 @ b1 + b2)
        ),
    },
)
