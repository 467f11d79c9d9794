"""What all trainings share: steps of Adam, a rate that rises and falls, one thread, a bar."""

import io
import sys

import pytest
import torch
from torch import nn

from chapter3_helpers.tasks.loop import minimise


def weights_after(batches, **options):
    """Follow a weight whose gradient is always 1: Adam moves it by the learning rate."""
    weight, seen = nn.Parameter(torch.zeros(1, dtype=torch.float64)), []
    model = nn.ParameterList([weight])

    def draw_loss(_):
        seen.append(weight.item())
        return weight.sum()

    options = {"progress": False} | options
    losses = minimise(model, draw_loss, batches, 1.0, "falling", **options)
    assert losses == seen
    return torch.tensor([*seen, weight.item()])


def test_the_rate_rises_over_a_tenth_of_the_batches_and_falls_to_zero():
    rates = -weights_after(20).diff()
    expected = [0.5, 0.95, *(1 - step / 20 for step in range(2, 20))]
    torch.testing.assert_close(rates, torch.tensor(expected), atol=1e-6, rtol=0)


@pytest.mark.parametrize("batches", [1, 2, 9, 11])
def test_no_batch_has_a_rate_of_zero(batches):
    rates = -weights_after(batches).diff()
    assert rates.shape == (batches,)
    assert (rates > 0.05).all()


@pytest.mark.parametrize(("options", "norm"), [({"max_norm": 0.5}, 0.5), ({}, 500.0)])
def test_gradients_are_shortened_together(options, norm):
    model = nn.ParameterList([nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))])

    def draw_loss(_):
        return 300 * model[0].sum() + 400 * model[1].sum()

    minimise(model, draw_loss, 2, 0.1, "", progress=False, **options)
    left = torch.tensor([weight.grad.item() for weight in model])
    torch.testing.assert_close(left, norm * torch.tensor([0.6, 0.8]))


def test_torch_keeps_to_one_thread_and_gets_the_others_back():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    seen = []

    def draw_loss(_):
        seen.append(torch.get_num_threads())
        raise InterruptedError

    try:
        with pytest.raises(InterruptedError):
            minimise(nn.Linear(1, 1), draw_loss, 5, 0.1, "", progress=False)
        assert (seen, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(threads)


def test_the_bar_ends_in_the_same_line_every_time(monkeypatch):
    """Timings would differ from run to run. A notebook keeps what follows the last return."""
    screen = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    monkeypatch.setattr(sys, "stdout", screen)
    weights_after(12, progress=True)
    monkeypatch.undo()
    screen.flush()
    text = screen.buffer.getvalue().decode()
    assert text.endswith("\n")
    last = text.rstrip("\n").split("\r")[-1]
    assert last == "falling: 100%|" + 30 * "█" + "| 12/12 batches, finished."
