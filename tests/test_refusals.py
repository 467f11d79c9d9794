"""What is refused and what is said of it: a row for every argument that somebody could get wrong.

A row proves that an argument is checked, and by which check; what attention modules refuse stands
in checks/test_modules, for all of them. What is refused in the middle of things (a cache half full,
a process of several, weights that do not fit) is tested where those things are.
"""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from chapter3_helpers._checks import numbers, tensors
from chapter3_helpers.diagrams import attention_map
from chapter3_helpers.dot_products import (
    attention_scores,
    attention_scores_loop,
    simple_self_attention,
)
from chapter3_helpers.dropout import dropout_mask
from chapter3_helpers.fused_multihead import (
    FusedMultiHeadAttention,
    MultiHeadAttention,
    count_parameters,
    join_heads,
    split_heads,
)
from chapter3_helpers.grouped_query import GroupedQueryAttention, kv_cache_bytes, repeat_kv
from chapter3_helpers.handmade_transformer import (
    MODEL,
    accuracy,
    complete,
    count_operations,
    forward,
    predict_next,
    tokenize,
    untokenize,
)
from chapter3_helpers.lexicon import embed_by_features
from chapter3_helpers.masking import causal_mask, mask_scores, mask_then_renormalise
from chapter3_helpers.performance import (
    Sizes,
    accelerate,
    count_bytes,
    least_seconds,
    restore,
)
from chapter3_helpers.plots import bar_panels, head_grid, heatmap
from chapter3_helpers.positions import (
    LearnedPositions,
    alibi_bias,
    alibi_slopes,
    apply_rotary,
    linear_bias,
    rotary_frequencies,
)
from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder
from chapter3_helpers.recurrent import tokenize as spell
from chapter3_helpers.sentence import embed_text, example_batch
from chapter3_helpers.softmax import softmax, softmax_naive
from chapter3_helpers.tasks import (
    last_holder,
    leaky_mask,
    loop,
    next_word,
    phrases,
    pronouns,
    riddles,
    translators,
    who_whom,
)
from chapter3_helpers.tensor_parallel import exchanged_bytes
from chapter3_helpers.trainable_qkv import SelfAttention_v2
from chapter3_helpers.transformer_block import (
    GPT,
    FeedForward,
    MinimalLanguageModel,
    TransformerBlock,
    collapse_two_layers,
)

V, T = ValueError, TypeError
ones, tensor = torch.ones, torch.tensor
TABLE = rotary_frequencies(head_dim=6, max_length=5)
SIZES = Sizes(batch=2, tokens=5, width=21, heads=3)
WEIGHTS, QUERIES, KEYS = [[0.75, 0.25, 0.0], [0.125, 0.5, 0.375]], ["q0", "q1"], ["k0", "k1", "k2"]


def zeros(*shape):
    return torch.zeros(shape, dtype=torch.int64)


def ids(value):
    return tensors.check_ids("x", value, vocab_size=5)


def drop(**changed):
    return dropout_mask(**{"shape": (2, 3), "p": 0.5, "seed": 1, "generator": "native"} | changed)


def turn(**changed):
    return apply_rotary(**{"x": ones(2, 5, 6), "frequencies": TABLE} | changed)


def fold(**changed):
    layers = {"alpha1": torch.eye(5), "alpha2": torch.eye(5), "V1": ones(3, 2), "V2": ones(2, 7)}
    return collapse_two_layers(**layers | changed)


def changed_model(name, place, value):
    return MODEL.with_weight(name, place, value)


def minimal(*sizes):
    return MinimalLanguageModel(*(sizes or (13, 4, 3, 2)))


def decoder():
    return EncoderDecoder(4)


def learn(model=None, batches=1, **options):
    return riddles.train(model or nn.Linear(28, 12), batches, **options)


def next_losses(value):
    return next_word.next_token_losses(minimal(), value)


def grid(**changed):
    return head_grid(**{"weights": [WEIGHTS], "queries": QUERIES, "keys": KEYS} | changed)


