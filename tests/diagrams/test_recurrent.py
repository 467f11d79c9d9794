"""Encoder and decoder, and one look back."""

from itertools import pairwise

import numpy as np
import pytest

from chapter3_helpers.diagrams import encoder_decoder_diagram, look_back_diagram
from tests.diagrams import numbers

STATES = numbers(4, 11)


@pytest.mark.parametrize("length", [1, 4])
def test_the_last_state_goes_to_every_step_of_the_decoder(length):
    words, states = ("bird"[:length], "DRIB"[:length]), STATES[:length]
    diagram = encoder_decoder_diagram(states, *words, last=STATES[3], decoded=states)
    steps = [f"decoder {i + 1}" for i in range(length)]
    assert [arrow.target for arrow in diagram.arrows if arrow.source == "last"] == steps
    chained = {(arrow.source, arrow.target) for arrow in diagram.arrows if arrow.source in steps}
    letters = {(f"decoder {i + 1}", f"write {i + 1}") for i in range(length)}
    assert chained == {*pairwise(steps), *letters}
    assert diagram["last"].at == ((length - 1) // 2, 2), "in the middle, between the two"
    ends = [arrow.sources for arrow in diagram.arrows if arrow.target == "last"]
    assert ends == [("state 1", f"state {length}") if length > 1 else ("state 1",)]


@pytest.mark.parametrize("d", [2, 11])
def test_the_rows_of_one_look_back_add_up_to_its_context(d):
    weights = np.array([0.125, 0.5, 0.25, 0.125])
    states = STATES[:, :d]
    arrays = (states[0], np.log(weights), weights, weights @ states)
    diagram = look_back_diagram(states, *arrays, read="bird")
    rows, context = diagram["weight · state"].values, diagram["context"].values
    np.testing.assert_allclose(rows.sum(axis=0), context.ravel())
