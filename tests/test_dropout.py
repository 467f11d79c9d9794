"""Dropout masks: both published ones on any machine, and the one that this machine draws."""

import math
from itertools import pairwise

import pytest
import torch

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.dropout import cpu_dropout_generator, dropout_mask, mcg31_states
from chapter3_helpers.masking import mask_scores
from chapter3_helpers.sentence import example_inputs
from chapter3_helpers.trainable_qkv import SelfAttention_v2
from tests.golden import assert_prints

GENERATORS = ["native", "mkl"]
generators = pytest.mark.parametrize("generator", GENERATORS)
MODULUS = 2**31 - 1


def drawn_by_torch(shape, p, seed):
    torch.manual_seed(seed)
    return torch.nn.functional.dropout(torch.ones(shape), p) > 0


def on_a_machine_with(generator, monkeypatch):
    """Let dropout draw as on a machine that has ``generator``, after any torch.manual_seed."""

    def dropout(x, p=0.5, training=True, inplace=False):
        kept = dropout_mask(tuple(x.shape), p, torch.initial_seed(), generator)
        return x * kept / (1 - p) if training else x

    monkeypatch.setattr(torch.nn.functional, "dropout", dropout)


@generators
def test_prints_the_chapters_masks(generator):
    assert_prints(f"dropout_ones_{generator}", dropout_mask((6, 6), 0.5, 123, generator) / 0.5)


@generators
def test_drops_the_chapters_weights(generator):
    torch.manual_seed(789)
    attention = SelfAttention_v2(3, 2)
    x = example_inputs()
    scores = attention.W_query(x) @ attention.W_key(x).T
    weights = torch.softmax(mask_scores(scores) / math.sqrt(2), dim=-1)
    dropped = weights * dropout_mask((6, 6), 0.5, 123, generator) / 0.5
    assert_prints(f"dropout_weights_{generator}", dropped)


@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 7), (53, 31), (3, 801)], ids=str)
@pytest.mark.parametrize("p", [0, 1e-6, 0.1, 1 / 3, 0.5, 0.7, 0.999])
def test_is_what_this_machine_draws(shape, p):
    generator = cpu_dropout_generator()
    for seed in (0, 123, 2**31, 2**32 - 1):
        assert torch.equal(dropout_mask(shape, p, seed, generator), drawn_by_torch(shape, p, seed))


# Twenty cells each, as PyTorch 2.6.0 (with MKL) and 2.13.0 drew them on one AMD CPU. The first
# draw after seed 704738295 is 2**31 - 1, from which MKL's generator can't start.
REAL_MASKS = [
    ("native", 0.3, 123, "11111111010111110111"),
    ("native", 0.7, 9, "10011011100100011000"),
    ("native", 0.5, 704738295, "00111000111111000010"),
    ("mkl", 0.3, 123, "11111111101101111011"),
    ("mkl", 0.7, 9, "10110100000100000011"),
    ("mkl", 0.5, 704738295, "10111000011010110000"),
]


@pytest.mark.parametrize(("generator", "p", "seed", "kept"), REAL_MASKS)
def test_is_what_other_machines_drew(generator, p, seed, kept):
    mask = dropout_mask((20,), p, seed, generator)
    assert "".join(str(int(cell)) for cell in mask) == kept


def test_mkl_states_follow_the_recurrence():
    states = mcg31_states(2991312382, 1000).tolist()
    assert [len(mcg31_states(77, cells)) for cells in (1, 2, 3, 65)] == [1, 2, 3, 65]
    assert states[0] == 2991312382 % MODULUS
    assert all(after == 1132489760 * before % MODULUS for before, after in pairwise(states))


@pytest.mark.parametrize("first_draw", [0, MODULUS, 2 * MODULUS])
def test_mkl_never_starts_from_zero(first_draw):
    assert mcg31_states(first_draw, 2).tolist() == [1, 1132489760]


@generators
def test_seeds_shapes_and_random_state(generator):
    mask = dropout_mask((5, 7), 0.5, 11, generator)
    assert torch.equal(mask, dropout_mask((5, 7), 0.5, 11, generator))
    assert not torch.equal(mask, dropout_mask((5, 7), 0.5, 12, generator))
    assert torch.equal(mask.flatten(), dropout_mask((35,), 0.5, 11, generator))  # row by row
    before = torch.get_rng_state()
    cpu_dropout_generator()
    assert torch.equal(torch.get_rng_state(), before)


@generators
def test_finds_the_generator_of_a_machine(generator, monkeypatch):
    on_a_machine_with(generator, monkeypatch)
    assert cpu_dropout_generator() == generator


def test_a_third_generator_is_reported(monkeypatch):
    monkeypatch.setattr(torch.nn.functional, "dropout", lambda x, p: x.tril() / (1 - p))
    with pytest.raises(RuntimeError, match=r"neither; this is PyTorch \d"):
        cpu_dropout_generator()


@generators
def test_attention_drops_by_the_mask_of_the_machine(generator, monkeypatch):
    """The module in training is what the mask makes of its weights, on either kind of machine."""
    torch.manual_seed(2)
    attention = CausalAttention(7, 6, 11, dropout=0.25)
    x = torch.rand(5, 7)
    on_a_machine_with(generator, monkeypatch)
    torch.manual_seed(3)
    context = attention(x)
    kept = dropout_mask((5, 5), 0.25, 3, generator)
    expected = attention.attention_weights(x) * kept / 0.75 @ attention.W_value(x)
    torch.testing.assert_close(context, expected)
