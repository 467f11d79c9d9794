"""Softmax, naive and stable, held against torch's own."""

import math

import pytest
import torch

from chapter3_helpers.dot_products import attention_scores
from chapter3_helpers.sentence import example_inputs
from chapter3_helpers.softmax import softmax, softmax_naive
from tests.golden import assert_prints
from tests.oracles import tokens

BOTH = pytest.mark.parametrize("function", [softmax_naive, softmax])
INF = torch.inf


@BOTH
def test_values_worked_out_by_hand(function):
    scores = torch.tensor([0.0, math.log(2), math.log(3)])  # exponentials 1, 2, 3
    torch.testing.assert_close(function(scores), torch.tensor([1 / 6, 2 / 6, 3 / 6]))


@BOTH
def test_the_printed_weights(function):
    scores = attention_scores(example_inputs())
    assert_prints("weights_2", function(scores[1]))
    assert_prints("weights", function(scores))


@BOTH
@pytest.mark.parametrize("dim", range(-3, 3))
def test_every_dimension_agrees_with_torch(function, dim):
    scores = 3 * tokens(2, 5, 7)
    torch.testing.assert_close(function(scores, dim=dim), torch.softmax(scores, dim=dim))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_numbers_of_every_type(dtype, sign):
    largest = sign * torch.finfo(dtype).max
    scores = torch.tensor([[largest, largest], [largest, 0.0], [largest, -largest]], dtype=dtype)
    weights = softmax(scores)
    assert torch.equal(weights, torch.softmax(scores, dim=-1))
    wins = 1.0 if sign == 1 else 0.0
    assert weights.tolist() == [[0.5, 0.5], [wins, 1 - wins], [wins, 1 - wins]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_the_naive_form_fails_where_it_is_said_to(dtype):
    limit = math.log(torch.finfo(dtype).max)
    fine = torch.tensor([0.0, 0.95 * limit], dtype=dtype)
    large = torch.tensor([0.0, 1.05 * limit], dtype=dtype)
    small = torch.tensor([-1000.0, -999.0], dtype=dtype)
    torch.testing.assert_close(softmax_naive(fine), softmax(fine), rtol=0.05, atol=1e-6)
    assert softmax_naive(large).isnan().any()
    assert softmax_naive(small).isnan().all()
    assert softmax(large).isfinite().all()
    assert softmax(small).isfinite().all()


def test_minus_infinity_gets_no_weight_and_a_row_of_nothing_else_is_nan():
    weights = softmax(torch.tensor([[-INF, -3.0], [2.0, -INF], [-INF, -INF]]))
    assert weights[:2].tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert weights[2].isnan().all()
