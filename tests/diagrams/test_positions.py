"""Turned pairs and clocks, in several sizes."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import clocks_diagram, rotary_diagram, turned_diagram
from tests.diagrams import check_drawing


def at(*angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_pairs_are_legible():
    check_drawing(turned_diagram(at(0, 1, 2, 3), ["pos 0", "pos 1", "pos 2", "pos 3"]))


def test_the_angle_from_key_to_query_is_that_of_the_turns():
    queries, keys = at(1.5, 3.5), at(1.0, 3.0)
    diagram = rotary_diagram(queries, keys, (queries * keys).sum(-1), ["2 and 0", "5 and 3"])
    check_drawing(diagram)
    assert [diagram[name].turned() for name in ("2 and 0", "5 and 3")] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("pairs", [1, 2, 4])
def test_clocks_are_legible(pairs):
    check_drawing(clocks_diagram(np.outer(np.arange(8), 0.5 ** np.arange(pairs)), [0, 7]))


def test_hands_stand_at_their_angles_and_digits_count():
    diagram = clocks_diagram(np.outer(np.arange(8), [1.0, 0.5]), [2, 5])
    np.testing.assert_allclose(diagram["pair 1 at 5"].vectors, at(2.5))
    assert diagram["counter at 2"].values.tolist() == [[1, 0]]  # of five, two digits are 01
    assert diagram["counter at 2"].numbers
    assert diagram["pair 1 at 5"].circle
    captions = {thing.name: thing.caption for thing in diagram.blocks if thing.caption}
    assert captions == {
        "counter at 2": "binary counter",
        "pair 0 at 2": "pair 0",
        "pair 1 at 2": "pair 1",
    }


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: clocks_diagram(np.ones(3), [0]), r"angles must have shape \(T, pairs\)"),
        (lambda: clocks_diagram(np.ones((3, 2)), [3]), "positions must be from 0 to 2, got 3"),
        (lambda: rotary_diagram(at(1), at(1, 2), [1.0], ["a"]), "queries and keys must have shape"),
        (lambda: rotary_diagram(at(1), at(1), [1.0], ["a", "b"]), "titles must hold 1 labels"),
    ],
)
def test_what_does_not_fit_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
