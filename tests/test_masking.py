"""The causal mask: the printed numbers, and that no future gets through."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.masking import causal_mask, mask_scores, mask_then_renormalise
from chapter3_helpers.sentence import example_inputs
from chapter3_helpers.trainable_qkv import SelfAttention_v2
from tests.golden import assert_prints
from tests.oracles import tokens

B, H, T, D = 2, 3, 5, 7


def test_printed_numbers():
    x = example_inputs()
    torch.manual_seed(789)
    attention = SelfAttention_v2(3, 2)
    weights = attention.attention_weights(x)
    visible = (~causal_mask(6)).float()
    assert_prints("mask_simple", visible)
    assert_prints("masked_simple", weights * visible)
    assert_prints("masked_simple_norm", mask_then_renormalise(weights))
    scores = attention.W_query(x) @ attention.W_key(x).T
    assert_prints("masked_scores", mask_scores(scores))
    assert_prints("causal_weights", torch.softmax(mask_scores(scores) / 2**0.5, dim=-1))


@pytest.mark.parametrize("size", [1, 2, 7])
def test_mask_hides_exactly_what_comes_later(size):
    mask = causal_mask(size)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[key > query for key in range(size)] for query in range(size)]


def test_true_means_hidden_as_in_multihead_attention():
    """As ``nn.MultiheadAttention`` reads a mask, and the reverse of torch's function."""
    x = tokens(T, D)
    module = nn.MultiheadAttention(D, 1, bias=False).double().requires_grad_(False)
    module.in_proj_weight.copy_(torch.eye(D).repeat(3, 1))
    expected = torch.softmax(mask_scores(x @ x.T) / D**0.5, dim=-1)
    _, weights = module(x, x, x, attn_mask=causal_mask(T))
    torch.testing.assert_close(weights, expected)
    values = torch.eye(T).double()
    turned = functional.scaled_dot_product_attention(x, x, values, attn_mask=~causal_mask(T))
    torch.testing.assert_close(turned, expected)


def test_hidden_scores_are_minus_infinity_and_the_rest_is_kept():
    scores = tokens(B, H, T, T)
    before = scores.clone()
    masked = mask_scores(scores)
    assert torch.equal(scores, before)  # not in place
    hidden = causal_mask(T).expand_as(scores)
    assert (masked[hidden] == -torch.inf).all()
    assert torch.equal(masked[~hidden], scores[~hidden])


def test_both_ways_agree():
    scores = tokens(B, H, T, T)
    weights = torch.softmax(scores, dim=-1)
    before = weights.clone()
    renormalised = mask_then_renormalise(weights)
    assert torch.equal(weights, before)  # not in place
    torch.testing.assert_close(renormalised, torch.softmax(mask_scores(scores), dim=-1))


def test_renormalising_fails_where_the_future_takes_all_and_masking_does_not():
    scores = torch.tensor([[0.0, 200.0], [0.0, 0.0]])  # in float32, e**-200 is 0
    renormalised = mask_then_renormalise(torch.softmax(scores, dim=-1))
    assert renormalised[0].isnan().any()
    assert torch.softmax(mask_scores(scores), dim=-1).tolist() == [[1.0, 0.0], [0.5, 0.5]]


def test_half_precision_stays_half():
    scores = tokens(B, T, T).half()
    assert mask_scores(scores).dtype == mask_then_renormalise(scores.exp()).dtype == torch.half
