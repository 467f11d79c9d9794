"""The exercises of ``03_trainable_qkv``."""

from collections.abc import Callable

import torch

from chapter3_helpers._language import say
from chapter3_helpers.exercises import Exercise, drawn
from chapter3_helpers.trainable_qkv import SelfAttention_v1, SelfAttention_v2


def _linear_attention(d_in: int, d_out: int) -> SelfAttention_v2:
    """Make a v2 without drawing from the generator that the notebook seeds."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(d_in)
        return SelfAttention_v2(d_in, d_out)


def _carry(
    v2: SelfAttention_v2, turn: Callable[[torch.Tensor], torch.Tensor], names: str = "query key"
) -> SelfAttention_v1:
    """Fill a v1 from a v2; ``names`` says from which layers its queries and keys come."""
    d_out, d_in = v2.W_query.weight.shape
    with torch.random.fork_rng(devices=[]):
        v1 = SelfAttention_v1(d_in, d_out)
    for target, source in zip(("query", "key", "value"), (*names.split(), "value"), strict=True):
        weight = getattr(v2, f"W_{source}").weight.detach()
        setattr(v1, f"W_{target}", torch.nn.Parameter(turn(weight).clone()))
    return v1


def _shared_memory(carry: Callable[..., torch.nn.Module], case: tuple) -> str:
    """Complain of a v1 that changes when the v2 is trained."""
    held = {parameter.untyped_storage().data_ptr() for parameter in case[0].parameters()}
    if any(p.untyped_storage().data_ptr() in held for p in carry(*case).parameters()):
        return say(
            "The numbers are right, but both models keep them in the same memory: whoever trains "
            "one changes the other. `clone()` makes a copy."
        )
    return ""


CARRY_WEIGHTS = Exercise(
    name="03a",
    solution=lambda v2: _carry(v2, lambda weight: weight.T),
    cases=((_linear_attention(5, 3),), (_linear_attention(4, 4),), (_linear_attention(2, 7),)),
    demand=_shared_memory,
    misconceptions={
        "You kept the matrices as nn.Linear stores them, (d_out, d_in). SelfAttention_v1 computes "
        "x @ W, which needs (d_in, d_out): transpose them. Between equal sizes this mistake raises "
        "no error.": lambda v2: _carry(v2, lambda weight: weight),
        "The shapes are right and the numbers are in the wrong places: reshape and view only fill "
        "the new shape row by row. .T turns rows into columns.": (
            lambda v2: _carry(v2, lambda weight: weight.reshape(weight.T.shape))
        ),
        "Queries and keys have changed places: every token now asks with what it should be found "
        "by, which transposes the scores.": (
            lambda v2: _carry(v2, lambda weight: weight.T, "key query")
        ),
    },
)

COUNT = Exercise(
    name="03b",
    solution=lambda d_in, d_out, T: 3 * d_in * d_out,
    cases=((5, 2, 11), (768, 64, 1024)),
    misconceptions={
        "You counted the attention weights too. They are computed anew for every input; training "
        "changes parameters only.": lambda d_in, d_out, T: 3 * d_in * d_out + T * T,
        "That is one matrix. Queries, keys and values have one each.": (
            lambda d_in, d_out, T: d_in * d_out
        ),
        "Those are two matrices. The values are made by a third one.": (
            lambda d_in, d_out, T: 2 * d_in * d_out
        ),
        "You gave every token matrices of its own. All tokens share the three, so T changes "
        "nothing.": lambda d_in, d_out, T: 3 * T * d_in * d_out,
        "You counted a bias for every output. The class has none.": (
            lambda d_in, d_out, T: 3 * (d_in + 1) * d_out
        ),
        "You counted the numbers in the queries, keys and values. Those follow from the input; the "
        "parameters are the matrices that make them.": lambda d_in, d_out, T: 3 * T * d_out,
    },
)

CIRCLE = Exercise(
    name="03c",
    solution=lambda T, s: s * torch.eye(T).roll(1, dims=1),
    cases=((3, 10.0), (5, 0.25)),
    misconceptions={
        "Every token scores high for the one before it. Row i is the query: its number belongs in "
        "the column of the token that it looks at.": (
            lambda T, s: s * torch.eye(T).roll(1, dims=0)
        ),
        "The circle is open: the last token looks at nobody. After the last comes the first.": (
            lambda T, s: s * torch.eye(T).roll(1, dims=1).triu()
        ),
        "Every token looks at itself, as with plain dot products. Move the ones by a column.": (
            lambda T, s: s * torch.eye(T)
        ),
        "The direction is right, and the scores are all 1: multiply by `strength`.": (
            lambda T, s: torch.eye(T).roll(1, dims=1)
        ),
        "This looks both ways, which is what a symmetric score does. Each token may look only at "
        "the next one.": (
            lambda T, s: s * (torch.eye(T).roll(1, dims=0) + torch.eye(T).roll(1, 1))
        ),
    },
)

MERGE = Exercise(
    name="03d",
    solution=lambda q, k: q @ k.T,
    cases=((drawn(5, 2), drawn(5, 2, seed=2)), (drawn(3, 7), drawn(3, 7, seed=2))),
    misconceptions={
        "This is (d_out, d_out). M stands between two tokens, x @ M @ x.T: it is (d_in, d_in).": (
            lambda q, k: q.T @ k
        ),
        "This matrix gives the transposed scores: what each key thinks of each query. The row of a "
        "score belongs to the query, so W_query stands first.": (lambda q, k: k @ q.T),
    },
)

DIVISOR = Exercise(
    name="03e",
    solution=lambda D, spread: spread**2 * D**0.5,
    cases=((64, 0.3), (7, 1.5)),
    misconceptions={
        "That is right for a spread of 1 only. Every product in the sum holds one entry of the "
        "query and one of the key.": lambda D, spread: D**0.5,
        "The spread comes in twice, once from the query and once from the key.": (
            lambda D, spread: spread * D**0.5
        ),
        "That is the variance of the scores. Their standard deviation is its square root.": (
            lambda D, spread: spread**4 * D
        ),
        "It is variances that add up over the D products; the standard deviation is the square "
        "root of their sum.": lambda D, spread: spread**2 * D,
    },
)
