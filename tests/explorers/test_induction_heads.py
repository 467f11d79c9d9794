"""The explorer of two layers shows where each looks, and what it expects."""

import sys

import pytest
import torch

from chapter3_helpers.explorers.core.panels import Bars, Matrix
from chapter3_helpers.explorers.induction_heads import (
    LIKELIEST,
    ONE,
    induction_heads_explorer,
)
from chapter3_helpers.induction_heads import LetterReader
from chapter3_helpers.tasks import phrases
from chapter3_helpers.tasks.phrases import encode, layer_weights, trained_reader
from tests.explorers import Shown, run


def shown(**changed):
    return Shown("induction_heads", **changed)


def test_a_reader_is_asked_as_the_controls_say():
    for layers, residual in ((ONE, True), ("two layers", False)):
        state = shown(phrase="Abc xyzab", layers=layers, residual=residual, letter=7).state
        reader = trained_reader(LetterReader, 1 if layers == ONE else 2, residual).model
        ids = encode("abcxyzab")
        torch.testing.assert_close(state.chances, reader(ids).softmax(dim=-1))
        torch.testing.assert_close(state.weights, layer_weights(reader, ids))


def test_panels_show_the_chosen_letter_its_layers_and_what_may_come_next():
    drawn = shown()
    before, after = drawn.all(Matrix)
    assert before.marked_row == after.marked_row == 10
    assert (before.marked_column, after.marked_column) == (None, 4), "behind the first i"
    first, second, bars = drawn.all(Bars)
    assert list(first.labels) == list(second.labels) == list(before.rows)
    assert torch.equal(first.values, before.values[10])
    assert torch.equal(second.values, after.values[10])
    assert second.labels[int(second.values.argmax())] == "4 d"
    assert (bars.labels[0], len(bars.labels)) == ("d", LIKELIEST)
    assert bars.values[0] > 0.9


def test_a_letter_that_is_new_has_no_earlier_place_and_of_several_the_nearest_counts():
    new = shown(letter=3, layers=ONE)
    assert new.only(Matrix).marked_column is None
    looks, likely = new.all(Bars)
    assert looks.values[:4].sum() == pytest.approx(1)  # and nothing for later letters
    assert len(likely.labels) == LIKELIEST
    assert shown(phrase="abacaxa", letter=6).all(Matrix)[-1].marked_column == 5


def test_a_class_of_the_readers_is_trained_and_shown_or_what_fails_in_it_is_said(monkeypatch):
    long_training = phrases.train
    monkeypatch.setattr(phrases, "train", lambda *given, **more: long_training(*given, 2, **more))

    class Silent(LetterReader):
        __module__ = "__main__"  # as in a notebook

        def forward(self, ids):
            return 0 * super().forward(ids)

    Silent.__qualname__ = "Silent"
    monkeypatch.setattr(sys.modules["__main__"], "Silent", Silent, raising=False)
    explorer = induction_heads_explorer(Silent, layers=ONE)
    assert "0.04" in explorer.view.value  # 1 / 26
    call = explorer.code(explorer.settings).partition("\n\n#")[0]
    assert "reader_class=Silent," in call
    found = run(call.splitlines(), Silent=Silent)["state"].chances
    torch.testing.assert_close(found, torch.full((11, 26), 1 / 26))
    Silent.forward = None
    explorer.set(residual=False)
    assert "Silent: TypeError" in explorer.said.value
    controls = explorer.children[1].children
    assert controls[-1] is explorer.said  # below all controls: nothing that is typed is to blame
    explorer.set(phrase="1")
    assert controls != explorer.children[1].children
    field = explorer.places["phrase"]
    assert next(c for c in explorer.children[1].children if c in (field, explorer.said)) is field
    assert explorer.children[1].children[-1] is not explorer.said


def test_a_training_is_seen_in_the_explorer_and_is_gone_at_the_end(monkeypatch):
    explorer, seen = induction_heads_explorer(), []

    def panels(settings):
        print("repeated phrases:  50%|####    | 200/400 batches", end="")
        seen.append(explorer.view.value)
        return shown().panels

    monkeypatch.setattr(explorer, "panels", panels)
    explorer.set(letter=3)
    assert "200/400 batches" in seen[0]
    assert "c3-stale" in seen[0]
    assert "batches" not in explorer.view.value
