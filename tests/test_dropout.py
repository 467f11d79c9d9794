"""Dropout masks: both published ones on any machine, and the one that this machine draws."""

from itertools import pairwise

import pytest
import torch

from chapter3_helpers.dropout import cpu_dropout_generator, dropout_mask, mcg31_states
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
