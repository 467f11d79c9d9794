"""Dot products as scores, and the simplest self-attention."""

import pytest
import torch
from torch.nn import functional

from chapter3_helpers.dot_products import (
    attention_scores,
    attention_scores_loop,
    simple_self_attention,
)
from chapter3_helpers.sentence import example_inputs
from tests.golden import assert_prints
from tests.oracles import tokens

BOTH = pytest.mark.parametrize("scores_of", [attention_scores_loop, attention_scores])


@BOTH
def test_the_printed_scores(scores_of):
    scores = scores_of(example_inputs())
    assert_prints("scores", scores)
    assert_prints("scores_2", scores[1])
    assert_prints("dot_0_1", scores[0, 1])


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (2, 5, 7), (2, 3, 5, 7)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_loop_and_matrix_product_agree_with_einsum(shape, dtype):
    x = tokens(*shape, dtype=dtype)
    expected = torch.einsum("...id,...jd->...ij", x, x)
    for scores in (attention_scores_loop(x), attention_scores(x)):
        assert scores.dtype == dtype
        torch.testing.assert_close(scores, expected)


def test_simple_self_attention_prints_the_weights_and_the_context():
    context, weights = simple_self_attention(example_inputs())
    assert_prints("weights", weights)
    assert_prints("weights_2", weights[1])
    assert_prints("context", context)
    assert_prints("context_2", context[1])


@pytest.mark.parametrize("shape", [(5, 7), (2, 5, 7), (2, 3, 5, 7)])
def test_simple_self_attention_is_torch_s_attention_without_scaling(shape):
    x = tokens(*shape, dtype=torch.float64)
    context, weights = simple_self_attention(x)
    expected = functional.scaled_dot_product_attention(x, x, x, scale=1.0)
    torch.testing.assert_close(context, expected)
    torch.testing.assert_close(weights @ x, expected)
