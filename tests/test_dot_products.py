"""Dot products as scores, and the simplest self-attention."""

import pytest
import torch
from torch.nn import functional

from chapter3_helpers.dot_products import (
    attention_scores,
    attention_scores_loop,
    simple_self_attention,
)
from chapter3_helpers.sentence import example_batch, example_inputs
from tests.golden import golden

BOTH = pytest.mark.parametrize("scores_of", [attention_scores_loop, attention_scores])
ALL = pytest.mark.parametrize(
    "function", [attention_scores_loop, attention_scores, simple_self_attention]
)


def tokens(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Draw signed embeddings, the same ones for the same shape."""
    generator = torch.Generator().manual_seed(7)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def printed(name: str) -> torch.Tensor:
    return torch.tensor(golden()[name]["values"])


def assert_prints_as(value: torch.Tensor, name: str) -> None:
    torch.testing.assert_close(value, printed(name), rtol=0, atol=0.51e-4)


@BOTH
def test_values_worked_out_by_hand(scores_of):
    x = torch.tensor([[1.0, -2.0, 3.0], [0.0, 5.0, 2.0]])  # (2, 3)
    # 1 + 4 + 9 = 14;  0 - 10 + 6 = -4;  0 + 25 + 4 = 29
    assert torch.equal(scores_of(x), torch.tensor([[14.0, -4.0], [-4.0, 29.0]]))


@BOTH
def test_the_printed_scores(scores_of):
    scores = scores_of(example_inputs())
    assert_prints_as(scores, "scores")
    assert_prints_as(scores[1], "scores_2")
    assert_prints_as(scores[0, 1], "dot_0_1")


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (2, 5, 7), (2, 3, 5, 7)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_loop_and_matrix_product_agree_with_einsum(shape, dtype):
    x = tokens(*shape, dtype=dtype)
    expected = torch.einsum("...id,...jd->...ij", x, x)
    for scores in (attention_scores_loop(x), attention_scores(x)):
        assert scores.dtype == dtype
        torch.testing.assert_close(scores, expected)


@BOTH
def test_bfloat16_agrees_to_its_own_precision(scores_of):
    x = tokens(5, 7, dtype=torch.bfloat16)
    scores = scores_of(x)
    assert scores.dtype == torch.bfloat16
    exact = x.double() @ x.double().T
    # eight additions at most, each off by half a unit in the last of 8 bits
    assert (scores.double() - exact).abs().max() < 8 * 2**-8 * (x.double() ** 2).sum(1).max()


@BOTH
def test_the_loop_and_the_product_have_the_same_gradient(scores_of):
    x = tokens(5, 7, dtype=torch.float64).requires_grad_()
    upstream = torch.arange(25, dtype=torch.float64).view(5, 5)
    (scores_of(x) * upstream).sum().backward()
    torch.testing.assert_close(x.grad, (upstream + upstream.T) @ x.detach())


@ALL
def test_sentences_of_a_batch_do_not_meet(function):
    x = tokens(2, 5, 7)
    changed = x.clone()
    changed[1] += 1
    results, others = function(x), function(changed)
    pairs = zip(results, others, strict=True) if isinstance(results, tuple) else [(results, others)]
    for before, after in pairs:
        assert torch.equal(before[0], after[0])
        assert not torch.equal(before[1], after[1])


@ALL
def test_the_input_is_left_alone(function):
    x = tokens(5, 7)
    copy = x.clone()
    function(x)
    assert torch.equal(x, copy)


def test_simple_self_attention_prints_the_weights_and_the_context():
    context, weights = simple_self_attention(example_inputs())
    assert_prints_as(weights, "weights")
    assert_prints_as(weights[1], "weights_2")
    assert_prints_as(context, "context")
    assert_prints_as(context[1], "context_2")


@pytest.mark.parametrize("shape", [(5, 7), (2, 5, 7), (2, 3, 5, 7)])
def test_simple_self_attention_is_torch_s_attention_without_scaling(shape):
    x = tokens(*shape, dtype=torch.float64)
    context, weights = simple_self_attention(x)
    expected = functional.scaled_dot_product_attention(x, x, x, scale=1.0)
    torch.testing.assert_close(context, expected)
    torch.testing.assert_close(weights @ x, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_rows_of_weights_sum_to_one_and_columns_do_not(dtype):
    context, weights = simple_self_attention(tokens(2, 5, 7, dtype=dtype))
    assert context.dtype == weights.dtype == dtype
    tolerance = 4 * torch.finfo(dtype).eps
    sums = weights.double().sum(dim=-1)
    torch.testing.assert_close(sums, torch.ones_like(sums), rtol=0, atol=tolerance)
    assert not torch.allclose(weights.double().sum(dim=-2), sums, atol=0.1)
    assert (weights >= 0).all()


def test_a_context_vector_lies_among_the_tokens():
    x = tokens(5, 7)
    context, _ = simple_self_attention(x)
    assert (context >= x.amin(dim=0)).all()
    assert (context <= x.amax(dim=0)).all()


def test_shuffled_tokens_give_shuffled_results():
    x, order = tokens(5, 7, dtype=torch.float64), torch.tensor([3, 0, 4, 1, 2])
    context, weights = simple_self_attention(x)
    shuffled_context, shuffled_weights = simple_self_attention(x[order])
    torch.testing.assert_close(shuffled_context, context[order])
    torch.testing.assert_close(shuffled_weights, weights[order][:, order])


def test_one_token_attends_to_itself():
    x = tokens(1, 3)
    context, weights = simple_self_attention(x)
    assert torch.equal(weights, torch.ones(1, 1))
    assert torch.equal(context, x)


def test_very_long_vectors_do_not_overflow():
    context, weights = simple_self_attention(100 * tokens(5, 7))  # scores of some 100000
    assert context.isfinite().all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(5))


def test_gradients_are_right():
    assert torch.autograd.gradcheck(
        simple_self_attention, tokens(2, 3, 5, dtype=torch.float64).requires_grad_()
    )


@pytest.mark.parametrize("function", [attention_scores, simple_self_attention])
def test_it_compiles_without_a_graph_break(function):
    torch.compiler.reset()
    x = tokens(2, 5, 7)
    compiled = torch.compile(function, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), function(x))


def test_the_batch_of_the_chapter():
    context, weights = simple_self_attention(example_batch())
    assert weights.shape == (2, 6, 6)
    for sentence in context:
        assert_prints_as(sentence, "context")
