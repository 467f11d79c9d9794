"""Heads side by side, for several numbers of heads and tokens."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import heads_diagram, questions_diagram
from tests.diagrams import check_drawing

TOKENS = ("Ann", "thanked", "Bob", ".", "twice")


def test_every_question_points_at_the_word_that_answers_it():
    sentences = [TOKENS[:4], TOKENS[3::-1]]
    for answers in ({"who": 0, "whom": 2}, {"whom": 0, "who": 2}, {"what": 1}):
        diagram = questions_diagram(sentences, answers)
        check_drawing(diagram)
        for number, words in enumerate(sentences, 1):
            for question, place in answers.items():
                arrow = f"word {place + 1} of {number} (1,) -> {question} {number} (1,)"
                assert arrow in str(diagram)
                assert f"{question} {number}: {question}? {words[place]}" in str(diagram)


def test_an_answer_that_is_not_in_the_sentence_is_refused():
    with pytest.raises(ValueError, match="answers must be"):
        questions_diagram([TOKENS[:2]], {"whom": 2})


@pytest.mark.parametrize(("heads", "length"), [(1, 1), (1, 4), (2, 2), (2, 4), (2, 5), (3, 3)])
def test_it_is_legible_and_says_every_weight(heads, length):
    weights = np.random.default_rng(heads).dirichlet(np.ones(length) * 5, heads)
    contexts = np.random.default_rng(length).normal(size=(heads, 7))
    diagram = heads_diagram(weights, contexts, TOKENS[:length])
    check_drawing(diagram)
    for head, row in enumerate(weights):
        for weight in row[row > 0.02]:
            assert f"{weight:.4f} -> head {head} (7 numbers)" in str(diagram)
    joined = " and ".join(f"head {head} (7 numbers)" for head in range(heads))
    assert f"{joined} -> side by side -> concat ({7 * heads} numbers)" in str(diagram)


def test_what_is_hardly_looked_at_has_no_arrow():
    diagram = heads_diagram([[0.99, 0.01]], np.ones((1, 3)), "ab")
    assert "token 2 (1,) ->" not in str(diagram)


@pytest.mark.parametrize(
    ("weights", "contexts", "message"),
    [
        (np.ones(4), np.ones((1, 3)), "weights and contexts must have shapes"),
        (np.ones((2, 4)), np.ones((3, 3)), "weights and contexts must have shapes"),
        (np.ones((2, 3)), np.ones((2, 3)), "tokens must hold 3 labels"),
    ],
)
def test_what_does_not_fit_is_refused(weights, contexts, message):
    with pytest.raises(ValueError, match=message):
        heads_diagram(weights, contexts, TOKENS[:4])
