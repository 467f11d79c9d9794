"""The explorer of two layers shows where each looks, and what it expects."""

import torch
from torch import nn

from chapter3_helpers.explorers.core.panels import Bars, Matrix
from chapter3_helpers.explorers.transformer_block import (
    CONTROLS,
    LIKELIEST,
    ONE,
    transformer_block_explorer,
    transformer_block_panels,
    transformer_block_state,
)
from chapter3_helpers.training.phrases import LetterReader, encode, layer_weights, trained_reader
from tests.explorers import find

DEFAULTS = {control.name: control.default for control in CONTROLS}


def state(**settings):
    return transformer_block_state({**DEFAULTS, **settings})


def test_a_reader_is_asked_as_the_controls_say():
    for layers, residual in ((ONE, True), ("two layers", False)):
        shown = state(phrase="abcxyzab", layers=layers, residual=residual, letter=7)
        reader = trained_reader(LetterReader, 1 if layers == ONE else 2, residual).model
        ids = encode("abcxyzab")
        torch.testing.assert_close(shown["chances"], reader(ids).softmax(dim=-1))
        torch.testing.assert_close(shown["weights"], layer_weights(reader, ids))


def test_panels_show_the_chosen_letter_its_layers_and_what_may_come_next():
    panels = transformer_block_panels(DEFAULTS)
    before, after = [panel for panel in panels if isinstance(panel, Matrix)]
    assert before.picked == after.picked == 10
    assert (before.picked_column, after.picked_column) == (None, 4), "behind the first i"
    first, second, bars = [panel for panel in panels if isinstance(panel, Bars)]
    assert list(first.labels) == list(second.labels) == list(before.rows)
    assert torch.equal(first.values, before.values[10])
    assert torch.equal(second.values, after.values[10])
    assert second.labels[int(second.values.argmax())] == "4 d"
    assert [panel.beside for panel in (first, second, bars)] == [False, True, True]
    assert bars.labels[0] == "d"
    assert len(bars.labels) == LIKELIEST
    assert bars.values[0] > 0.9
    assert panels[0].text.startswith("“holidayholi” … next, most likely: “d”, ")
    assert panels[0].text.endswith("Last time “d” came after “i”.")


def test_a_letter_that_is_new_has_no_earlier_place():
    panels = transformer_block_panels({**DEFAULTS, "letter": 3, "layers": ONE})
    assert find(Matrix, panels).picked_column is None
    assert [len(panel.labels) for panel in panels if isinstance(panel, Bars)] == [4, LIKELIEST]
    assert "“holi” … " in panels[0].text
    assert panels[0].text.endswith("“i” stands here for the first time.")


def test_the_letter_that_came_last_is_the_nearest():
    assert state(phrase="abacaxa", letter=6)["place"] == 4


def test_letters_are_read_without_capitals_and_spaces():
    assert state(phrase="Ab c", letter=2)["letters"] == "abc"


def test_a_class_of_the_readers_is_trained_and_shown():
    class Silent(LetterReader):
        def __init__(self, num_layers, residual=True):
            super().__init__(num_layers, residual)
            self.output = nn.Linear(32, 26)

        def forward(self, ids):
            return 0 * super().forward(ids)

    explorer = transformer_block_explorer(Silent, layers=ONE)
    assert "0.04" in explorer.view.value  # 1 / 26
    assert "# Silent is the class in your notebook" in explorer.code(explorer.settings)


def test_a_training_is_seen_in_the_explorer_and_is_gone_at_the_end(monkeypatch):
    explorer, seen = transformer_block_explorer(), []

    def panels(settings):
        print("repeated phrases:  50%|####    | 200/400 batches", end="")
        seen.append(explorer.view.value)
        return transformer_block_panels(DEFAULTS)

    monkeypatch.setattr(explorer, "panels", panels)
    explorer.set(letter=3)
    assert "200/400 batches" in seen[0]
    assert "c3-stale" in seen[0]
    assert "batches" not in explorer.view.value
