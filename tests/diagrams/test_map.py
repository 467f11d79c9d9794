"""The map grows from notebook to notebook, and is legible in each."""

from itertools import product

import numpy as np
import pytest

from chapter3_helpers.diagrams import attention_map
from chapter3_helpers.diagrams.map import BUILT_IN, LAST, STEPS, example_numbers


@pytest.mark.parametrize("notebook", range(LAST + 1))
def test_the_map_lights_something_and_draws_it_large(notebook):
    diagram = attention_map(notebook)
    assert "Framed: " in diagram.description
    large = {block.name for block in diagram.blocks if block.zoom > 1}
    assert large == {block.name for block in diagram.blocks if block.state == "lit"}


@pytest.mark.parametrize("known", [*product([False, True], repeat=3)])
def test_its_numbers_are_attention_as_far_as_it_is_known(known):
    numbers = example_numbers(*known)
    projected, masked, dropped = known
    width = 2 if projected else 3
    if not projected:
        assert numbers["queries"] is numbers["keys"] is numbers["values"] is numbers["x"]
    assert numbers["context"].shape == (3, width)
    np.testing.assert_allclose(numbers["scores"], numbers["queries"] @ numbers["keys"].T)
    divisor = 2**0.5 if projected else 1
    np.testing.assert_allclose(numbers["scaled"] * divisor, numbers["scores"])
    weights = numbers["weights"]
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert (weights[numbers["hidden"]] == 0).all() == masked
    later = np.log(weights[2, 1] / weights[2, 0])
    assert later == pytest.approx(numbers["scaled"][2, 1] - numbers["scaled"][2, 0])
    assert (numbers["dropped"] == weights).all() != dropped
    np.testing.assert_allclose(numbers["context"], numbers["dropped"] @ numbers["values"])


def test_a_way_from_what_is_known_is_not_grey():
    diagram = attention_map(3)
    (mixing,) = (arrow for arrow in diagram.arrows if arrow.target == "mix")
    assert diagram.state_of(mixing, "values") == "known"
    assert diagram.state_of(mixing, "dropout") == "grey"


def test_before_tokens_are_projected_the_map_shows_what_the_first_two_notebooks_build():
    for notebook in (0, 1, 2):
        diagram = attention_map(notebook)
        assert {BUILT_IN[block.name] for block in diagram.blocks} == {1, 2}
        assert not diagram.brackets
    assert {block.name for block in attention_map(3).blocks} == {*STEPS} - {"logits"}
    assert {block.name for block in attention_map(9).blocks} == {*STEPS}


@pytest.mark.parametrize("notebook", [-1, LAST + 1])
def test_there_is_a_map_for_every_notebook_and_no_other(notebook):
    with pytest.raises(ValueError, match=f"notebook must be from 0 to {LAST}, got {notebook}"):
        attention_map(notebook)
