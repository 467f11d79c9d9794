"""The explorer of two translators measures what it says."""

import torch

from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.panels import Matrix
from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder
from chapter3_helpers.training.translators import accuracy_by_length, trained_translator
from tests.explorers import Shown


def test_both_are_trained_once_and_are_those_of_the_notebook():
    one_state, looking_back = (
        trained_translator(k).model for k in (EncoderDecoder, BahdanauDecoder)
    )
    assert trained_translator(EncoderDecoder).model is one_state
    short, long = accuracy_by_length(one_state, [4, 10]).tolist()
    assert short > 0.9
    assert 0.35 < long < 0.6
    assert accuracy_by_length(looking_back, [4, 10]).min() > 0.9


def test_the_panels_hold_what_was_written_and_which_of_it_is_right():
    shown = Shown("recurrent", word="unpredictably", read=13)
    table, right = shown.only(Matrix), "YLBATCIDERPNU"
    assert table.texts == [right, shown.state["plain"], shown.state["better"]]
    counts = [sum(a == b for a, b in zip(text, right, strict=True)) for text in table.texts]
    assert table.values.sum(dim=1).tolist() == counts
    assert f"one state {counts[1]} of 13, looking back {counts[2]} of 13" in shown.note
    assert counts[1] < counts[2] < 13
    lines = shown.only(Lines)
    assert (lines.queries[0][-1], lines.keys[0][-1]) == (shown.state["better"][0], "u")
    assert torch.allclose(lines.values.sum(dim=1), torch.ones(13))
