"""The language of ``00_why_attention``, the same letters backwards, and how it is learned."""

import torch
from torch import nn

from chapter3_helpers.recurrent import ALPHABET, BahdanauDecoder, EncoderDecoder
from chapter3_helpers.tasks.translators import (
    accuracy_by_length,
    random_words,
    train,
    translate,
)

BOTH = [EncoderDecoder, BahdanauDecoder]


def build(model_class, d=10, seed=0):
    torch.manual_seed(seed)
    return model_class(d)


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
    class Listener(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.seen = build(EncoderDecoder, d=2), []

        def forward(self, letters):
            self.seen.append(tuple(letters.shape))
            return self.inner(letters)

    listener = Listener()
    assert len(train(listener, batches=40, lengths=(3, 5), progress=False)) == 40
    assert {length for _, length in listener.seen} == {3, 4, 5}
    assert {count for count, _ in listener.seen} == {32}


def test_accuracy_is_the_share_of_letters():
    """A model that always writes `a` is right wherever an `a` is asked for."""

    class OnlyA(nn.Module):
        def forward(self, letters):
            return nn.functional.one_hot(torch.zeros_like(letters), 26).float()

    accuracy = accuracy_by_length(OnlyA(), (2, 9))
    shares = [(random_words(200, length, seed=1) == 0).float().mean() for length in (2, 9)]
    assert accuracy.equal(torch.stack(shares))
    assert translate(OnlyA(), "Word") == "AAAA"
