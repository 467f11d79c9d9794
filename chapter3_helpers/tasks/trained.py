"""Trains a model once and keeps it, so that a notebook and its explorer can share it."""

import copy
from collections.abc import Callable, Hashable
from functools import cache
from typing import NamedTuple

import torch
from torch import nn


class Trained(NamedTuple):
    """A training from its start to its end."""

    states: dict[int, nn.Module]  # batches done -> the model of that moment, not to be changed
    losses: list[float]  # of every batch

    @property
    def model(self) -> nn.Module:
        """The model at the end."""
        return self.states[len(self.losses)]


@cache
def trained(
    make: Callable[..., nn.Module],
    train: Callable[..., list[float]],
    *arguments: Hashable,
    every: int | None = None,
    seed: int = 0,
) -> Trained:
    """Make a model, train it, and keep it: the same call again returns the same model.

    ``make`` and ``train`` are compared as objects, not by their names. So a class that was written
    anew under an old name is trained anew.

    Args:
        make: a class, or a function that returns a model.
        train: is called with the model, ``progress`` and ``watch``, as ``loop.minimise``.
        arguments: what ``make`` is called with.
        every: keep the model after so many batches, and so on (default: at the end alone). No bar
            is shown then.
        seed: of the model's first numbers. What is drawn elsewhere stays as it is.

    >>> from chapter3_helpers.tasks.loop import minimise
    >>> def train(layer, **options):
    ...     return minimise(layer, lambda _: layer.weight.square().mean(), 20, 0.1, "", **options)
    >>> states, losses = trained(nn.Linear, train, 3, 2, every=10)
    >>> list(states), len(losses)
    ([0, 10, 20], 20)
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = make(*arguments)
    return run(model, train, every)


def run(model: nn.Module, train: Callable[..., list[float]], every: int | None) -> Trained:
    """Train a model, and copy it on the way."""
    states = {}

    def watch(batches: int) -> None:
        if every and batches % every == 0:
            states[batches] = copy.deepcopy(model).requires_grad_(False)

    losses = train(model, progress=every is None, watch=watch)
    states[len(losses)] = model.requires_grad_(False)
    return Trained(states, losses)
