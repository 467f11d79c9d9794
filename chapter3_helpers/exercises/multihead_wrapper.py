"""The exercises of ``06_multihead_wrapper``; 06a is the chapter's exercise 3.2."""

from collections.abc import Sequence

import torch

from chapter3_helpers.exercises import Exercise
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.sentence import example_batch


def _wrapped(d_out: int, num_heads: int):
    """Run the chapter's wrapper with other arguments; the notebook's generator stays as it is."""

    def run(batch: torch.Tensor) -> torch.Tensor:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(123)
            return MultiHeadAttentionWrapper(3, d_out, 6, 0.0, num_heads)(batch).detach()

    return run


def _parameters(d_in: int, d_out: int, num_heads: int, qkv_bias: bool) -> int:
    return num_heads * 3 * (d_in * d_out + d_out * qkv_bias)


def _reordered(weight: torch.Tensor, order: Sequence[int]) -> torch.Tensor:
    return weight.unflatten(-1, (len(order), -1))[:, list(order)].flatten(-2)


def _inverse(order: Sequence[int]) -> list[int]:
    return torch.tensor(order).argsort().tolist()


TWO_WIDE = Exercise(
    name="06a",
    solution=_wrapped(d_out=1, num_heads=2),
    cases=((example_batch(),), (example_batch(4)[:, :5],)),
    misconceptions={
        "Four numbers per token, as before: d_out = 2 is what each of the two heads returns.": (
            _wrapped(d_out=2, num_heads=2)
        ),
        "Two numbers per token, but from one head. Two heads were asked for.": (
            _wrapped(d_out=2, num_heads=1)
        ),
        "One number per token: one head of width 1 is left.": _wrapped(d_out=1, num_heads=1),
    },
)

HEAD_OUTPUT = Exercise(
    name="06b",
    solution=lambda x, h, H: x.chunk(H, dim=-1)[h],
    cases=(
        (torch.arange(180.0).reshape(3, 5, 12), 1, 4),
        (torch.arange(70.0).reshape(7, 10), 4, 5),
        (torch.arange(252.0).view(21, 12), 0, 2),
    ),
    misconceptions={
        "You count heads from 1. The first is head 0, and its numbers stand at the very front.": (
            lambda x, h, H: x.chunk(H, dim=-1)[h - 1]
        ),
        "You took every num_heads-th number. A head's numbers stand next to one another.": (
            lambda x, h, H: x[..., h::H]
        ),
        "You took a single number. A head returns as many as the width divided by the number of "
        "heads.": lambda x, h, H: x[..., h],
        "Your slice is num_heads wide. How wide is a head?": (
            lambda x, h, H: x[..., h * H : (h + 1) * H]
        ),
        "You cut the tokens, not the numbers of a token. The heads share the last dimension.": (
            lambda x, h, H: x.tensor_split(H, dim=-2)[h]
        ),
    },
)

PARAMETERS = Exercise(
    name="06c",
    solution=_parameters,
    cases=((11, 5, 4, False), (7, 2, 6, True), (768, 50, 13, True)),
    misconceptions={
        "You counted one matrix per head. There are three: for queries, keys and values.": (
            lambda d_in, d_out, H, bias: _parameters(d_in, d_out, H, bias) // 3
        ),
        "You counted one head. Every head has matrices of its own, d_out wide.": (
            lambda d_in, d_out, H, bias: _parameters(d_in, d_out, 1, bias)
        ),
        "The biases are missing: with qkv_bias, a projection adds one to each number it returns.": (
            lambda d_in, d_out, H, bias: _parameters(d_in, d_out, H, False)
        ),
        "A bias has one number for each number that a projection returns: d_out, not d_in.": (
            lambda d_in, d_out, H, bias: H * 3 * (d_in * d_out + d_in * bias)
        ),
        "All heads share one bias in your count. Each has three of its own.": (
            lambda d_in, d_out, H, bias: H * 3 * d_in * d_out + 3 * d_out * bias
        ),
    },
)

REORDERED = Exercise(
    name="06d",
    solution=_reordered,
    cases=(
        (torch.arange(60.0).reshape(5, 12).sin(), [2, 0, 1]),
        (torch.arange(56.0).reshape(7, 8).cos(), [1, 3, 0, 2]),
    ),
    misconceptions={
        "The heads went the other way: place i is taken by the head that stood in order[i], so "
        "block i of the new columns is block order[i] of the old.": (
            lambda weight, order: _reordered(weight, _inverse(order))
        ),
        "Nothing has moved. The layer would take what one head found for what another did.": (
            lambda weight, order: weight
        ),
        "Single columns have moved, and every head's numbers are torn apart. A head has as many "
        "columns next to one another as the width divided by the number of heads.": (
            lambda weight, order: weight.unflatten(-1, (-1, len(order)))[..., order].flatten(-2)
        ),
        "You kept only a column of each head. All of its columns move together.": (
            lambda weight, order: weight[:, order]
        ),
        "You moved rows: those are what the layer returns. Columns are what it reads.": (
            lambda weight, order: weight[order]
        ),
    },
)
