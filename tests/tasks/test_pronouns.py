"""Which pronoun: the sentences, their answers, and reports. What is learned: ``test_tasks``."""

from collections import Counter

import pytest
import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.tasks.pronouns import (
    NEW_PAIRS,
    Answer,
    encode,
    find_answer,
    reason_first,
    report,
    share_right,
    train,
    trained_reader,
    translate_it,
)
from chapter3_helpers.trainable_qkv import SelfAttention_v2
from tests.tasks.test_tasks import SPLIT, learned

SOUR = "The dog left the milk in the glass because it was sour."


def pair_of(sentence):
    tokens, _ = encode(sentence)
    adjective, noun, _ = find_answer(tokens)
    return tokens[adjective], tokens[noun]


def test_no_sentence_and_no_pair_of_the_tests_is_in_the_training():
    training, new, new_pairs = map(set, SPLIT)
    assert len(training | new | new_pairs) == sum(map(len, SPLIT)) == 6 * 6 * 6 * 3 * 12
    assert len(training) == 1000
    assert not NEW_PAIRS & {pair_of(sentence) for sentence in training | new}
    assert {pair_of(sentence) for sentence in new_pairs} == NEW_PAIRS
    assert {("sour", "milk"), ("hungry", "dog"), ("cracked", "glass")} < NEW_PAIRS


def test_no_adjective_betrays_a_gender():
    for sentences, fewest, most in (
        (SPLIT.training + SPLIT.new, 1 / 3, 1 / 3),  # to the sentence
        (SPLIT.new_pairs, 1 / 3, 1 / 3),
        (SPLIT.training, 0.15, 0.55),  # in a draw of about 80 sentences per adjective
    ):
        answers = [(pair_of(s)[0], find_answer(encode(s)[0]).pronoun) for s in sentences]
        adjectives = Counter(adjective for adjective, _ in answers)
        for (adjective, _), count in Counter(answers).items():
            assert fewest <= count / adjectives[adjective] <= most


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        (SOUR, Answer(11, 4, "sie")),
        ("the dog left the milk in the glass because it was hungry", Answer(11, 1, "er")),
        ("The dog left the milk in the glass, because it was CRACKED", Answer(11, 7, "es")),
        ("because it was shy the horse saw the cat", Answer(3, 5, "es")),
        (reason_first(SOUR.lower().rstrip(".")), Answer(3, 8, "sie")),
    ],
)
def test_the_answer_is_worked_out_from_the_words(sentence, answer):
    assert find_answer(encode(sentence)[0]) == answer


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("The fox and the fox", "38 words, and not 'fox' or 'and'. It knows animals: bird, dog"),
        ("  ", "38 words, and the sentence has none. .*; and the, in, because, it, was."),
        (7, "must be a string, got int"),
        ("The milk was", "needs one adjective of .*; got none"),
        ("The sour milk was sweet", "needs one adjective of .*; got sour and sweet"),
        ("The dog was sour", "only a drink can be 'sour'. The sentence needs .* or milk or"),
    ],
)
def test_a_sentence_without_an_answer_is_refused(sentence, message):
    with pytest.raises((ValueError, TypeError), match=message):
        translate_it(learned("pronouns"), sentence)


def test_a_report_counts_what_it_says():
    """A model that puts .6 on the first of 12 words and always says *sie*."""

    class Fixed(nn.Module):
        def forward(self, x):
            return torch.tensor([0.0, 1.0, 0.0]).expand(*x.shape[:-1], 3)

        def attention_weights(self, x):
            return torch.tensor([0.4, 0.6] + [0.0] * 10).expand(*x.shape[:-1], 12)

    class TwoHeads(Fixed):
        def attention_weights(self, x):
            weights = super().attention_weights(x)
            return torch.stack([weights + 0.1, weights - 0.1], dim=1)

    sentences = [  # the noun that is meant is the second word, which has .6, in two of four
        *(SOUR, SOUR.replace("sour", "shy")),
        *(SOUR.replace("dog", "cat").replace("sour", "shy"), SOUR.replace("sour", "leaky")),
    ]
    for model in (Fixed(), TwoHeads()):
        assert report(model, sentences) == pytest.approx((0.5, 0.5, 0.3))


def pulls(reader):
    """Return the gradients of the loss at the scores of dog, milk and glass."""
    _, x = encode(SOUR)
    scores = (reader.W_query(x)[-1] @ reader.W_key(x).T).requires_grad_()
    logits = torch.softmax(scores / 3**0.5, dim=-1) @ reader.W_value(x)
    functional.cross_entropy(logits, torch.tensor(1)).backward()  # sie
    return scores.grad[[1, 4, 7]]


def test_a_score_is_pulled_only_when_the_values_differ():
    early, late = (pulls(trained_reader().states[batches]) for batches in (0, 40))
    assert early.abs().max() < 0.02
    dog, milk, _ = late.tolist()
    assert dog > 0.1
    assert milk < -0.1


class Undivided(SelfAttention_v2):
    def attention_weights(self, x):
        return torch.softmax(self.W_query(x) @ self.W_key(x).transpose(-2, -1), dim=-1)


def test_wide_queries_and_keys_learn_only_with_the_division():
    for attention_class, low, high in ((SelfAttention_v2, 0.97, 1), (Undivided, 0.4, 0.8)):
        torch.manual_seed(0)
        attention = attention_class(38, 64)
        for layer in (attention.W_query, attention.W_key):
            nn.init.normal_(layer.weight)
        model = nn.Sequential(attention, nn.Linear(64, 3))
        train(model, SPLIT.training, progress=False)
        assert low <= share_right(model, SPLIT.new) <= high
