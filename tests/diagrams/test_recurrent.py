"""Encoder and decoder."""

from itertools import pairwise

import pytest

from chapter3_helpers.diagrams import encoder_decoder_diagram
from tests.diagrams import numbers

STATES = numbers(4, 11)


@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize("decoded", [False, True])
def test_the_last_state_goes_to_every_step_of_the_decoder(length, decoded):
    more = {"decoded": STATES[:length]} if decoded else {}
    words = "bird"[:length], "DRIB"[:length]
    diagram = encoder_decoder_diagram(STATES[:length], *words, last=STATES[3], **more)
    steps = [f"{'decoder' if decoded else 'write'} {i + 1}" for i in range(length)]
    assert [arrow.target for arrow in diagram.arrows if arrow.source == "last"] == steps
    chained = {(arrow.source, arrow.target) for arrow in diagram.arrows if arrow.source in steps}
    letters = {(f"decoder {i + 1}", f"write {i + 1}") for i in range(length)}
    assert chained == ({*pairwise(steps), *letters} if decoded else set())
    assert diagram["last"].at == ((length - 1) // 2, 2), "in the middle, between the two"
    ends = [arrow.sources for arrow in diagram.arrows if arrow.target == "last"]
    assert ends == [("state 1", f"state {length}") if length > 1 else ("state 1",)]


@pytest.mark.parametrize(("step", "more"), [("write", {}), ("decoder", {"decoded": STATES[:2]})])
def test_a_look_back_says_every_weight(step, more):
    weights = [[0.0, 0.25, 0.5, 0.25], [0.125, 0.5, 0.25, 0.125]]
    diagram = encoder_decoder_diagram(STATES, "bird", "DR", weights=weights, **more)
    for i, row in enumerate(weights):
        for j, weight in enumerate(row):
            said = f"state {j + 1} (first 8 of 11) -> {weight:.4f} -> {step} {i + 1}"
            assert said in str(diagram)
