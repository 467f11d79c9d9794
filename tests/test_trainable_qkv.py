"""Trainable self-attention: the printed numbers, and that it computes what it says."""

import pytest
import torch
from torch.nn import functional

from chapter3_helpers.exercises import trainable_qkv as exercises
from chapter3_helpers.sentence import example_inputs
from chapter3_helpers.trainable_qkv import SelfAttention_v1, SelfAttention_v2
from tests.golden import assert_prints
from tests.oracles import tokens

B, T, D_IN, D_OUT = 2, 5, 7, 11  # primes, so that no two sizes can be confused


def project(attention, x):
    """Return queries, keys and values, whichever way their matrices are stored."""
    layers = attention.W_query, attention.W_key, attention.W_value
    if isinstance(attention, SelfAttention_v1):
        return [x @ matrix for matrix in layers]
    return [x @ layer.weight.T + (0 if layer.bias is None else layer.bias) for layer in layers]


def make(attention_class, d_in=D_IN, d_out=D_OUT, dtype=torch.float64, **options):
    torch.manual_seed(7)
    return attention_class(d_in, d_out, **options).to(dtype)


# the printed numbers


def test_single_query_passage():
    x = example_inputs()
    torch.manual_seed(123)
    attention = SelfAttention_v1(3, 2)
    assert_prints("query_2", x[1] @ attention.W_query)
    assert_prints("key_2", x[1] @ attention.W_key)
    assert_prints("value_2", x[1] @ attention.W_value)
    assert_prints("qkv_weights_2", attention.attention_weights(x)[1])
    assert_prints("qkv_context_2", attention(x)[1])


def test_printed_outputs():
    x = example_inputs()
    torch.manual_seed(123)
    assert_prints("self_attention_v1", SelfAttention_v1(3, 2)(x))
    torch.manual_seed(789)
    v2 = SelfAttention_v2(3, 2)
    assert_prints("self_attention_v2", v2(x))
    assert_prints("v2_weights", v2.attention_weights(x))


def test_exercise_3_1():
    torch.manual_seed(123)
    v2 = SelfAttention_v2(3, 2)
    v1 = exercises.CARRY_WEIGHTS.solution(v2)
    assert_prints("exercise_3_1", v2(example_inputs()))
    assert_prints("exercise_3_1", v1(example_inputs()))


# what is computed


@pytest.mark.parametrize("d_out", [D_OUT, D_IN])  # square, a transposed matrix raises no error
@pytest.mark.parametrize(
    ("attention_class", "options"),
    [(SelfAttention_v1, {}), (SelfAttention_v2, {}), (SelfAttention_v2, {"qkv_bias": True})],
)
def test_equals_torch(attention_class, options, d_out):
    attention, x = make(attention_class, d_out=d_out, **options), tokens(B, T, D_IN)
    assert len(list(attention.parameters())) == (6 if options else 3)
    queries, keys, values = project(attention, x)
    expected = functional.scaled_dot_product_attention(queries, keys, values)
    torch.testing.assert_close(attention(x), expected)
    weights = functional.scaled_dot_product_attention(queries, keys, torch.eye(T).double())
    torch.testing.assert_close(attention.attention_weights(x), weights)