# (call, error, words); " ... " stands for what is left out
REFUSED = [
    # checks
    (lambda: numbers.check_size("T", True), T, "T must be an integer, got True (bool)"),
    (lambda: numbers.check_number("p", math.nan, 0, 1), V, "p must be in [0, 1), got nan"),
    (lambda: numbers.check_number("p", 10**400, 0, 1), V, "p must be in [0, 1), got 10000"),
    (lambda: numbers.check_number("p", True), T, "p must be a number, got True (bool)"),
    (lambda: tensors.check_tensor("x", ones(2, 3).cfloat()), V, "floating ... complex64"),
    (lambda: ids(tensor(1)), V, "x must have shape (T,) or (B, T), not empty, got ()"),
    (lambda: ids(zeros(0)), V, "not empty, got (0,)"),
    (lambda: ids(ones(3).byte()), V, "got torch.uint8 (int64 and int32 will do)"),
    # sentence
    (lambda: embed_text(""), V, "text must hold at least one word, got ''"),
    (lambda: embed_text(["a"]), T, "text must be a string, got list"),
    (lambda: embed_text("a", 0), V, "d_in must be at least 1, got 0"),
    (lambda: embed_text("a", 3, -1), V, "seed must be at least 0, got -1"),
    (lambda: embed_text("a", 3, "1"), T, "seed must be an integer, got '1' (str)"),
    (lambda: example_batch(0), V, "copies must be at least 1, got 0"),
    (lambda: embed_by_features(7), T, "text must be a string"),
    # dot products and softmax
    *(
        (lambda function=function: function(ones(3)), V, "x must have shape ... got 1 dimension")
        for function in (attention_scores_loop, attention_scores, simple_self_attention)
    ),
    (lambda: softmax(tensor(1.0)), V, "scores must have shape (..., n), got 0 dimension"),
    (lambda: softmax(zeros(3)), V, "scores must be a floating-point ... torch.int64"),
    (lambda: softmax_naive(zeros(3)), V, "scores must be a floating-point"),
    (lambda: softmax(ones(2, 3), 2), V, "dim must be below 2, got 2"),
    (lambda: softmax(ones(2, 3), -3), V, "dim must be at least -2, got -3"),
    (lambda: softmax(ones(2, 3), None), T, "dim must be an integer, got None"),
    # masking
    (lambda: causal_mask(0), V, "T must be at least 1, got 0"),
    (lambda: mask_scores(ones(5, 6)), V, "scores must have shape (..., T, T), got (5, 6)"),
    (lambda: mask_then_renormalise(ones(5, 6)), V, "weights must have shape (..., T, T), got"),
    # dropout
    (lambda: drop(shape=6), T, "shape must be a tuple of sizes, got 6 (int)"),
    (lambda: drop(shape=(2, 3.0)), T, "shape[1] must be an integer, got 3.0 (float)"),
    (lambda: drop(p=1.0), V, "p must be in [0, 1), got 1.0"),
    (lambda: drop(seed=-1), V, "seed must be at least 0, got -1"),
    (lambda: drop(seed=2**32), V, "seed must be below 2**32, got 4294967296"),
    (lambda: drop(generator="cuda"), V, "generator must be one of 'native', 'mkl', got 'cuda'"),
    # heads
    (lambda: MultiHeadAttention(7, 6, 5, 0.0, 4), V, "d_out must be divisible ... num_heads=4"),
    (lambda: FusedMultiHeadAttention(7, 6, 5, 0.0, 4), V, "d_out must be divisible by num_h"),
    (lambda: split_heads(ones(5, 6), 4), V, "divisible by num_heads, got d_out=6 and num_h"),
    (lambda: split_heads(ones(6), 2), V, "x must have shape (T, H * D) or (B, T, H * D)"),
    (lambda: join_heads(ones(5, 6)), V, "x must have shape (H, T, D) or (B, H, T, D)"),
    (lambda: count_parameters(3), T, "module must be a torch.nn.Module, got int"),
    # positions
    (lambda: LearnedPositions(0, 3), V, "max_length must be at least 1, got 0"),
    (lambda: LearnedPositions(5, 3)(ones(6, 3)), V, "at most max_length=5 tokens, got 6"),
    (lambda: LearnedPositions(5, 3)(ones(5, 4)), V, "last dimension of x must be d=3, got 4"),
    (lambda: LearnedPositions(5, 3)(ones(5, 3).half()), V, "torch.float32 on cpu, ... float16"),
    (lambda: linear_bias(0), V, "T must be at least 1, got 0"),
    (lambda: linear_bias(3, "no"), T, "causal must be True or False, got 'no'"),
    (lambda: alibi_slopes(0), V, "num_heads must be at least 1, got 0"),
    (lambda: alibi_bias(2.0, 3), T, "num_heads must be an integer, got 2.0"),
    (lambda: rotary_frequencies(7, 5), V, "head_dim must be even ... got 7"),
    (lambda: rotary_frequencies(6, 0), V, "max_length must be at least 1, got 0"),
    (lambda: rotary_frequencies(6, 5, 0), V, "theta must be above 0, got 0"),
    (lambda: turn(x=ones(5, 7)), V, "last dimension of x must be even ... got 7"),
    (lambda: turn(x=ones(6)), V, "x must have shape (..., T, D), got 1 dim"),
    (lambda: turn(frequencies=TABLE[:4]), V, "at least T=5 rows, got 4"),
    (lambda: turn(frequencies=TABLE[:, :2]), V, "(T, 3) for x of last dimension 6, got (5, 2)"),
    (lambda: turn(frequencies=TABLE.real), V, "a complex tensor, got torch.float32"),
    (lambda: turn(frequencies=TABLE.tolist()), T, "must be a torch.Tensor, got list"),
    # transformer block
    *(
        (lambda name=name: fold(**{name: [[1.0]]}), T, f"{name} must be a torch.Tensor, got list")
        for name in ("alpha1", "alpha2", "V1", "V2")
    ),
    (lambda: fold(alpha2=torch.eye(4)), V, "the same shape, got (5, 5) and (4, 4)"),
    (lambda: fold(V2=ones(3, 7)), V, "V2 must have as many rows as V1 has columns, 2, got 3"),
    (lambda: fold(V1=ones(3, 2, 1)), V, "V1 must have shape (d_in, d)"),
    (lambda: fold(V2=ones(2, 7).double()), V, "V2 must be torch.float32 on cpu, as alpha1"),
    (lambda: FeedForward(0), V, "d must be at least 1, got 0"),
    (lambda: FeedForward(3, 0), V, "hidden must be at least 1, got 0"),
    (lambda: FeedForward(3)(ones(3)), V, "x must have shape (..., T, d), got 1 dimension"),
    (lambda: FeedForward(3)(ones(5, 4)), V, "last dimension of x must be d=3, got 4"),
    (lambda: minimal(7, 5, 3, 2), V, "divisible by num_heads, got d=5 and num_heads=2"),
    (lambda: minimal()(tensor([0, 13])), V, "ids must be in [0, 13), got 0 to 13"),
    (lambda: minimal().attention_weights(tensor([-1, 2])), V, "in [0, 13), got -1 to 2"),
    (lambda: TransformerBlock(7, 2, 5), V, "d must be divisible by num_heads"),
    (lambda: TransformerBlock(6, 2, 5)(ones(6, 6)), V, "at most context_length=5 tokens"),
    (lambda: GPT(7, 5, 3, 1, 2), V, "d must be divisible by num_heads"),
    (lambda: GPT(7, 4, 3, 0, 2), V, "num_layers must be at least 1, got 0"),
    (lambda: GPT(0, 4, 3, 1, 2), V, "vocab_size must be at least 1"),
    (lambda: GPT(7, 4, 3, 1, 2)(tensor([7])), V, "ids must be in [0, 7)"),
    # handmade transformer
    (lambda: tokenize(""), V, "text must hold at least one character, got ''"),
    (lambda: tokenize("aXb"), V, "text must hold only a and b, got 'X' in 'aXb'"),
    (lambda: predict_next(None), T, "text must be a string, got NoneType"),
    (lambda: complete("aä"), V, "prompt must hold only a and b, got 'ä'"),
    (lambda: complete("a", -1), V, "max_new_tokens must be at least 0, got -1"),
    (lambda: complete("a", 2, None), T, "model must be a HandmadeTransformer, got None"),
    (lambda: count_operations([0], "x"), T, "model must be a HandmadeTransformer, got str"),
    (lambda: accuracy("aab"), V, "text must hold at least 4 characters, got 'aab'"),
    (lambda: untokenize([0, 2]), V, "ids must be 0 (a) or 1 (b), got 2"),
    (lambda: untokenize([0.5]), T, "ids must be a sequence of integers"),
    (lambda: forward("ab"), T, "ids must be a sequence of integers, got 'ab'"),
    (lambda: forward([]), V, "ids must hold 1 to 5 tokens, got 0"),
    (lambda: forward([0] * 6), V, "ids must hold 1 to 5 tokens, got 6"),
    (lambda: forward([0] * 3, past=forward([0] * 3)), V, "must hold 1 to 2 tokens, got 3"),
    (lambda: forward([0], past=[1]), T, "past must be a mapping with keys and values"),
    (
        lambda: forward([0], past=dict.fromkeys(("keys", "values"), np.ones((1, 11)))),
        V,
        "past must hold keys and values of shape (t, 8), got (1, 11) and (1, 11)",
    ),
    (lambda: forward([0], past=forward([0] * 5)), V, "fewer than 5 tokens, got 5"),
    (lambda: changed_model("W_out", (0, 0), 1.0), V, "name must be one of 'token_emb"),
    (lambda: changed_model("W_key", (8, 0), 1.0), V, "a place in W_key (8, 8), got (8, 0)"),
    (lambda: changed_model("W_key", (0, 1.5), 1.0), V, "index must be a place in W_key"),
    (lambda: changed_model("W_key", (0, 0), "1"), T, "value must be a number, got '1'"),
    (lambda: changed_model("W_key", (0, 0), math.nan), V, "value must be a finite number"),
    (lambda: replace(MODEL, W_key=np.ones((8, 7))), V, "W_key must have shape (8, 8), got (8, 7)"),
    (lambda: replace(MODEL, token_embedding=np.ones((3, 8))), V, "shape (2, 8), got (3, 8)"),
    (lambda: replace(MODEL, W_query="many"), T, "W_query must be an array of numbers"),
    # grouped query
    (lambda: repeat_kv(ones(2, 3), 2), V, "x must have shape (K, T, D) or (B, K, T, D)"),
    (lambda: repeat_kv(ones(2, 3, 4), 0), V, "n must be at least 1, got 0"),
    (lambda: kv_cache_bytes(5, 2, 4, num_layers=0), V, "num_layers must be at least 1, got 0"),
    (lambda: kv_cache_bytes(5, 2, 4, bytes_per_number=0.5), T, "bytes_per_number must be an int"),
    (lambda: GroupedQueryAttention(6, 3)(ones(1, 6), 5), T, "cache must come from new_cache, got"),
    # performance
    (lambda: replace(SIZES, heads=4), V, "divisible by num_heads, got d_out=21 and num_heads=4"),
    (lambda: replace(SIZES, tokens=0), V, "tokens must be at least 1, got 0"),
    (lambda: least_seconds(SIZES, "split", 0, 1.0), V, "flops_per_second must be above 0, got 0"),
    (lambda: least_seconds(SIZES, "split", 1.0, 0), V, "bytes_per_second must be above 0, got 0"),
    (lambda: count_bytes(SIZES, "nonsense"), V, "variant must be one of 'wrapper', 'split'"),
    (lambda: accelerate("layer"), T, "module must be a torch.nn.Module, got str"),
    (lambda: restore(nn.Linear), T, "module must be a torch.nn.Module, got type"),
    (lambda: exchanged_bytes(1, 8, 2, bytes_per_number=0), V, "bytes_per_number must be at lea"),
    # pictures
    (lambda: attention_map(14), V, "notebook must be at most 13, got 14"),
    (lambda: attention_map(-1), V, "notebook must be at least 0, got -1"),
    (lambda: heatmap([1.0, 2.0], ["a"]), V, "weights must have shape (queries, keys), got (2,)"),
    (lambda: heatmap([[]], ["a"]), V, "weights must have shape (queries, keys), got (1, 0)"),
    (lambda: heatmap(WEIGHTS, ["a"]), V, "queries must hold 2 labels, got 1"),
    (lambda: heatmap(WEIGHTS, QUERIES, ["a"]), V, "keys must hold 3 labels, got 1"),
    (lambda: heatmap(WEIGHTS, QUERIES, KEYS, hidden=causal_mask(2)), V, "(2, 3), got (2, 2)"),
    (lambda: heatmap([[1.0 + 5.0j]], ["a"]), T, "an array of real numbers, got complex128"),
    (lambda: heatmap([[1.0]], None), T, "queries must be a sequence of labels, got NoneType"),
    (lambda: grid(weights=WEIGHTS), V, "weights must have shape (heads, queries, keys), got (2"),
    (lambda: grid(hidden=[False] * 3), V, "hidden must have shape (2, 3) or (1, 2, 3), got (3,)"),
    (lambda: grid(titles=["a", "b"]), V, "titles must hold 1 labels, got 2"),
    (lambda: grid(columns=0), V, "columns must be at least 1, got 0"),
    (lambda: grid(queries=["a"]), V, "queries must hold 2 labels, got 1"),
    (lambda: grid(keys=None), V, "keys must hold 3 labels, got 2"),
    (lambda: bar_panels(["a"], {"score": ones(2)}), V, "labels must hold 2 labels"),
    # recurrent
    (lambda: BahdanauDecoder(0), V, "d must be at least 2, got 0"),
    (lambda: EncoderDecoder(7), V, "d must be even, one half for each direction, got 7"),
    (lambda: decoder()([[1, 2]]), T, "letters must be a torch.Tensor, got list"),
    (lambda: decoder()(zeros(3)), V, "shape (B, T), not empty, got (3,)"),
    (lambda: BahdanauDecoder(4)(zeros(1, 1) + 26), V, "in [0, 26), got 26 to 26"),
    (lambda: translators.translation(ones(2, 3)), V, "letters must be an integer tensor"),
    (lambda: spell(7), T, "word must be a string, got int"),
    (lambda: spell(""), V, "letters a to z, got an empty string"),
    (lambda: spell("größe!"), V, "a to z, got '!', 'ß', 'ö' in 'größe!'"),
    (lambda: translators.accuracy_by_length(decoder(), [0]), V, "length must be at least 1"),
    (lambda: translators.random_words(0, 7), V, "count must be at least 1, got 0"),
    (lambda: translators.random_words(3, 0), V, "length must be at least 1, got 0"),
    (lambda: translators.train(decoder(), 1, lengths=5), T, "(shortest, longest), got 5"),
    (lambda: translators.train(decoder(), 1, lengths=(0, 3)), V, "shortest must be at least 1"),
    (lambda: translators.train(decoder(), 1, lengths=(5, 4)), V, "longest must be at least 5"),
    # training
    (lambda: learn(3), T, "model must be a torch.nn.Module, got int"),
    (lambda: learn(batches=0), V, "batches must be at least 1, got 0"),
    (lambda: learn(batches=2.0), T, "batches must be an integer, got 2.0"),
    (lambda: learn(seed=0.5), T, "seed must be an integer, got 0.5"),
    (lambda: learn(progress=1), T, "progress must be True or False, got 1"),
    (lambda: loop.generator_from(1.5), T, "seed must be an integer, got 1.5"),
    (lambda: last_holder.StoryReader("cosines"), V, "scheme must be one of none, learned"),
    (lambda: last_holder.encode([("Zoe", "key")], "key"), V, "one of Ann, ... got 'Zoe'"),
    (lambda: last_holder.encode([("Ann", "key")], "cat"), V, "one of key, ... got 'cat'"),
    (lambda: leaky_mask.LeakyLanguageModel(-1), V, "looks_ahead must be at least 0, got -1"),
    (lambda: leaky_mask.LeakyLanguageModel()(zeros(1, 9)), V, "at most context_length=8"),
    (lambda: leaky_mask.write(leaky_mask.LeakyLanguageModel(), "wolf"), V, "'the', ... 'wolf'"),
    (lambda: next_losses(tensor([[3, 1], [1, 13]])), V, "must be in [0, 13), got 1 to 13"),
    (lambda: next_losses(ones(2)), V, "ids must be an integer tensor"),
    (lambda: next_word.train(3, zeros(9)), T, "model must be a torch.nn.Module, got int"),
    (lambda: next_word.train(nn.Linear(2, 2), zeros(9)), T, "positions, got Linear"),
    (lambda: next_word.train(minimal(), zeros(2, 9)), V, "ids must have shape (N,)"),
    (lambda: next_word.train(minimal(), [1, 2]), T, "ids must be a torch.Tensor, got"),
    (lambda: next_word.mean_loss(minimal(), zeros(3)), V, "more than context_length=3 tokens"),
    (lambda: phrases.encode("abc1"), V, "letters a to z, got '1'"),
    *(
        (lambda words=words: pronouns.translate_it(SelfAttention_v2(38, 3), words), error, message)
        for words, error, message in (
            (7, T, "sentence must be a string, got int"),
            ("", V, "sentence must consist of the words bird, ... ; got none"),
            ("The wolf was hungry", V, "of the words bird, dog, ... , was; got 'wolf'"),
            ("Der Hund was", V, "got 'der', 'hund'"),
            ("the dog left the milk", V, "one adjective of hungry, ... ; got 'the dog left"),
            ("the shy dog was hungry", V, "sentence must hold one adjective of"),
            ("the dog was sour", V, "noun that is meant, tea or juice or ... 'the dog was sour"),
        )
    ),
    (lambda: riddles.encode(7), T, "riddle must be a string, got int"),
    (lambda: riddles.encode(""), V, "riddle must hold a word, such as 'It barks', got ''"),
    (lambda: who_whom.encode(3), T, "sentence must be a string, got int"),
    (lambda: who_whom.encode("Ann slept"), V, "3 words, such as ... got 'Ann slept'"),
    (lambda: who_whom.answer(nn.Linear(2, 2), ""), V, "sentence must be 3 words"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED, ids=[words for *_, words in REFUSED])
def test_it_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=" *.* *".join(map(re.escape, words.split(" ... ")))):
        call()
