"""Turned pairs and clocks."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import clocks_diagram, rotary_diagram


def at(*angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_the_angle_from_key_to_query_is_that_of_the_turns():
    queries, keys = at(1.5, 3.5), at(1.0, 3.0)
    diagram = rotary_diagram(queries, keys, (queries * keys).sum(-1), ["2 and 0", "5 and 3"])
    assert [diagram[name].turned() for name in ("2 and 0", "5 and 3")] == pytest.approx([0.5, 0.5])


def test_hands_stand_at_their_angles_and_digits_count():
    diagram = clocks_diagram(np.outer(np.arange(8), [1.0, 0.5]), [2, 5])
    np.testing.assert_allclose(diagram["pair 1 at 5"].vectors, at(2.5))
    assert diagram["counter at 2"].values.tolist() == [[1, 0]]
    assert diagram["counter at 5"].values.tolist() == [[0, 1]]  # the last two digits of 101
    assert diagram["counter at 2"].numbers
    assert diagram["pair 1 at 5"].circle
    captions = {thing.name: thing.caption for thing in diagram.blocks if thing.caption}
    assert captions == {
        "counter at 2": "binary counter",
        "pair 0 at 2": "pair 0",
        "pair 1 at 2": "pair 1",
    }
