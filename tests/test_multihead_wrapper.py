"""Several heads side by side: each is a causal attention of its own."""

import pytest
import torch
from torch import nn

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.sentence import example_batch
from tests.golden import assert_prints
from tests.oracles import tokens

B, T, D_IN, D_OUT, HEADS, CONTEXT = 2, 5, 7, 3, 4, 11  # no two alike; D_OUT is per head


def make(dropout=0.0, qkv_bias=False, dtype=torch.float64) -> MultiHeadAttentionWrapper:
    torch.manual_seed(5)
    return MultiHeadAttentionWrapper(D_IN, D_OUT, CONTEXT, dropout, HEADS, qkv_bias).to(dtype)


def columns(head: int) -> slice:
    """The part of the output that ``head`` fills."""
    return slice(head * D_OUT, (head + 1) * D_OUT)


@pytest.mark.parametrize(("entry", "d_out"), [("wrapper", 2), ("exercise_3_2", 1)])
def test_prints_the_chapters_numbers(entry, d_out):
    torch.manual_seed(123)
    wrapper = MultiHeadAttentionWrapper(3, d_out, 6, 0.0, num_heads=2)
    assert_prints(entry, wrapper(example_batch()))


@pytest.mark.parametrize("qkv_bias", [False, True])
def test_every_head_is_a_causal_attention_at_its_place(qkv_bias):
    """Against modules that were made one by one from the same seed, in the same order."""
    wrapper, x = make(qkv_bias=qkv_bias), tokens(B, T, D_IN)
    torch.manual_seed(5)
    heads = [CausalAttention(D_IN, D_OUT, CONTEXT, 0.0, qkv_bias).double() for _ in range(HEADS)]
    context, weights = wrapper(x), wrapper.attention_weights(x)
    assert context.shape == (B, T, HEADS * D_OUT)
    assert weights.shape == (B, HEADS, T, T)
    for h, head in enumerate(heads):
        assert torch.equal(context[..., columns(h)], head(x))
        assert torch.equal(weights[:, h], head.attention_weights(x))


def test_every_head_drops_weights_of_its_own():
    wrapper, x = make(dropout=0.5), tokens(B, T, D_IN)
    torch.manual_seed(7)
    context = wrapper(x)
    torch.manual_seed(7)
    expected = [
        nn.functional.dropout(head.attention_weights(x), 0.5) @ head.W_value(x)
        for head in wrapper.heads
    ]
    torch.testing.assert_close(context, torch.cat(expected, dim=-1))
    assert torch.equal(wrapper.eval()(x), make(dropout=0.0)(x))
