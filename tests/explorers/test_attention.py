"""What the big explorer draws is what the package computes."""

import re

import numpy as np
import pytest
import torch

from chapter3_helpers.dot_products import simple_self_attention
from chapter3_helpers.explorers import attention_explorer
from chapter3_helpers.explorers.attention import attention_panels, attention_state
from chapter3_helpers.explorers.drawings import Flow
from chapter3_helpers.explorers.mechanisms import (
    CAUSAL,
    CLASSES,
    FUSED,
    SIMPLE,
    SPLIT,
    V1,
    V2,
    WRAPPER,
)

TEXT = "one two three four five"


def drawn(**settings):
    """The diagram of an explorer, by the names of its blocks, and the state behind it."""
    subject = attention_explorer(**{"text": TEXT, "causal": False, **settings})
    (flow,) = (panel for panel in attention_panels(subject.settings) if isinstance(panel, Flow))
    return flow.diagram, attention_state(subject.settings)


def close(block, tensor):
    np.testing.assert_allclose(block.values, tensor.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mechanism", [V1, V2, CAUSAL])
def test_one_head_is_drawn_from_x_to_what_the_module_returns(mechanism):
    diagram, state = drawn(mechanism=mechanism, d_out=7, seed=11)
    module, x = state.module, state.x
    project = [module.W_query, module.W_key, module.W_value]
    queries, keys, values = (x @ W if mechanism == V1 else W(x) for W in project)
    close(diagram["queries"], queries)
    close(diagram["keys"], keys)
    close(diagram["values"], values)
    close(diagram["scores"], queries @ keys.T)
    close(diagram["scaled"], queries @ keys.T / 7**0.5)
    close(diagram["weights"], module.attention_weights(x))
    close(diagram["context"], module(x))
    assert ("masked" in [block.name for block in diagram.blocks]) == (mechanism == CAUSAL)


def test_without_projections_x_is_all_three():
    diagram, state = drawn(mechanism=SIMPLE)
    context, weights = simple_self_attention(state.x)
    close(diagram["weights"], weights)
    close(diagram["context"], context)
    assert [block.name for block in diagram.blocks] == ["x", "scores", "weights", "context"]


@pytest.mark.parametrize("mechanism", [WRAPPER, SPLIT, FUSED])
def test_several_heads_are_drawn_to_what_the_module_returns(mechanism):
    diagram, state = drawn(mechanism=mechanism, d_out=6, num_heads=3, seed=11, head=1)
    module, x = state.module, state.x
    close(diagram["concat" if mechanism == WRAPPER else "output"], module(x))
    for head, weights in enumerate(module.attention_weights(x).detach()):
        close(diagram[f"weights {head}"], weights)
        values = torch.tensor(diagram[f"values {head}"].values).float()
        close(diagram[f"context {head}"], weights @ values)
    if mechanism == WRAPPER:
        close(diagram["keys.T 2"], module.heads[2].W_key(x).T)
    assert [bracket.state for bracket in diagram.brackets] == ["known", "lit", "known"]


@pytest.mark.parametrize("mechanism", [CAUSAL, SPLIT])
def test_dropout_is_a_step_of_its_own_and_what_it_leaves_is_mixed(mechanism):
    heads = {"num_heads": 2} if mechanism == SPLIT else {}
    diagram, state = drawn(mechanism=mechanism, d_out=4, dropout=0.5, **heads)
    last = " 1" if heads else ""
    dropped = diagram[f"dropped{last}"].values
    undropped = state.module.attention_weights(state.x).reshape(-1, 5, 5)[-1].detach().numpy()
    assert (dropped == 0).any()
    np.testing.assert_allclose(dropped[dropped > 0], 2 * undropped[dropped > 0], rtol=1e-5)
    mixed = dropped @ diagram[f"values{last}"].values
    np.testing.assert_allclose(diagram[f"context{last}"].values, mixed, rtol=1e-4, atol=1e-6)


def test_every_block_follows_the_seed_and_the_picked_query_is_marked():
    before, _ = drawn(mechanism=V2, d_out=3, seed=1, row=4)
    after, _ = drawn(mechanism=V2, d_out=3, seed=2, row=2)
    for name in ("queries", "keys", "values", "scores", "weights", "context"):
        assert not np.allclose(before[name].values, after[name].values)
    assert (before["weights"].picked, after["weights"].picked) == (4, 2)


def test_what_is_drawn_can_be_read_aloud_and_pointed_at():
    subject = attention_explorer(mechanism=SPLIT, d_out=8, num_heads=4)
    shown = subject.view.value
    assert 'aria-label="weights 3 (6, 6)"' in shown
    assert "x (6, 3) -&gt; head 0" in shown
    weights = attention_state(subject.settings).weights
    notes = re.findall(r"<title>(\d\.\d{4})</title>", shown)
    assert f"{weights[3, 5, 4]:.4f}" in notes


@pytest.mark.parametrize("mechanism", CLASSES)
def test_drawing_changes_no_random_numbers_of_the_reader(mechanism):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    drawn(mechanism=mechanism)
    assert torch.equal(torch.rand(3), expected)
