"""The explorer of the handmade transformer shows what the changed model does."""

import numpy as np
import pytest

from chapter3_helpers.explorers.core.panels import Matrix
from chapter3_helpers.explorers.handmade_transformer import (
    VALUES,
    handmade_transformer_explorer,
)
from chapter3_helpers.handmade_transformer import MODEL, accuracy, complete, forward
from tests.explorers import Shown


def test_the_defaults_are_the_change_of_the_notebook():
    shown = Shown("handmade_transformer")
    state, model = shown.state, MODEL.with_weight("W_query", (4, 3), 0.0)
    assert state.right == accuracy("aab" * 10, model) == (19, 27)
    assert state.completion == complete("aabaa", 10, model) == "bababababa"
    assert state.completion_before == complete("aabaa", 10) == "baabaabaab"
    assert np.array_equal(state.results["weights"], forward([0, 0, 1, 0, 0], model)["weights"])
    (hidden,) = [matrix.hidden for matrix in shown.all(Matrix) if matrix.hidden is not None]
    assert hidden[0].tolist() == [False] + 4 * [True]


@pytest.mark.parametrize("name", MODEL.weights())
def test_every_weight_can_be_reached_and_nothing_else(name):
    explorer = handmade_transformer_explorer(name=name)
    array = np.atleast_2d(MODEL.weights()[name])
    rows, columns = explorer.widgets["row"], explorer.widgets["column"]
    assert (len(rows.options), len(columns.options)) == array.shape
    assert (explorer.places["row"].layout.display == "none") == (name == "c_proj_bias")
    rows.index, columns.index = len(rows.options) - 1, 7
    state = explorer.state({**explorer.settings, "value": 0.5})
    changed = state.model.weights()[name] != MODEL.weights()[name]
    assert np.argwhere(np.atleast_2d(changed)).tolist() == [[len(array) - 1, 7]]


def test_the_values_on_offer_rise_to_either_side_of_zero_and_hold_those_of_the_model():
    assert list(VALUES) == sorted({-value for value in VALUES})
    assert all({*weights.ravel()} <= {*VALUES} for weights in MODEL.weights().values())
