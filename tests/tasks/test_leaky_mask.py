"""A mask that leaks: the loss falls below what the past can tell, and the model is of no use.

Bounds hold for the seeds 0 to 9, with room to spare.
"""

import itertools
import math

import pytest
import torch
from torch import nn

from chapter3_helpers.masking import causal_mask
from chapter3_helpers.tasks.leaky_mask import (
    FOLLOWERS,
    WORDS,
    LeakyLanguageModel,
    random_sentences,
    report,
    train,
    write,
)
from chapter3_helpers.tasks.loop import generator_from
from chapter3_helpers.tasks.next_word import next_token_losses

T = 8
LOOKS = {"causal": 0, "off by one": 1, "no mask": T - 1}


@pytest.fixture(scope="module")
def trained():
    models = {}
    for name, looks_ahead in LOOKS.items():
        torch.manual_seed(0)
        models[name] = LeakyLanguageModel(looks_ahead)
        train(models[name], progress=False)
    return models


def draw(count, length=T + 1, seed=3):
    return random_sentences(count, length, generator_from(seed))


def test_every_word_has_two_followers_and_both_come_as_often():
    assert all(len(set(pair)) == 2 for pair in FOLLOWERS.values())
    ids = draw(5000, length=2)
    for word, pair in FOLLOWERS.items():
        following = [WORDS[j] for i, j in ids.tolist() if WORDS[i] == word]
        assert set(following) == set(pair)
        assert following.count(pair[0]) / len(following) == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize(("looks_ahead", "diagonal"), [(0, 1), (1, 2), (3, 4), (T - 1, T)])
def test_the_mask_hides_what_lies_further_ahead(looks_ahead, diagonal):
    weights = LeakyLanguageModel(looks_ahead).attention_weights(draw(2, T))
    hidden = torch.ones(T, T).triu(diagonal).bool()
    assert ((weights == 0) == hidden).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, T))
    assert looks_ahead or hidden.equal(causal_mask(T))


def test_the_causality_test_convicts_the_leaky_models():
    ids = draw(1, T)
    changed = ids.clone()
    changed[0, 5] = (ids[0, 5] + 1) % len(WORDS)
    for looks_ahead in range(T):
        model = LeakyLanguageModel(looks_ahead)
        same = [model(ids)[0, t].equal(model(changed)[0, t]) for t in range(5)]
        assert same == [t + looks_ahead < 5 for t in range(5)]


def test_the_causal_model_reaches_what_the_past_can_tell(trained):
    training, past, guesses, written = report(trained["causal"])
    assert math.log(2) - 0.02 < training < math.log(2) + 0.04
    assert past == pytest.approx(training, abs=1e-4)  # it has never had anything else
    assert guesses > 0.97
    assert written > 0.97


@pytest.mark.parametrize("name", ["off by one", "no mask"])
def test_a_leak_makes_a_splendid_loss_and_a_useless_model(trained, name):
    training, past, guesses, written = report(trained[name])
    assert training < 0.25
    assert past > math.log(len(WORDS)) + 1  # worse than guessing
    assert guesses < 0.75
    assert written < 0.6
    losses = next_token_losses(trained[name], draw(500)).mean(dim=0)
    assert losses[:-1].max() < 0.4
    assert losses[-1] > 0.6  # the last word has no future to look at


def test_off_by_one_the_head_looks_at_the_answer(trained):
    weights = trained["off by one"].attention_weights(draw(200, T)).mean(dim=0)
    assert weights.diagonal(1).min() > 0.7


def test_a_model_writes_from_what_it_has_written(trained):
    words = write(trained["causal"], "cat").split()
    assert words[0] == "cat"
    assert len(words) == T
    steps = itertools.pairwise(words)
    assert sum(after not in FOLLOWERS[before] for before, after in steps) <= 1


def test_a_report_counts_what_it_says():
    """A model that knows the language by heart, and one that says what can't be."""

    class Fixed(nn.Module):
        context_length = T

        def __init__(self, table):
            super().__init__()
            self.table = table

        def forward(self, ids):
            return self.table[ids]

    knows = torch.tensor([[0.0 if w in FOLLOWERS[v] else -99.0 for w in WORDS] for v in WORDS])
    loss = math.log(2)
    assert report(Fixed(knows)) == pytest.approx((loss, loss, 1, 1))
    assert report(Fixed(-knows))[2:] == (0, 0)
