"""The language of ``00_why_attention``, the same letters backwards, and how it is learned."""

import torch
from torch import nn

from chapter3_helpers.recurrent import ALPHABET, EncoderDecoder
from chapter3_helpers.tasks.translators import (
    accuracy_by_length,
    random_words,
    train,
    translate,
)


def test_random_words_are_letters_and_the_same_for_the_same_seed():
    words = random_words(500, 11, seed=3)
    assert words.shape == (500, 11)
    assert sorted(words.unique().tolist()) == list(range(len(ALPHABET)))
    assert words.equal(random_words(500, 11, seed=3))
    assert not words.equal(random_words(500, 11, seed=4))
    generator = torch.Generator().manual_seed(3)
    assert words.equal(random_words(500, 11, generator))
    assert not words.equal(random_words(500, 11, generator)), "a running generator runs on"


def test_training_draws_words_of_the_lengths_asked_for():
    model, seen = EncoderDecoder(2), []
    model.register_forward_pre_hook(lambda _, inputs: seen.append(tuple(inputs[0].shape)))
    assert len(train(model, batches=40, lengths=(3, 5), progress=False)) == 40
    assert set(seen) == {(32, 3), (32, 4), (32, 5)}


def test_accuracy_is_the_share_of_letters():
    """A model that always writes `a` is right wherever an `a` is asked for."""

    class OnlyA(nn.Module):
        def forward(self, letters):
            return nn.functional.one_hot(torch.zeros_like(letters), 26).float()

    accuracy = accuracy_by_length(OnlyA(), (2, 9))
    shares = [(random_words(200, length, seed=1) == 0).float().mean() for length in (2, 9)]
    assert accuracy.equal(torch.stack(shares))
    assert translate(OnlyA(), "Word") == "AAAA"
