"""Multi-head attention in one go: split, joined, fused."""

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from chapter3_helpers.copy_weights import copy_weights
from chapter3_helpers.fused_multihead import (
    FusedMultiHeadAttention,
    MultiHeadAttention,
    count_parameters,
    join_heads,
    split_heads,
)
from chapter3_helpers.sentence import example_batch
from tests.golden import assert_prints, golden
from tests.oracles import by_hand, tokens

B, T, D_IN, D_OUT = 2, 5, 7, 22  # no two alike, and heads of unequal number and width below
CLASSES = [MultiHeadAttention, FusedMultiHeadAttention]
both = pytest.mark.parametrize("cls", CLASSES)
HEADS = pytest.mark.parametrize("num_heads", [1, 2, 11])  # head_dim 22, 11, 2


def make(cls, num_heads=2, dropout=0.0, qkv_bias=False, context_length=13, dtype=torch.float64):
    torch.manual_seed(5)
    return cls(D_IN, D_OUT, context_length, dropout, num_heads, qkv_bias).to(dtype)


def pair(**options) -> tuple[MultiHeadAttention, FusedMultiHeadAttention]:
    """Make both classes with one set of weights."""
    split, fused = (make(cls, **options) for cls in CLASSES)
    copy_weights(split, fused)
    return split, fused


@both
def test_prints_the_chapters_numbers(cls):
    torch.manual_seed(123)
    attention = cls(3, 2, 6, 0.0, num_heads=2)  # packed or not, one seed draws the same weights
    assert_prints("multi_head", attention(example_batch()))


@HEADS
@pytest.mark.parametrize("qkv_bias", [False, True])
def test_equals_attention_number_by_number(num_heads, qkv_bias):
    split, fused = pair(num_heads=num_heads, qkv_bias=qkv_bias)
    x = tokens(T, D_IN)
    queries, keys, values = (
        layer(x).detach().chunk(num_heads, dim=1)  # columns that belong to one head
        for layer in (split.W_query, split.W_key, split.W_value)
    )
    heads = [by_hand(*head) for head in zip(queries, keys, values, strict=True)]
    joined = torch.cat([context for context, _ in heads], dim=1)
    weights = torch.stack([weights for _, weights in heads])
    for attention in (split, fused):
        torch.testing.assert_close(attention(x), split.out_proj(joined))
        torch.testing.assert_close(attention.attention_weights(x), weights)


def test_split_cuts_tokens_and_a_plain_view_does_not():
    numbered = 10.0 * torch.arange(3)[:, None] + torch.arange(4)  # tens: token, units: column
    heads = split_heads(numbered, num_heads=2)
    assert heads.tolist() == [[[0, 1], [10, 11], [20, 21]], [[2, 3], [12, 13], [22, 23]]]
    assert numbered.view(2, 3, 2).tolist() != heads.tolist()
    assert torch.equal(join_heads(heads), numbered)
    batch = torch.stack([numbered, numbered + 100])
    assert torch.equal(split_heads(batch, 2)[1], heads + 100)
    assert torch.equal(join_heads(split_heads(batch, 2)), batch)


class LargestResult(TorchDispatchMode):
    """Remember the size of the largest tensor that any operation returned."""

    numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        results = function(*args, **(kwargs or {}))
        for result in results if isinstance(results, tuple) else (results,):
            if isinstance(result, torch.Tensor):
                self.numbers = max(self.numbers, result.numel())
        return results


@pytest.mark.parametrize("training", [False, True])
def test_fused_never_stores_a_square_matrix(training):
    sizes = {}
    for attention in pair(context_length=151, dtype=torch.float32):
        with LargestResult() as largest:
            attention.train(training)(tokens(B, 151, D_IN, dtype=torch.float32))
        sizes[type(attention)] = largest.numbers
    assert sizes[MultiHeadAttention] == B * 2 * 151 * 151
    assert sizes[FusedMultiHeadAttention] == B * 151 * 3 * D_OUT


@both
def test_dropout_drops_and_rescales_weights_in_training_only(cls):
    attention = make(cls, num_heads=11, dropout=0.75)
    with torch.no_grad():
        attention.out_proj.weight.copy_(torch.eye(D_OUT))
        attention.out_proj.bias.zero_()
    x = tokens(40, 1, D_IN)  # one token: its only weight is 1
    kept = attention.eval()(x)
    assert torch.equal(attention(x), kept)
    torch.manual_seed(0)
    ratio = split_heads(attention.train()(x) / kept, 11)  # (40, 11, 1, 2)
    assert set(ratio.round(decimals=6).unique().tolist()) == {0.0, 4.0}  # 4 = 1 / (1 - 0.75)
    assert torch.allclose(ratio[..., 0], ratio[..., 1])  # a weight drops for its head as a whole
    assert not torch.equal(attention(x), attention(x))
    attention.dropout.eval()
    torch.testing.assert_close(attention(x), kept)


def test_nan_is_lost_by_the_kernel_and_shown_by_the_weights():
    """As the docstrings say, of PyTorch's kernel for CPUs. Where this fails, mend them."""
    for attention in pair(dtype=torch.float32):
        packed = isinstance(attention, FusedMultiHeadAttention)
        projection = attention.W_qkv if packed else attention.W_query
        with torch.no_grad():
            projection.weight[:D_OUT] = torch.nan  # the queries'
        x = tokens(B, T, D_IN, dtype=torch.float32)
        assert attention.attention_weights(x).isnan()[..., 0].all()
        lost = attention.out_proj.bias.expand(B, T, D_OUT)
        expected = lost if packed else torch.full_like(lost, torch.nan)
        torch.testing.assert_close(attention(x), expected, equal_nan=True)


def test_gpt2_small_has_the_chapters_number_of_parameters():
    for cls in CLASSES:
        attention = cls(768, 768, 1024, 0.0, num_heads=12)
        assert count_parameters(attention) == golden()["exercise_3_3"]["values"] == 2360064


def test_count_parameters_counts_what_training_can_change():
    two = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2, bias=False), nn.BatchNorm1d(2))
    assert count_parameters(two) == (3 * 5 + 5) + 5 * 2 + 2 * 2
    two[0].requires_grad_(False)
    assert count_parameters(two) == 5 * 2 + 2 * 2
    assert count_parameters(nn.Sequential(two[1], two[1])) == 5 * 2  # shared: once
