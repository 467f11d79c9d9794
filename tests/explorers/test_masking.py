"""The explorer of the mask reads with the reader of notebook 03, or with random matrices."""

import pytest
import torch

from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Facts, Matrix, Note
from chapter3_helpers.explorers.masking import (
    FIRST,
    LEARNED,
    NUMBER,
    RANDOM,
    SCORES,
    SECOND,
    SENTENCE,
    masking_explorer,
)
from chapter3_helpers.masking import causal_mask, mask_then_renormalise
from chapter3_helpers.sentence import embed_text
from chapter3_helpers.tasks.pronouns import encode, reason_first, trained_reader
from chapter3_helpers.trainable_qkv import SelfAttention_v2
from tests.explorers import Shown, panel_of, run, state_of


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


def above(T, diagonal=1):
    return torch.ones(T, T).triu(diagonal).bool()


def mask_scores(scores):
    return scores.masked_fill(above(len(scores)), -torch.inf)


def in_place(scores):
    scores[above(len(scores))] = -1e9
    return scores


@pytest.mark.parametrize("own", [mask_scores, in_place])
@pytest.mark.parametrize(
    "settings", [{}, {"show": SCORES}, {"show": NUMBER, "tokens_read": 7, "column": 9}]
)
def test_a_right_function_of_a_reader_shows_what_the_package_shows(own, settings):
    shown, package = masking_explorer(own, **settings), masking_explorer(**settings)
    weights = state_of(shown).weights
    torch.testing.assert_close(weights, state_of(package).weights)
    for matrix in shown.panels(shown.settings):
        if isinstance(matrix, Matrix):
            assert torch.equal(matrix.hidden, causal_mask(len(weights)))
    note, other = (panel_of(e, Note).text for e in (shown, package))
    assert note == f"This is {own.__name__} as it stands in your notebook. {other}"
    for facts in shown.panels(shown.settings):
        if isinstance(facts, Facts):
            named = f"{own.__name__}, as it stands in your notebook"
            assert facts.values["computed by"] == named
    call = shown.code(shown.settings).partition("\n\n#")[0].splitlines()
    assert torch.equal(run(call, **{own.__name__: own})["state"].weights, weights)


@pytest.mark.parametrize(
    ("own", "words", "visible"),
    [
        (lambda s: s, "It hides nothing", 9),
        (lambda s: s.masked_fill(above(len(s)).T, -torch.inf), "already read, and the future", 6),
        (lambda s: s.masked_fill(~above(len(s)), -torch.inf), "already read, and the future", 3),
        (lambda s: s.masked_fill(above(len(s), 2), -torch.inf), "right above the diagonal", 8),
        (lambda s: s.masked_fill(above(len(s), 0), -torch.inf), "from itself too", 3),
        (lambda s: s.masked_fill(above(len(s)), 0), "still get a weight", 9),
        (lambda s: s + above(len(s)) * -torch.inf, "0 · −inf is NaN", 6),
        (lambda s: mask_scores(s.softmax(-1)), "changes scores that may be seen", 6),
    ],
)
def test_a_wrong_function_is_shown_as_it_computes_with_a_sentence(own, words, visible):
    explorer = masking_explorer(own, tokens_read=3)
    state = state_of(explorer)
    scores = state.queries @ state.keys.T / state.keys.shape[-1] ** 0.5
    expected = torch.softmax(own(scores[:3, :3].clone()), dim=-1)
    torch.testing.assert_close(state.weights, expected, equal_nan=True)
    note, matrix, *_ = explorer.panels(explorer.settings)
    assert words in note.text
    assert int((~matrix.hidden).sum()) == visible
    for show in (NUMBER, explorer.settings["show"]):
        explorer.set(show=show, column=2)
        assert explorer.said.value == ""
    number = masking_explorer(own, tokens_read=3, show=NUMBER, column=2)
    path = panel_of(number, NumberPath).numbers["weight"]
    assert path == pytest.approx(float(expected[-1, 2]), abs=1e-5, nan_ok=True)


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (lambda s: None, "it returned nothing: is there a return at its end?"),
        (lambda s: s[:-1], "scores (12, 12), the shape that it was given, got (11, 12)"),
        (lambda s: above(len(s)), "got the mask itself"),
        (lambda s: 1 / 0, "ZeroDivisionError: division by zero (in the line: (lambda s: 1 / 0"),
    ],
)
def test_a_function_that_gives_no_scores_is_told_so_and_the_rest_goes_on(own, words):
    explorer = masking_explorer(own)
    assert words in explorer.said.value
    explorer.set(way=SECOND)
    assert "attention weights" in explorer.view.value
    with pytest.raises(TypeError, match="mask_scores must be a function of scores, got 3"):
        masking_explorer(3)


def test_the_scores_that_are_shown_are_those_that_softmax_makes_the_weights_of():
    shown = Shown("masking", show=SCORES, tokens_read=7)
    (matrix,) = shown.all(Matrix)
    torch.testing.assert_close(torch.softmax(matrix.values, dim=-1), shown.state.weights)
    assert shown.state.masked_scores.isneginf().any()
