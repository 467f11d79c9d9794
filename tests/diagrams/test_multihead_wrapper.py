"""Two questions, and heads side by side."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import heads_diagram, questions_diagram
from tests.diagrams import numbers


@pytest.mark.parametrize("answers", [{"who": 0, "whom": 2}, {"whom": 0, "who": 2}, {"what": 1}])
def test_every_question_points_at_the_word_that_answers_it(answers):
    sentences = [("Ann", "thanked", "Bob", "."), ("Bob", "thanked", "Ann", ".")]
    said = str(questions_diagram(sentences, answers))
    for number, words in enumerate(sentences, 1):
        for question, place in answers.items():
            assert f"word {place + 1} of {number} (1,) -> {question} {number} (1,)" in said
            assert f"{question} {number}: {question}? {words[place]}" in said


def test_heads_say_every_weight_and_stand_side_by_side():
    weights = [[0.99, 0.01, 0.0], [0.25, 0.5, 0.25]]
    said = str(heads_diagram(weights, numbers(2, 7), "abc"))
    for head, row in enumerate(weights):
        for place, weight in enumerate(row, 1):
            line = f"token {place} (1,) -> {weight:.4f} -> head {head} (7 numbers)"
            assert (line in said) == (weight > 0.02), "what is hardly looked at has no arrow"
    assert "head 0 (7 numbers) and head 1 (7 numbers) -> side by side -> concat (14" in said


def test_heads_share_a_scale():
    contexts = np.array([[1.0, 2.0], [3.0, -4.0]])
    limits = {block.limit for block in heads_diagram(np.eye(2), contexts, "ab").blocks[2:]}
    assert limits == {4.0}
