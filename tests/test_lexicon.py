"""Words with named features: a dot product counts what two words share, and can say what."""

import pytest

from chapter3_helpers.lexicon import (
    FEATURES,
    embed_by_features,
    features_of,
    shared_features,
)
from chapter3_helpers.sentence import TOKENS


def test_a_dot_product_counts_the_features_that_two_words_share():
    text = "the cat and the dog drank milk in the kitchen while one hungry horse slept"
    tokens, x, known = embed_by_features(text)
    assert [token for token, is_known in zip(tokens, known, strict=True) if not is_known] == [
        "while",
        "slept",
    ]
    for i, first in enumerate(tokens):
        for j, second in enumerate(tokens):
            if known[i] and known[j]:
                assert x[i] @ x[j] == len(shared_features(first, second))


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("cat", "dog", ("animal", "home")),
        ("Cats", "puppy", ("animal", "home")),
        ("milk", "tea", ("drink",)),
        ("hungry", "kitchen", ("eating",)),
        ("cat", "teacher", ()),
        ("cat", "xylophone", ()),
        ("journey", "step", ("moving",)),
    ],
)
def test_why_two_words_match_has_a_name(first, second, shared):
    assert shared_features(first, second) == shared_features(second, first) == shared


def test_capitals_and_a_plural_are_the_same_word_and_a_word_keeps_its_own_s():
    assert features_of("DOGS") == features_of("dog")
    assert features_of("glass") == features_of("glasss") != features_of("glas") == ()


def test_the_running_example_is_known():
    assert all(features_of(token) for token in TOKENS)


def test_an_unknown_word_is_drawn_once_and_matches_nothing_in_particular():
    words = [f"gnu{i}" for i in range(200)]
    _, x, known = embed_by_features(" ".join([*words, "gnu7", "cat"]))
    assert x.shape == (202, len(FEATURES))
    assert not any(known[:-1])
    assert x[7].equal(x[200])
    scores = x[:200] @ x[:200].T
    assert scores.mean().abs() < 0.1
    assert scores.fill_diagonal_(0).abs().max() < 2
    assert (x[:200] @ x[-1]).abs().max() < 1.01  # two features, each between -.5 and .5
