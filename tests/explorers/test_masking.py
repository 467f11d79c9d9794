"""The explorer of the mask reads with the reader of notebook 03, or with random matrices."""

import pytest
import torch

from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Matrix
from chapter3_helpers.explorers.masking import (
    FIRST,
    LEARNED,
    NUMBER,
    RANDOM,
    SECOND,
    SENTENCE,
    masking_explorer,
)
from chapter3_helpers.masking import mask_then_renormalise
from chapter3_helpers.sentence import embed_text
from chapter3_helpers.tasks.pronouns import encode, reason_first, trained_reader
from chapter3_helpers.trainable_qkv import SelfAttention_v2
from tests.explorers import Shown


def test_the_last_word_finds_its_noun_and_not_before_it_is_read():
    shown = Shown("masking")
    assert shown.state.tokens[shown.settings["column"]] == "milk"
    turned = Shown("masking", text=reason_first(SENTENCE)).state
    sour = turned.tokens.index("sour")
    assert turned.weights[sour, sour + 1 :].eq(0).all()


@pytest.mark.parametrize("way", [FIRST, SECOND])
@pytest.mark.parametrize("matrices", [LEARNED, RANDOM])
def test_weights_are_those_of_the_lesson_and_what_has_been_read_never_changes(matrices, way):
    chosen = {"matrices": matrices, "way": way}
    whole = Shown("masking", **chosen, seed=5).state.weights
    torch.manual_seed(5)
    attention, (_, x) = (
        (trained_reader().model, encode(SENTENCE))
        if matrices == LEARNED
        else (SelfAttention_v2(3, 2), embed_text(SENTENCE))
    )
    torch.testing.assert_close(whole, mask_then_renormalise(attention.attention_weights(x)))
    for read in range(1, 13):
        weights = Shown("masking", **chosen, seed=5, tokens_read=read).state.weights
        torch.testing.assert_close(weights, whole[:read, :read])


def test_the_path_of_one_number_says_which_keys_are_hidden():
    asked = {"tokens_read": 7, "show": NUMBER}
    weights = Shown("masking", **asked).state.weights[-1].tolist() + [0.0] * 5
    for column, weight in enumerate(weights):
        shown = Shown("masking", **asked, column=column)
        path = shown.only(NumberPath)
        assert path.numbers["weight"] == pytest.approx(weight, abs=1e-5)
        assert ("hidden from this query" in path.html()) == (column >= 7)
        marked = {matrix.marked_column for matrix in shown.all(Matrix)}
        assert marked == {column if column < 7 else None}
    assert not Shown("masking", **asked, way=SECOND).all(NumberPath)


def test_a_sentence_that_is_typed_anew_is_read_to_its_end_unless_the_reader_stopped_before():
    explorer = masking_explorer()
    for text in ("The", "The dog", "The dog left the milk"):  # as it is typed
        explorer.widgets["text"].value = text
    assert explorer.settings["tokens_read"] == 5
    explorer.set(text=SENTENCE, tokens_read=5)
    for text, read in (("The dog left the", 4), ("The dog left the milk", 5), (SENTENCE, 5)):
        explorer.widgets["text"].value = text
        assert explorer.settings["tokens_read"] == read
    explorer.set(tokens_read=2)
    explorer.widgets["text"].value = SENTENCE
    assert explorer.settings["tokens_read"] == 2
