"""What the big explorer draws is what the package computes."""

import re

import numpy as np
import pytest
import torch

from chapter3_helpers.dot_products import simple_self_attention
from chapter3_helpers.explorers import attention_explorer
from chapter3_helpers.explorers.attention.explorer import COMPUTATION, NUMBER
from chapter3_helpers.explorers.attention.flow import MOST_HEADS
from chapter3_helpers.explorers.attention.mechanisms import (
    AT_RANDOM,
    BY_HAND,
    CAUSAL,
    CLASSES,
    FUSED,
    SIMPLE,
    SPLIT,
    V1,
    V2,
    WRAPPER,
)
from chapter3_helpers.explorers.core.drawings import Flow
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Matrix
from chapter3_helpers.sentence import TOKENS, example_inputs
from tests.explorers import Shown, panel_of, state_of

TEXT = "one two three four five"


def drawn(**settings):
    """The diagram of an explorer, by the names of its blocks, and the state behind it."""
    start = {"text": TEXT, "causal": False, "made": AT_RANDOM, "scale": 1, "show": COMPUTATION}
    subject = attention_explorer(**{**start, **settings})
    flow = panel_of(subject, Flow)
    return flow.diagram, state_of(subject)


def close(block, tensor):
    np.testing.assert_allclose(block.values, tensor.detach(), rtol=1e-5, atol=1e-6)


def test_the_running_example_has_the_embeddings_of_the_notebooks():
    state = Shown("attention", text=" ".join(TOKENS), made=AT_RANDOM, scale=1).state
    assert state.tokens == TOKENS
    torch.testing.assert_close(state.x, example_inputs())


@pytest.mark.parametrize("mechanism", [V1, V2, CAUSAL])
def test_one_head_is_drawn_from_x_to_what_the_module_returns(mechanism):
    diagram, state = drawn(mechanism=mechanism, d_out=7, seed=11, row=4)
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
    assert diagram["weights"].marked_row == 4
    assert ("masked" in [block.name for block in diagram.blocks]) == (mechanism == CAUSAL)


@pytest.mark.parametrize("seed", [0, 1, 4, 5])  # nearly all weight is on the first token
def test_a_future_with_hardly_any_weight_is_not_taken_for_a_hidden_one(seed):
    _, state = drawn(mechanism=V1, text="Ann saw cats and Bob saw dogs", seed=seed, scale=12)
    assert state.undropped.triu(1).max() < 1e-3
    assert (state.scaled, state.hidden) == (True, None)


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


@pytest.mark.parametrize(
    ("mechanism", "made", "numbers"),
    [
        (CAUSAL, AT_RANDOM, [1]),
        (SPLIT, BY_HAND, [1, 2, 3, 4]),
        (WRAPPER, AT_RANDOM, [*range(1, MOST_HEADS + 1)]),
        (SPLIT, AT_RANDOM, [1, 2, 3, 6]),
    ],
)
def test_there_can_be_one_head_and_as_many_as_the_mechanism_allows(mechanism, made, numbers):
    settings = {"mechanism": mechanism, "made": made, "d_out": 6}
    (control,) = (c for c in attention_explorer().controls if c.name == "num_heads")
    assert [value for _, value in control.choices(settings)] == numbers


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


@pytest.mark.parametrize("mechanism", [V1, V2, CAUSAL, WRAPPER, SPLIT, FUSED])
def test_heads_that_are_made_by_hand_do_what_they_are_called(mechanism):
    heads = {"num_heads": 4} if mechanism in (WRAPPER, SPLIT, FUSED) else {}
    subject = attention_explorer(mechanism=mechanism, made=BY_HAND, **heads)
    weights = state_of(subject).weights  # of "Ann saw cats and Bob saw dogs"
    pairs = {(4, 0): 0.48, (5, 1): 0.46, (6, 2): 0.46, (6, 6): 0.46}
    for (query, key), expected in pairs.items():
        assert weights[0, query, key].item() == pytest.approx(expected, abs=0.01)
    if heads:
        assert (weights[1].diagonal(-1) > 0.85).all()
        assert (weights[2, :, 0] > 0.85).all()
        torch.testing.assert_close(weights[3, 6], torch.full((7,), 1 / 7))


@pytest.mark.parametrize("made", [BY_HAND, AT_RANDOM])
@pytest.mark.parametrize("mechanism", [SIMPLE, *CLASSES])
def test_the_path_of_one_number_ends_at_the_weight_and_its_part_of_the_context(mechanism, made):
    dropout = {} if mechanism in (SIMPLE, V1, V2) else {"dropout": 0.5}
    settings = {"mechanism": mechanism, "made": made, "show": NUMBER, "row": 5, **dropout}
    subject = attention_explorer(**settings)
    state = state_of(subject)
    head = len(state.weights) - 1
    chosen = {"head": head} if head else {}
    total = 0
    for column in range(7):
        subject = attention_explorer(**settings, **chosen, column=column)
        path = panel_of(subject, NumberPath)
        found = path.numbers
        weights = float(state.undropped[head, 5, column]), float(state.weights[head, 5, column])
        assert (found["weight"], found["dropped"]) == pytest.approx(weights, abs=1e-5)
        total = total + found["part"]
        gone = column > 5
        assert (found["masked"] == -np.inf) == gone
        assert ("hidden from this query" in path.html()) == gone
        assert ("dropped this time" in path.html()) == (weights[0] > 0 == weights[1])
    np.testing.assert_allclose(total, state.mixed[head, 5], rtol=1e-4, atol=1e-5)


def test_a_dropped_weight_carries_one_cross_in_every_explorer():
    shown, causal = Shown("dropout"), attention_explorer(mechanism=CAUSAL, dropout=0.5)
    first = shown.all(Matrix)[0].html()
    state = state_of(causal)
    for drawn, dropped, weights in (
        (first, shown.state.dropped, shown.state.weights),
        (causal.view.value, state.weights, state.undropped),
    ):
        crosses = re.findall(r'aria-label="dropped"[^>]*>(.)<', drawn)
        assert crosses == ["×"] * ((dropped == 0) & (weights > 0)).sum().item() != []
