"""Causal attention: what it computes, what it hides, what it drops and when."""

import pytest
import torch
from torch import nn

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.sentence import example_batch, example_inputs
from chapter3_helpers.trainable_qkv import SelfAttention_v2
from tests.golden import assert_prints
from tests.oracles import by_hand, tokens

B, T, D_IN, D_OUT, CONTEXT = 2, 5, 7, 3, 11  # no two alike
biased = pytest.mark.parametrize("qkv_bias", [False, True])


def make(dropout=0.0, qkv_bias=False, dtype=torch.float64) -> CausalAttention:
    torch.manual_seed(5)
    return CausalAttention(D_IN, D_OUT, CONTEXT, dropout, qkv_bias).to(dtype)


def test_prints_the_chapters_numbers():
    torch.manual_seed(123)
    assert_prints("causal_attention", CausalAttention(3, 2, 6, 0.0)(example_batch()))


def test_weights_are_the_chapters_causal_weights():
    torch.manual_seed(789)
    unmasked = SelfAttention_v2(3, 2)
    attention = CausalAttention(3, 2, 6, 0.0)
    attention.load_state_dict(unmasked.state_dict())  # the same names and nothing else
    assert_prints("causal_weights", attention.attention_weights(example_inputs()))


@biased
def test_equals_attention_number_by_number(qkv_bias):
    attention, x = make(qkv_bias=qkv_bias).requires_grad_(False), tokens(T, D_IN)
    layers = (attention.W_query, attention.W_key, attention.W_value)
    context, weights = by_hand(*(layer(x) for layer in layers))
    torch.testing.assert_close(attention(x), context)
    torch.testing.assert_close(attention.attention_weights(x), weights)


def test_dropout_is_one_draw_of_torch():
    """Drawn after the weights and before the product with the values, once for the batch."""
    attention, x = make(dropout=0.5), tokens(B, T, D_IN)
    torch.manual_seed(7)
    context = attention(x)
    torch.manual_seed(7)
    dropped = nn.functional.dropout(attention.attention_weights(x), 0.5)
    torch.testing.assert_close(context, dropped @ attention.W_value(x))
    assert torch.equal(attention.eval()(x), make(dropout=0.0)(x))
