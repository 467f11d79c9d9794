"""The explorer of one hidden state measures what it says."""

import pytest
import torch

from chapter3_helpers.explorers.panels import Note
from chapter3_helpers.explorers.recurrent import (
    BACKWARDS,
    BOTH,
    CONTROLS,
    FORWARDS,
    recurrent_panels,
    recurrent_state,
)
from chapter3_helpers.recurrent import EncoderDecoder
from chapter3_helpers.training.toy_language import tokenize
from tests.explorers import find

DEFAULTS = {control.name: control.default for control in CONTROLS}


def note(settings):
    return find(Note, recurrent_panels(settings)).text


def test_one_letter_changed_by_hand():
    """ "internationa" with its letter 5, n?, changed: the states move as the matrix says."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(123)
        model = EncoderDecoder(64).requires_grad_(False)
    before, last_before = model.encode(tokenize("internationa"))
    after, last_after = model.encode(tokenize("interoationa"))  # letter 5: n to o
    state = recurrent_state(DEFAULTS)
    moved = (after - before)[0, :, :32].norm(dim=-1)
    torch.testing.assert_close(state["moved"][5], moved, rtol=1e-4, atol=1e-6)
    share = (last_after - last_before)[0, :32].norm() / moved[5]
    torch.testing.assert_close(state["share"][5], share, rtol=1e-4, atol=1e-6)


def test_forwards_loses_the_first_letters_backwards_the_last_and_both_the_middle():
    shares = {
        direction: recurrent_state({**DEFAULTS, "direction": direction})["share"]
        for direction in (FORWARDS, BACKWARDS, BOTH)
    }
    assert shares[FORWARDS][-1] == 1.0  # the last letter's own state is the last state
    assert shares[BACKWARDS][0] == 1.0
    assert shares[FORWARDS].argmin() <= 1
    assert shares[BACKWARDS].argmin() >= 10
    assert 2 <= shares[BOTH].argmin() <= 9


def test_no_state_knows_what_has_not_been_read():
    moved = recurrent_state(DEFAULTS)["moved"]
    assert (moved.tril(diagonal=-1) == 0).all()
    assert (recurrent_state({**DEFAULTS, "direction": BACKWARDS})["moved"].triu(1) == 0).all()


def test_reading_on_wears_the_first_letter_away():
    first = [recurrent_state({**DEFAULTS, "read": read})["share"][0] for read in (1, 3, 6, 12, 20)]
    assert first == sorted(first, reverse=True)
    assert first[0] == 1.0


def test_keeping_holds_every_letter_and_hardly_writes_one():
    state, kept = recurrent_state(DEFAULTS), recurrent_state({**DEFAULTS, "keep": 6.0})
    assert kept["share"].min() > 0.5 > state["share"].min()
    assert kept["moved"].diagonal().mean() < 0.05 * state["moved"].diagonal().mean()


def test_the_note_names_the_letter_of_which_least_is_left():
    state = recurrent_state(DEFAULTS)
    least = int(state["share"].argmin())
    assert f"letter {least}, “{'internationa'[least]}”" in note(DEFAULTS)
    assert f"{state['share'][least].item():.2%}" in note(DEFAULTS)
    assert note({**DEFAULTS, "word": "z", "read": 1}).startswith("One letter")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("", "has 0 letters; type 1 to 24"),
        ("two words", "letters a to z, not “ ”"),
        ("naïve", "not “ï”"),
        ("a" * 25, "has 25 letters"),
    ],
)
def test_other_words_are_a_sentence(word, message):
    with pytest.raises(ValueError, match=message):
        recurrent_state({**DEFAULTS, "word": word})
