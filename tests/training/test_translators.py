"""The language of ``00_why_attention``, the same letters backwards, and how it is learned."""

import pytest
import torch
from torch import nn

from chapter3_helpers.recurrent import ALPHABET, BahdanauDecoder, EncoderDecoder, tokenize
from chapter3_helpers.training.translators import (
    TRAINED_LENGTHS,
    accuracy_by_length,
    random_words,
    train,
    translate,
    translation,
)

BOTH = [EncoderDecoder, BahdanauDecoder]


def build(model_class, d=10, seed=0):
    torch.manual_seed(seed)
    return model_class(d)


@pytest.fixture(scope="module")
def trained():
    """Both models after a short training on short words."""
    models = []
    for model_class in BOTH:
        models.append(build(model_class, d=64))
        train(models[-1], batches=300, lengths=(4, 5), progress=False)
    return models


def test_a_word_is_translated_backwards():
    assert tokenize("azb").tolist() == [[0, 25, 1]]
    assert tokenize("AzB").tolist() == tokenize("azb").tolist()
    assert translation(tokenize("language")).equal(tokenize("egaugnal"))
    words = random_words(count=3, length=7)
    assert translation(words)[1].tolist() == words[1].tolist()[::-1]


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


def test_gradients_are_clipped():
    class Steep(EncoderDecoder):
        def forward(self, letters):
            return 1000 * super().forward(letters)

    model = build(Steep)
    train(model, batches=2, progress=False)
    left = nn.utils.get_total_norm([p.grad for p in model.parameters()])  # after the last step
    assert left.item() == pytest.approx(1, abs=1e-4)


def test_attention_is_ahead_after_a_short_training(trained):
    one_state, attention = (accuracy_by_length(model, (4, 5)) for model in trained)
    assert (attention > 0.9).all()
    assert (attention > one_state + 0.15).all()


def test_attention_finds_the_mirrored_letter(trained):
    weights = trained[1].attention_weights(random_words(100, 4, seed=9))
    mirrored = weights.argmax(dim=-1) == torch.tensor([3, 2, 1, 0])
    assert mirrored.float().mean() > 0.9


def test_accuracy_is_the_share_of_letters():
    """A model that always writes `a` is right wherever an `a` is asked for."""

    class OnlyA(nn.Module):
        def forward(self, letters):
            return nn.functional.one_hot(torch.zeros_like(letters), 26).float()

    accuracy = accuracy_by_length(OnlyA(), (2, 9), words=50, seed=4)
    shares = [(random_words(50, length, seed=4) == 0).float().mean() for length in (2, 9)]
    assert accuracy.equal(torch.stack(shares))
    assert translate(OnlyA(), "Word") == "AAAA"


def test_some_lengths_are_kept_from_training():
    """The notebook calls words of 3, 13 and 20 letters unseen."""
    shortest, longest = TRAINED_LENGTHS
    assert 3 < shortest < longest < 13
