"""Where heads look, against weights made by hand; and heads taken out, against silent ones."""

import contextlib
import copy
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from chapter3_helpers.explorers.model.measures import measure
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.grouped_query import GroupedQueryAttention
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.real_heads import cut_heads, head_columns, head_scores, repeated_tokens
from chapter3_helpers.real_model import Llama
from chapter3_helpers.transformer_block import GPT
from tools.notebook_files import NOTEBOOKS, code_cells, read

T = 6
IDS = torch.tensor([4, 7, 9, 4, 7, 9])  # a phrase of three, twice


def looks_at(*places):
    """Return weights (T, T) in which row i looks at ``places[i]`` alone."""
    return torch.eye(T)[torch.tensor(places)]


def scores_of(weights, ids=IDS):
    model = SimpleNamespace(attention_weights=lambda _: [weights[None]])
    return {name: score.item() for name, score in head_scores(model, ids).items()}


EVEN = torch.ones(T, T).tril() / torch.arange(1.0, T + 1)[:, None]
BEFORE = looks_at(0, 0, 1, 2, 3, 4)
MADE = {
    "the token before": (BEFORE, (1.0, 0.0, 0.2)),  # row 1 looks at the first token, too
    "a sink": (looks_at(0, 0, 0, 0, 0, 0), (0.2, 0.0, 1.0)),  # so is row 1's token before
    "induction": (looks_at(0, 0, 0, 1, 2, 3), (0.2, 1.0, 0.4)),
    "the copy itself": (looks_at(0, 0, 0, 0, 1, 2), (0.2, 0.0, 0.6)),
    "even": (EVEN, (29 / 100, (1 / 4 + 1 / 5 + 1 / 6) / 3, 29 / 100)),
    "itself": (torch.eye(T), (0.0, 0.0, 0.0)),
}


@pytest.mark.parametrize("name", MADE)
def test_scores_of_weights_made_by_hand(name):
    weights, wanted = MADE[name]
    assert tuple(scores_of(weights).values()) == pytest.approx(wanted)


def test_of_one_token_again_and_again_all_earlier_ones_count_and_the_present_one_does_not():
    ids = torch.full((T,), 3)
    assert scores_of(torch.eye(T), ids)["induction"] == 0
    assert scores_of(BEFORE, ids)["induction"] == 1  # in rows 2 to 5; before row 1 nothing repeats
    assert scores_of(looks_at(0, 0, 0, 0, 0, 0), ids)["induction"] == 0  # nothing stands before it


def test_where_there_is_no_row_there_is_no_number():
    scores = scores_of(EVEN, torch.arange(T))
    assert scores["induction"] != scores["induction"]
    assert scores["token before"] == pytest.approx(0.29)


def llama():
    torch.manual_seed(3)
    return Llama(23, 24, 3, 6, 2, hidden=20, context_length=40).requires_grad_(False)


def test_the_scores_of_a_model_are_those_that_model_explorer_shows():
    model, ids = llama(), repeated_tokens(23, length=9, seed=5)
    scores = head_scores(model, ids)
    tokens = [str(number) for number in ids.tolist()]
    shown = measure(model.attention_weights(ids), tokens, range(18), cross=False, causal=True)
    for name, score in scores.items():
        assert score.shape == (3, 6)
        torch.testing.assert_close(score.flatten(), shown[name].values)


def test_repeated_tokens_are_two_equal_rounds_of_any_length_drawn_by_the_seed():
    ids = repeated_tokens(7, length=50, seed=1)
    assert ids.shape == (100,)
    assert torch.equal(ids[:50], ids[50:])
    assert {*ids.tolist()} == {*range(7)}
    assert torch.equal(ids, repeated_tokens(7, length=50, seed=1))
    assert not torch.equal(ids, repeated_tokens(7, length=50, seed=2))
    state = torch.get_rng_state()
    repeated_tokens(49_152)
    assert torch.equal(state, torch.get_rng_state())


def without_values(module, heads):
    """Return a copy whose heads have values of 0, so that they can find nothing."""
    other, D = copy.deepcopy(module), module.head_dim
    with torch.no_grad():
        for head in heads:
            rows = slice(head * D, (head + 1) * D)
            if hasattr(other, "W_qkv"):
                other.W_qkv.weight.unflatten(0, (3, -1))[2, rows] = 0
            else:
                other.W_value.weight[rows] = 0
    return other


