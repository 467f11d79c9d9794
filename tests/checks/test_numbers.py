"""What the package takes for a size or a number, and that NumPy's do as well as Python's."""

import numpy as np
import pytest
import torch

from chapter3_helpers._checks import numbers
from chapter3_helpers.dropout import dropout_mask
from chapter3_helpers.fused_multihead import split_heads
from chapter3_helpers.grouped_query import kv_cache_bytes, repeat_kv
from chapter3_helpers.handmade_transformer import complete
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.performance import Sizes
from chapter3_helpers.positions import (
    LearnedPositions,
    alibi_bias,
    alibi_slopes,
    linear_bias,
    rotary_frequencies,
)
from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder
from chapter3_helpers.sentence import embed_text, example_batch
from chapter3_helpers.tensor_parallel import exchanged_bytes, heads_by_process
from chapter3_helpers.training.translators import random_words
from chapter3_helpers.transformer_block import FeedForward, MinimalLanguageModel

CALLS = [
    (example_batch, {"copies": 3}),
    (embed_text, {"text": "one step", "d_in": 5, "seed": 7}),
    (dropout_mask, {"shape": (2, 3), "p": 0.5, "seed": 7, "generator": "native"}),
    (dropout_mask, {"shape": (20, 30), "p": 0.5, "seed": 7, "generator": "mkl"}),
    (causal_mask, {"T": 5}),
    (split_heads, {"x": torch.ones(5, 6), "num_heads": 3}),
    (LearnedPositions, {"max_length": 5, "d": 3}),
    (linear_bias, {"T": 5}),
    (alibi_slopes, {"num_heads": 6}),
    (alibi_bias, {"num_heads": 6, "T": 5}),
    (rotary_frequencies, {"head_dim": 6, "max_length": 5, "theta": 100}),
    (random_words, {"count": 3, "length": 5, "seed": 7}),
    (EncoderDecoder, {"d": 4}),
    (BahdanauDecoder, {"d": 4}),
    (FeedForward, {"d": 100, "hidden": None}),
    (MinimalLanguageModel, {"vocab_size": 7, "d": 100, "context_length": 5, "num_heads": 2}),
    (repeat_kv, {"x": torch.ones(2, 5, 3), "n": 3}),
    (kv_cache_bytes, {"num_tokens": 50, "num_kv_heads": 8, "head_dim": 64, "num_layers": 12}),
    (Sizes, {"batch": 8, "tokens": 100, "width": 48, "heads": 12}),
    (heads_by_process, {"num_heads": 6, "num_processes": 2}),
    (exchanged_bytes, {"num_tokens": 50, "width": 64, "num_processes": 8}),
    (complete, {"prompt": "aab", "max_new_tokens": 4}),
]


def in_numpy(value, kind):
    """Turn the numbers of an argument into NumPy's."""
    if isinstance(value, tuple):
        return tuple(in_numpy(part, kind) for part in value)
    if type(value) is int:
        return kind(value)
    return np.float32(value) if type(value) is float else value


def described(result):
    """Return what a call gave as plain values: of a module, its sizes and the shapes it holds."""
    if isinstance(result, torch.nn.Module):
        sizes = {k: repr(v) for k, v in vars(result).items() if isinstance(v, int | np.generic)}
        return sizes, {k: tuple(v.shape) for k, v in result.state_dict().items()}
    if isinstance(result, tuple):
        return [described(part) for part in result]
    return result.tolist() if isinstance(result, torch.Tensor) else repr(result)


@pytest.mark.parametrize("kind", [np.int64, np.uint8])
@pytest.mark.parametrize(
    ("function", "arguments"), CALLS, ids=lambda part: getattr(part, "__name__", "")
)
def test_numpys_numbers_give_what_pythons_give(function, arguments, kind):
    expected = described(function(**arguments))
    arguments = {name: in_numpy(value, kind) for name, value in arguments.items()}
    assert described(function(**arguments)) == expected


def test_checks_return_pythons_numbers():
    for size in (np.uint8(200), True + np.int32(199), 200):
        assert repr(numbers.check_size("T", size)) == "200"
        assert repr(numbers.check_sizes(T=size, d=size)) == "(200, 200)"
        assert repr(numbers.check_number("theta", size)) == "200.0"
        assert repr(numbers.check_heads(size, size)) == "(200, 200)"
        assert repr(numbers.check_divisible(d=size, n=size)) == "(200, 200)"
    assert repr(numbers.check_positive(a=np.float32(0.5), b=2)) == "(0.5, 2.0)"
    assert repr(numbers.check_dropout(np.float64(0.5))) == "0.5"
