"""What ``10_induction_heads`` teaches: layers that add to what is there, or replace it."""

import pytest
import torch
from torch import nn

from chapter3_helpers.induction_heads import LetterReader


def reader(num_layers=2, residual=True):
    torch.manual_seed(0)
    return LetterReader(num_layers, residual).double().requires_grad_(False)


@pytest.mark.parametrize("residual", [True, False])
def test_an_earlier_prediction_is_bit_identical_when_a_later_letter_changes(residual):
    model, ids = reader(residual=residual), torch.randint(26, (3, 24))
    changed = ids.clone()
    changed[:, 20:] = (ids[:, 20:] + 1) % 26
    assert model(changed)[:, :20].equal(model(ids)[:, :20])
    assert not model(changed)[:, 20].isclose(model(ids)[:, 20]).all(dim=-1).any()


@pytest.mark.parametrize("residual", [True, False])
def test_a_layer_that_finds_nothing_keeps_what_was_there_only_with_the_residual(residual):
    model, ids = reader(3, residual), torch.tensor([7, 14, 11])
    for layer in model.layers:
        nn.init.zeros_(layer.W_value.weight)
    x = model.positions(model.embedding(ids))
    expected = model.output(x if residual else torch.zeros_like(x))
    torch.testing.assert_close(model(ids), expected)


def test_a_layer_reads_normed_tokens():
    model, ids = reader(1, residual=False), torch.tensor([7, 14, 11])
    before = model(ids)
    for table in (model.embedding, model.positions):
        table.weight *= 100  # the norm takes the factor out again
    torch.testing.assert_close(model(ids), before, atol=1e-5, rtol=0)
