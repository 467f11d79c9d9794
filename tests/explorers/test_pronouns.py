"""The explorer of the pronouns shows the reader as the notebook trains it."""

import pytest
import torch

from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.pronouns import NUMBER
from chapter3_helpers.trainable_qkv import SelfAttention_v2
from chapter3_helpers.training.pronoun_sentences import split_sentences
from chapter3_helpers.training.pronouns import train, trained_reader
from tests.explorers import Shown


def shown(batches=500, **changed):
    return Shown("pronouns", batches=batches, **changed)


def test_it_is_the_reader_of_the_notebook_at_every_step():
    torch.manual_seed(0)
    reader, seen = SelfAttention_v2(38, 3), {}

    def watch(batches):
        if batches in (0, 45, 500):
            seen[batches] = {name: p.clone() for name, p in reader.state_dict().items()}

    train(reader, split_sentences().training, progress=False, watch=watch)
    for batches, parameters in seen.items():
        for name, value in trained_reader().states[batches].state_dict().items():
            torch.testing.assert_close(value, parameters[name])


def test_the_loss_stands_in_the_middle_of_the_batches_that_it_is_the_mean_of():
    curve = shown().only(Curves)
    (losses,) = curve.lines.values()
    wide = 500 / len(losses)
    assert list(curve.x) == [(i + 0.5) * wide for i in range(len(losses))]


def test_the_adjective_may_stand_anywhere():
    state = shown(text="Because it was sour, the dog left the milk in the glass").state
    assert state["tokens"][state["row"].argmax()] == "milk"
    assert state["row"].equal(state["weights"][3])


def test_the_path_of_one_number_ends_at_the_weight_that_is_shown():
    for column, weight in enumerate(shown(45).state["row"].tolist()):
        path = shown(45, show=NUMBER, column=column).only(NumberPath)
        assert path.numbers["weight"] == pytest.approx(weight, abs=1e-5)
