"""Encoder and decoder, for words of several lengths."""

from itertools import pairwise

import numpy as np
import pytest

from chapter3_helpers.diagrams import encoder_decoder_diagram
from tests.diagrams import check_drawing

STATES = np.random.default_rng(0).normal(size=(4, 11))


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("decoded", [False, True])
def test_the_last_state_goes_to_every_step_of_the_decoder(length, decoded):
    more = {"decoded": STATES[:length]} if decoded else {}
    diagram = encoder_decoder_diagram(
        STATES[:length], "bird"[:length], "DRIB"[:length], last=STATES[3], **more
    )
    check_drawing(diagram)
    steps = [f"{'decoder' if decoded else 'write'} {i + 1}" for i in range(length)]
    assert [arrow.target for arrow in diagram.arrows if arrow.source == "last"] == steps
    chained = {(a.source, a.target) for a in diagram.arrows if a.source in steps}
    letters = {(f"decoder {i + 1}", f"write {i + 1}") for i in range(length)}
    assert chained == ({*pairwise(steps), *letters} if decoded else set())
    ends = [arrow.sources for arrow in diagram.arrows if arrow.target == "last"]
    assert ends == [("state 1", f"state {length}") if length > 1 else ("state 1",)]


@pytest.mark.parametrize(("length", "written"), [(1, "A"), (3, "TAC"), (4, "DR")])
def test_a_look_back_is_legible_and_says_every_weight(length, written):
    weights = np.random.default_rng(1).random((len(written), length))
    weights[0, 0] = 0
    word = "bird"[:length]
    for step, more in (("write", {}), ("decoder", {"decoded": STATES[: len(written)]})):
        diagram = encoder_decoder_diagram(STATES[:length], word, written, weights=weights, **more)
        check_drawing(diagram)
        assert f"{weights[-1, 0]:.4f} -> {step} {len(written)}" in str(diagram)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "either last or weights must be given"),
        ({"last": STATES[0], "weights": np.ones((2, 4))}, "either last or weights must be given"),
        ({"last": STATES[0, :3]}, r"last must have shape \(11,\)"),
        ({"last": STATES[0], "decoded": STATES[:3]}, r"decoded must have shape \(2, 11\)"),
        ({"weights": np.ones((4, 2))}, r"weights must have shape \(2, 4\)"),
        ({"last": STATES[0], "states": STATES[0]}, r"states must have shape \(T, d\)"),
        ({"last": STATES[0], "read": "ab"}, "read must hold 4 labels"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        encoder_decoder_diagram(**{"states": STATES, "read": "bird", "written": "AB"} | change)
