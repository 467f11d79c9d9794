"""The language of ``00_why_attention``: the same letters, backwards."""

import pytest
import torch

from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder, translate
from chapter3_helpers.training.toy_language import ALPHABET, random_words, tokenize, translation


def test_a_word_is_translated_backwards():
    assert tokenize("azb").tolist() == [[0, 25, 1]]
    assert tokenize("AzB").tolist() == tokenize("azb").tolist()
    assert translation(tokenize("language")).equal(tokenize("egaugnal"))
    words = random_words(count=3, length=7)
    assert translation(words)[1].tolist() == words[1].tolist()[::-1]


@pytest.mark.parametrize(
    ("word", "error", "message"),
    [
        (7, TypeError, "word must be a string, got int"),
        ("", ValueError, "letters a to z, got an empty string"),
        ("two words", ValueError, r"letters a to z, got ' ' in 'two words'"),
        ("größe!", ValueError, r"letters a to z, got '!', 'ß', 'ö' in 'größe!'"),
        ("東京", ValueError, "letters a to z"),
    ],
)
def test_what_is_no_word_is_refused(word, error, message):
    with pytest.raises(error, match=message):
        tokenize(word)
    with pytest.raises(error, match=message):
        translate(EncoderDecoder(4), word)


def test_random_words_are_letters_and_the_same_for_the_same_seed():
    words = random_words(500, 11, seed=3)
    assert words.shape == (500, 11)
    assert sorted(words.unique().tolist()) == list(range(len(ALPHABET)))
    assert words.equal(random_words(500, 11, seed=3))
    assert not words.equal(random_words(500, 11, seed=4))
    generator = torch.Generator().manual_seed(3)
    assert words.equal(random_words(500, 11, generator))
    assert not words.equal(random_words(500, 11, generator)), "a running generator runs on"


@pytest.mark.parametrize(
    ("letters", "error", "message"),
    [
        ([[1, 2]], TypeError, "letters must be a torch.Tensor, got list"),
        (torch.zeros(3, dtype=torch.int64), ValueError, r"shape \(B, T\), not empty, got \(3,\)"),
        (torch.zeros(2, 0, dtype=torch.int64), ValueError, r"not empty, got \(2, 0\)"),
        (torch.zeros(2, 3), ValueError, "an integer tensor, got torch.float32"),
        (torch.tensor([[0, 26]]), ValueError, r"letters must be in \[0, 26\), got 0 to 26"),
        (torch.tensor([[-1, 2]]), ValueError, r"letters must be in \[0, 26\), got -1 to 2"),
    ],
)
def test_what_is_no_batch_of_words_is_refused(letters, error, message):
    for read in (translation, EncoderDecoder(4), BahdanauDecoder(4)):
        with pytest.raises(error, match=message):
            read(letters)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 7), "count must be at least 1, got 0"),
        ((3, 0), "length must be at least 1, got 0"),
        ((3, 7, -1), "seed must be at least 0, got -1"),
    ],
)
def test_words_that_cannot_be_drawn(arguments, message):
    with pytest.raises(ValueError, match=message):
        random_words(*arguments)
