"""A model is trained once, and never mistaken for another."""

import pytest
import torch
from torch import nn

from chapter3_helpers.tasks.loop import minimise
from chapter3_helpers.tasks.trained import trained

CALLS = []


def train(model, **options):
    CALLS.append(model)
    return minimise(model, lambda _: model.weight.square().sum(), 7, 0.1, "squares", **options)


class Layer(nn.Linear):
    pass


def another_layer():
    """A class as it is written anew in a notebook's cell, under the same name."""

    class Layer(nn.Linear):
        pass

    return Layer


@pytest.fixture(autouse=True)
def _forget():
    CALLS.clear()
    trained.cache_clear()


def test_the_same_model_is_trained_once_and_any_other_anew():
    first = trained(Layer, train, 3, 2)
    assert trained(Layer, train, 3, 2) is first
    assert len(CALLS) == 1
    others = [
        trained(Layer, train, 2, 3),
        trained(Layer, train, 3, 2, seed=1),
        trained(Layer, train, 3, 2, every=2),
        trained(another_layer(), train, 3, 2),
        trained(another_layer(), train, 3, 2),
    ]
    assert len(CALLS) == 6
    assert len({id(learned.model) for learned in [first, *others]}) == 6


def test_states_are_those_before_their_batch_and_the_last_one_is_the_model():
    states, losses = learned = trained(Layer, train, 3, 2, every=3)
    assert list(states) == [0, 3, 6, 7]
    assert len(losses) == 7
    assert learned.model is states[7]
    for done, state in states.items():
        loss = state.weight.square().sum().item()
        assert loss == pytest.approx(losses[done]) if done < 7 else loss < losses[6]
        assert not any(parameter.requires_grad for parameter in state.parameters())


def test_the_seed_is_that_of_the_first_numbers_and_disturbs_no_other():
    torch.manual_seed(123)
    expected = Layer(3, 2).weight
    torch.manual_seed(1)
    following = torch.rand(3)
    torch.manual_seed(1)
    states, _ = trained(Layer, train, 3, 2, every=7, seed=123)
    assert states[0].weight.equal(expected)
    assert torch.rand(3).equal(following)


def test_a_bar_is_shown_where_only_the_end_is_kept(capsys):
    trained(Layer, train, 3, 2, every=7)
    assert capsys.readouterr().out == ""
    trained(Layer, train, 3, 2)
    assert "squares: 100%" in capsys.readouterr().out
