"""Encoder and decoder, for words of several lengths."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import encoder_decoder_diagram
from tests.diagrams import check_drawing

STATES = np.random.default_rng(0).normal(size=(4, 11))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_one_state_is_legible(length):
    word = "cat"[:length]
    check_drawing(encoder_decoder_diagram(STATES[:length], word, word[::-1], last=STATES[3]))


@pytest.mark.parametrize(("length", "written"), [(1, "A"), (3, "TAC"), (4, "DR")])
def test_a_look_back_is_legible_and_says_every_weight(length, written):
    weights = np.random.default_rng(1).random((len(written), length))
    weights[0, 0] = 0
    diagram = encoder_decoder_diagram(STATES[:length], "bird"[:length], written, weights=weights)
    check_drawing(diagram)
    assert f"{weights[-1, 0]:.4f} -> write {len(written)}" in str(diagram)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "either last or weights must be given"),
        ({"last": STATES[0], "weights": np.ones((2, 4))}, "either last or weights must be given"),
        ({"last": STATES[0, :3]}, r"last must have shape \(11,\)"),
        ({"weights": np.ones((4, 2))}, r"weights must have shape \(2, 4\)"),
        ({"last": STATES[0], "states": STATES[0]}, r"states must have shape \(T, d\)"),
        ({"last": STATES[0], "read": "ab"}, "read must hold 4 labels"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        encoder_decoder_diagram(**{"states": STATES, "read": "bird", "written": "AB"} | change)
