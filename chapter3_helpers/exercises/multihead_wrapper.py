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


def _outputs(num_heads: int, *shape: int) -> list[torch.Tensor]:
    """Return one tensor per head, all different."""
    numbers = torch.arange(float(num_heads * torch.Size(shape).numel()))
    return list(numbers.reshape(num_heads, *shape).sin())


def _parameters(d_in: int, d_out: int, num_heads: int, qkv_bias: bool) -> int:
    return num_heads * 3 * (d_in * d_out + d_out * qkv_bias)


def _stacked(outputs: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.stack(list(outputs), dim=-1)


TWO_WIDE = Exercise(
    name="06a",
    solution=_wrapped(d_out=1, num_heads=2),
    cases=((example_batch(),), (example_batch(3)[:, :5],)),
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

JOIN = Exercise(
    name="06b",
    solution=lambda outputs: torch.cat(list(outputs), dim=-1),
    cases=((_outputs(2, 3, 5, 4),), (_outputs(4, 6, 3),)),
    misconceptions={
        "The heads stand one below the other, and the text became longer: the tokens are the "
        "dimension before the last. Join the last.": (
            lambda outputs: torch.cat(list(outputs), dim=-2)
        ),
        "You added the heads. Afterwards nothing tells which head found what.": (
            lambda outputs: _stacked(outputs).sum(dim=-1)
        ),
        "You averaged the heads. Afterwards nothing tells which head found what.": (
            lambda outputs: _stacked(outputs).mean(dim=-1)
        ),
        "The width is right, but the heads are shuffled together number by number. Head 0's "
        "numbers come first, then head 1's.": lambda outputs: _stacked(outputs).flatten(-2),
        "You gave the heads a dimension of their own. Joined, they share the last one.": (
            lambda outputs: torch.stack(list(outputs))
        ),
    },
)

HEAD_OUTPUT = Exercise(
    name="06c",
    solution=lambda context, head, num_heads: context.chunk(num_heads, dim=-1)[head],
    cases=((torch.arange(120.0).reshape(2, 5, 12), 1, 4), (torch.arange(210.0).view(21, 10), 1, 2)),
    misconceptions={
        "You took every num_heads-th number. A head's numbers stand next to one another.": (
            lambda context, head, num_heads: context[..., head::num_heads]
        ),
        "You took a single number. A head returns as many as the width divided by the number of "
        "heads.": lambda context, head, num_heads: context[..., head],
        "Your slice is num_heads wide. How wide is a head?": (
            lambda context, head, num_heads: context[..., head * num_heads : (head + 1) * num_heads]
        ),
        "You cut the tokens, not the numbers of a token. The heads share the last dimension.": (
            lambda context, head, num_heads: context.tensor_split(num_heads, dim=-2)[head]
        ),
    },
)

PARAMETERS = Exercise(
    name="06d",
    solution=_parameters,
    cases=((7, 3, 4, False), (5, 2, 6, True), (768, 64, 12, True)),
    misconceptions={
        "You counted one matrix per head. There are three: for queries, keys and values.": (
            lambda d_in, d_out, num_heads, qkv_bias: (
                _parameters(d_in, d_out, num_heads, qkv_bias) // 3
            )
        ),
        "You counted one head. Every head has matrices of its own, d_out wide.": (
            lambda d_in, d_out, num_heads, qkv_bias: _parameters(d_in, d_out, 1, qkv_bias)
        ),
        "The biases are missing: with qkv_bias, a projection adds one to each number it returns.": (
            lambda d_in, d_out, num_heads, qkv_bias: _parameters(d_in, d_out, num_heads, False)
        ),
        "A bias has one number for each number that a projection returns: d_out, not d_in.": (
            lambda d_in, d_out, num_heads, qkv_bias: (
                num_heads * 3 * (d_in * d_out + d_in * qkv_bias)
            )
        ),
        "All heads share one bias in your count. Each has three of its own.": (
            lambda d_in, d_out, num_heads, qkv_bias: (
                num_heads * 3 * d_in * d_out + 3 * d_out * qkv_bias
            )
        ),
    },
)