@pytest.mark.parametrize("kind", [MultiHeadAttention, FusedMultiHeadAttention])
@pytest.mark.parametrize("heads", [[1], [0, 3], [2, 2], []])
def test_a_module_without_heads_is_one_whose_heads_find_nothing(kind, heads):
    torch.manual_seed(7)
    module, x = kind(5, 12, 9, 0.0, num_heads=4), torch.randn(2, 7, 5)
    complete = module(x)
    expected = without_values(module, heads)(x)
    with cut_heads(module, heads):
        torch.testing.assert_close(module(x), expected)
    assert torch.equal(module(x), complete)
    assert not heads or not torch.allclose(expected, complete, atol=1e-3)


@pytest.mark.parametrize("make", [llama, lambda: GPT(23, 24, 40, num_layers=3, num_heads=6)])
def test_a_model_without_heads_writes_on_without_what_they_have_written(make):
    model, ids = make(), torch.arange(12).repeat(2, 1) % 11
    heads, D = [(2, 5), (0, 1), (2, 0)], 4

    def silent(layer):
        cut = [head for i, head in heads if i == layer]

        def hook(_, inputs):
            columns = inputs[0].clone().unflatten(-1, (6, D))
            columns[..., cut, :] = 0
            return columns.flatten(-2)

        return hook

    hooks = [
        block.attention.out_proj.register_forward_pre_hook(silent(i))
        for i, block in enumerate(model.blocks)
    ]
    expected = model(ids)
    for hook in hooks:
        hook.remove()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with cut_heads(model, heads):
        torch.testing.assert_close(model(ids), expected)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_heads_come_back_after_an_error_and_from_one_cut_inside_another():
    model = llama()
    before = model.blocks[1].attention.out_proj.weight.clone()

    def weight():
        return model.blocks[1].attention.out_proj.weight

    with contextlib.suppress(InterruptedError), cut_heads(model, [(1, 2), (1, 3)]):
        assert not weight()[:, 8:16].any()
        with cut_heads(model, [(1, 3), (1, 4)]):
            assert not weight()[:, 8:20].any()
        assert not weight()[:, 8:16].any()
        assert torch.equal(weight()[:, 16:], before[:, 16:])
        raise InterruptedError
    assert torch.equal(weight(), before)


def test_a_gradient_through_a_cut_that_has_ended_is_refused():
    """It would be that of other weights."""
    module, x = MultiHeadAttention(5, 12, 9, 0.0, num_heads=4), torch.randn(7, 5)
    with cut_heads(module, [0]):
        inside = module(x).sum()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        inside.backward()
    with cut_heads(module, [0]):
        module(x).sum().backward()
    assert not module.W_value.weight.grad[:3].any()
    assert module.W_value.weight.grad[3:].all()


@pytest.mark.parametrize(
    ("model", "heads", "error", "said"),
    [
        (llama, [(3, 0)], ValueError, "layer must be from 0 to 2 in the model, got 3"),
        (llama, [(1, 6)], ValueError, "head must be from 0 to 5 in layer 1, got 6"),
        (llama, [(0, 1), 2], TypeError, r"must be \(layer, head\), got 2"),
        (llama, [(0, 1.0)], TypeError, "float"),
        (lambda: llama().blocks[0].attention, [(0, 1)], TypeError, "its number, got"),
        (lambda: llama().blocks[0].attention, [6], ValueError, "from 0 to 5 in the module, got 6"),
        (lambda: MultiHeadAttentionWrapper(3, 2, 6, 0.0, 2), [0], TypeError, "Wrapper"),
        (lambda: nn.Linear(3, 3), [0], TypeError, "out_proj"),
    ],
)
def test_heads_that_are_not_there_are_refused_and_nothing_is_taken_out(model, heads, error, said):
    model = model()
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(error, match=said), cut_heads(model, heads):
        pass
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_the_columns_are_a_view_and_the_cell_of_16_finds_the_same():
    cells = [cell.source for cell in code_cells(read(NOTEBOOKS / "16_heads_of_a_real_model.ipynb"))]
    scope = {}
    exec(next(source for source in cells if source.startswith("def head_columns")), scope)
    model = llama()
    for head in ((0, 0), (2, 5), (1, 3)):
        columns = head_columns(model, head)
        assert columns.shape == (24, 4)
        assert columns.data_ptr() == scope["head_columns"](model, head).data_ptr()
    attention = GroupedQueryAttention(24, 6, 2, context_length=9)
    assert torch.equal(head_columns(attention, 5), attention.out_proj.weight[:, 20:])
