"""The explorer of the trained model shows what it reads, what it expects, and what it wrote."""

import pytest
import torch

from chapter3_helpers.explorers.core.panels import Bars, Facts, Matrix
from chapter3_helpers.explorers.transformer_block import (
    CONTROLS,
    LIKELIEST,
    transformer_block_panels,
    transformer_block_state,
)
from chapter3_helpers.training.docstring_model import trained_model
from chapter3_helpers.training.next_word import docstring_text, mean_loss
from tests.explorers import find

DEFAULTS = {control.name: control.default for control in CONTROLS}


def state(**settings):
    return transformer_block_state({**DEFAULTS, **settings})


def test_the_model_is_trained_once_and_is_better_than_pairs_of_words():
    model, text = trained_model().model, docstring_text()
    assert trained_model().model is model
    assert mean_loss(model, text.held_out) < 3.45  # counts of pairs give 3.61


def test_the_chances_are_those_of_the_words_that_have_a_number():
    model, text = trained_model().model, docstring_text()
    shown = state(text="return the", temperature=0.5)
    logits = model(text.read("return the"))[-1]
    expected = torch.softmax(2 * logits, dim=0)[1:]  # divided by 0.5
    torch.testing.assert_close(shown["chances"], expected / expected.sum())
    assert shown["chances"].sum().item() == pytest.approx(1, abs=1e-5)


def test_temperature_makes_the_likeliest_likelier_or_not():
    largest = [state(temperature=t)["chances"].max().item() for t in (0.1, 0.5, 1.0, 5.0)]
    assert largest == sorted(largest, reverse=True)
    assert largest[-1] < 0.02 < 0.2 < largest[0]


def test_what_was_appended_stays_when_more_is():
    words = [state(written=written)["appended"] for written in range(6)]
    assert [len(some) for some in words] == list(range(6))
    assert all(words[i] == words[5][:i] for i in range(6))
    assert "<rare>" not in words[5]
    assert words[5] != state(written=5, seed=7)["appended"]


def test_each_word_is_drawn_from_the_chances_shown_before_it():
    cold = {"temperature": 0.1, "text": "this is"}
    for written in range(4):
        before = state(**cold, written=written)
        after = state(**cold, written=written + 1)
        drawn = docstring_text().vocabulary.index(after["appended"][-1]) - 1
        assert before["chances"][drawn] > 0.01


def test_a_long_text_is_read_from_behind():
    shown = state(text="the " * 20, written=20)
    assert len(shown["ids"]) == len(shown["tokens"]) == 32
    assert shown["weights"].shape == (4, 32, 32)
    assert shown["tokens"][-20:] == shown["appended"]


def test_panels_show_the_picked_head_and_what_may_come_next():
    settings = {**DEFAULTS, "head": 3, "text": "return the zyxx", "written": 2}
    panels, shown = transformer_block_panels(settings), transformer_block_state(settings)
    matrix, bars = find(Matrix, panels), find(Bars, panels)
    assert torch.equal(matrix.values, shown["weights"][3])
    assert (matrix.rows[2], matrix.picked) == ("zyxx (rare)", 4)
    assert bars.values.tolist() == sorted(shown["chances"].tolist(), reverse=True)[:LIKELIEST]
    spread = float(find(Facts, panels).values["as hard as choosing among"].removesuffix(" words"))
    assert 1 < spread < 499
    written = f"return the zyxx {' '.join(shown['appended'])}"
    assert panels[0].text.startswith(f"“{written}” … next, most likely: “{bars.labels[0]}”")


def test_texts_that_cannot_be_read_are_refused_in_words():
    for text, message in (("", "at least one word"), ("word " * 100, "has 100 tokens")):
        with pytest.raises(ValueError, match=message):
            state(text=text)
    assert state(text="alone")["weights"].shape == (4, 1, 1)
