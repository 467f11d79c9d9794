"""A mask that leaks: the sentences, what each mask hides, and the reports."""

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
    write,
)

T = 8


def draw(count, length):
    return random_sentences(count, length, torch.Generator().manual_seed(3))


def test_every_word_has_two_followers_and_both_come_as_often():
    assert all(len(set(pair)) == 2 for pair in FOLLOWERS.values())
    ids = draw(5000, length=2)
    for word, pair in FOLLOWERS.items():
        following = [WORDS[j] for i, j in ids.tolist() if WORDS[i] == word]
        assert set(following) == set(pair)
        assert following.count(pair[0]) / len(following) == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize("looks_ahead", [0, 1, 3, T - 1])
def test_the_mask_hides_what_lies_further_ahead(looks_ahead):
    model, ids = LeakyLanguageModel(looks_ahead), draw(2, T)
    weights = model.attention_weights(ids)
    hidden = torch.ones(T, T).triu(1 + looks_ahead).bool()
    assert ((weights == 0) == hidden).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, T))
    assert looks_ahead or hidden.equal(causal_mask(T))
    ids[:, 5] = (ids[:, 5] + 1) % len(WORDS)
    same = [model(ids)[0, t].equal(model(draw(2, T))[0, t]) for t in range(5)]
    assert same == [t + looks_ahead < 5 for t in range(5)]


def test_a_report_counts_what_it_says_and_a_model_writes_from_what_it_has_written():
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
    words = write(Fixed(knows), "cat").split()
    assert words == write(Fixed(knows), "cat").split(), "the draws have a seed of their own"
    assert (words[0], len(words)) == ("cat", T)
    assert all(after in FOLLOWERS[before] for before, after in itertools.pairwise(words))


def test_a_first_word_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match=r"first_word must be one of the, my, .*; got 'wolf'"):
        write(LeakyLanguageModel(), "wolf")
