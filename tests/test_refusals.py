"""What is refused and what is said of it: a row for every argument that somebody could get wrong.

What attention modules refuse stands in test_modules, for all of them. What is refused in the middle
of things (a cache half full, a process of several, weights that do not fit) is tested where those
things are.
"""

import math
import re
from dataclasses import replace

import pytest
import torch

from chapter3_helpers.dropout import dropout_mask
from chapter3_helpers.exercises import Exercise
from chapter3_helpers.handmade_transformer import (
    MODEL,
    accuracy,
    forward,
    tokenize,
)
from chapter3_helpers.lexicon import embed_by_features
from chapter3_helpers.masking import mask_scores, mask_then_renormalise
from chapter3_helpers.performance import Sizes
from chapter3_helpers.positions import (
    LearnedPositions,
    apply_rotary,
    rotary_frequencies,
    sinusoids,
)
from chapter3_helpers.recurrent import tokenize as spell
from chapter3_helpers.sentence import embed_text
from chapter3_helpers.transformer_block import (
    GPT,
    MinimalLanguageModel,
)

V, T = ValueError, TypeError
ones, tensor = torch.ones, torch.tensor
TABLE = rotary_frequencies(head_dim=6, max_length=5)
SIZES = Sizes(batch=2, tokens=5, width=21, heads=3)


def zeros(*shape):
    return torch.zeros(shape, dtype=torch.int64)


def drop(**changed):
    return dropout_mask(**{"shape": (2, 3), "p": 0.5, "seed": 1, "generator": "native"} | changed)


def turn(**changed):
    return apply_rotary(**{"x": ones(2, 5, 6), "frequencies": TABLE} | changed)


def changed_model(name, place, value):
    return MODEL.with_weight(name, place, value)


def minimal(*sizes):
    return MinimalLanguageModel(*(sizes or (13, 4, 3, 2)))


# (call, error, words); " ... " stands for what is left out
REFUSED = [
    # sentence
    (lambda: Exercise("2a", abs), V, "name must be two digits and a letter, as in 02a, got '2a'"),
    (lambda: embed_text(""), V, "text must hold at least one word, got ''"),
    (lambda: embed_text(["a"]), T, "text must be a string, got list"),
    (lambda: embed_by_features(7), T, "text must be a string"),
    # masking
    (lambda: mask_scores(ones(1, 6)), V, "scores must be square, (..., T, T), got (1, 6)"),
    (lambda: mask_then_renormalise(ones(1, 6)), V, "weights must be square, (..., T, T), got"),
    # dropout
    (lambda: drop(p=1.0), V, "p must be in [0, 1), got 1.0"),
    (lambda: drop(p=math.nan), V, "p must be in [0, 1), got nan"),
    (lambda: drop(generator="cuda"), V, "generator must be one of native, mkl, got 'cuda'"),
    # positions
    (lambda: LearnedPositions(5, 3)(ones(6, 3)), V, "at most 5 tokens fit, got 6"),
    (lambda: turn(frequencies=TABLE[:1]), V, "(T, D / 2) = (5, 3), got torch.complex64 (1, 3)"),
    (lambda: turn(frequencies=TABLE[:, :1]), V, "(T, D / 2) = (5, 3), got torch.complex64 (5, 1)"),
    (lambda: turn(frequencies=TABLE.angle()), V, "must be complex, ... got torch.float32 (5, 3)"),
    (lambda: rotary_frequencies(5, 2), V, "head_dim must be even ... got 5 and 10000.0"),
    (lambda: rotary_frequencies(6, 2, 0), V, "theta positive and finite, got 6 and 0"),
    (lambda: rotary_frequencies(6, 2, math.nan), V, "theta positive and finite, got 6 and nan"),
    (lambda: rotary_frequencies(6, 2, math.inf), V, "theta positive and finite, got 6 and inf"),
    (lambda: sinusoids(2, 5), V, "d must be even, got 5"),
    (lambda: turn(x=ones(2, 5, 3, 6)), V, "= (3, 3), got torch.complex64 (5, 3)"),  # (B, T, H, D)
    # transformer block
    (lambda: GPT(7, 4, 3, 1, 2)(zeros(4)), V, "at most 3 tokens fit, got 4"),
    (lambda: minimal()(zeros(4)), V, "at most 3 tokens fit, got 4"),
    # handmade transformer
    (lambda: tokenize(""), V, "text must hold at least one character, got ''"),
    (lambda: tokenize("aXb"), V, "text must hold only a and b, got 'X' in 'aXb'"),
    (lambda: accuracy("aab"), V, "text must hold at least 4 characters, got 'aab'"),
    (lambda: forward([0] * 6, MODEL), V, "at most 5 tokens fit, got 6"),
    (lambda: changed_model("W_out", (0, 0), 1.0), V, "name must be one of token_emb"),
    (lambda: changed_model("W_key", (8, 0), 1.0), V, "a place in W_key (8, 8), got (8, 0)"),
    (lambda: changed_model("W_key", 3, 1.0), V, "a place in W_key (8, 8), got 3"),
    # performance
    (lambda: replace(SIZES, heads=4), V, "width must be divisible by heads, got 21 and 4"),
    # recurrent
    (lambda: spell(7), T, "word must be a string, got int"),
    (lambda: spell(""), V, "letters a to z, got an empty string"),
    (lambda: spell("größe!"), V, "a to z, got '!', 'ß', 'ö' in 'größe!'"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED, ids=[words for *_, words in REFUSED])
def test_it_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=" *.* *".join(map(re.escape, words.split(" ... ")))):
        call()
