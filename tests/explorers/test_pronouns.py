"""The explorer of the pronouns shows the reader as the notebook trains it."""

from chapter3_helpers.explorers.core.drawings import Curves
from tests.explorers import Shown


def shown(batches=500, **changed):
    return Shown("pronouns", batches=batches, **changed)


def test_the_loss_stands_in_the_middle_of_the_batches_that_it_is_the_mean_of():
    curve = shown().only(Curves)
    (losses,) = curve.lines.values()
    wide = 500 / len(losses)
    assert list(curve.x) == [(i + 0.5) * wide for i in range(len(losses))]


def test_the_adjective_may_stand_anywhere():
    state = shown(text="Because it was sour, the dog left the milk in the glass").state
    assert state.tokens[state.row.argmax()] == "milk"


def test_words_are_shown_as_they_were_typed():
    state = shown(text="Because it was Sour, The DOG left The milk in the glass").state
    assert state.tokens[:6] == ("Because", "it", "was", "Sour", "The", "DOG")
    assert Shown("masking").state.tokens[0] == "The"
