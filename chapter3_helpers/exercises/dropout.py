"""The exercises of ``05_dropout``."""

import itertools
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.dropout import dropout_mask
from chapter3_helpers.exercises import Exercise
from chapter3_helpers.masking import mask_scores


def _dropped(T: int, p: float, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return causal weights (T, T) of made-up scores, before dropout and after it."""
    before = torch.softmax(mask_scores(torch.arange(T * T).reshape(T, T).sin()), dim=-1)
    return before, before * dropout_mask((T, T), p, seed) / (1 - p)


def _kind_seed(fits: Callable[[torch.Tensor], torch.Tensor]):
    """Return a function that finds the smallest seed whose mask fits."""

    def search(T: int, p: float) -> int:
        return next(seed for seed in itertools.count() if fits(dropout_mask((T, T), p, seed)))

    return search


class _AlwaysDropping(CausalAttention):
    """Causal attention that also drops weights in evaluation mode."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = functional.dropout(self.attention_weights(x), self.dropout.p)
        return weights @ self.W_value(x)


class _RarelyDropping(CausalAttention):
    """Causal attention whose result changes only in every fiftieth pass, as with a very small p."""

    passes = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.passes += 1
        return super().forward(x) * (self.passes % 50 != 0)


def _heads(kind: type[CausalAttention] = CausalAttention, T: int = 5, p: float = 0.5):
    """Return a head in evaluation mode, and tokens for it."""
    x = torch.arange(3.0 * T).reshape(T, 3).cos()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(T)
        return kind(3, 2, T, p).eval(), x


def _switched_back() -> tuple[nn.Module, torch.Tensor]:
    """Return a model in evaluation mode with a head that is not."""
    head, x = _heads(T=7)
    model = nn.Sequential(nn.Linear(3, 3), head).eval()
    head.train()
    return model, x


def _zeros_without_dropout() -> tuple[nn.Module, torch.Tensor]:
    """Return a model of which some numbers are always 0, and tokens for it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        return nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval(), _heads(T=8)[1]


def _training_without_dropout() -> tuple[nn.Module, torch.Tensor]:
    head, x = _heads(T=4, p=0.0)
    return head.train(), x


def _tosses_coins(passes: int, before: Callable[[nn.Module], object] = lambda module: None):
    """Return an answer that compares so many passes, and does something before each."""

    def tosses_coins(module: nn.Module, x: torch.Tensor) -> bool:
        def run() -> torch.Tensor:
            before(module)
            return module(x)

        with torch.random.fork_rng(devices=[]):
            first = run()
            return any(not torch.equal(run(), first) for _ in range(passes - 1))

    return tosses_coins


WHICH_P = Exercise(
    name="05a",
    solution=lambda b, a: 1 - (b / a)[a > 0].mean(),
    # a common p, a small and a large one; none at all; two of which a single weight is left
    cases=tuple(
        _dropped(*case)
        for case in (
            *((6, 0.6, 123), (5, 0.1, 4), (8, 0.75, 2)),
            *((4, 0.0, 1), (3, 0.8, 15), (3, 0.8, 31)),
        )
    ),
    misconceptions={
        "That is the share of zeros among all cells. The hidden weights were 0 before, and how "
        "many of the others the coins take is luck: look at what became of one that was kept.": (
            lambda b, a: (a == 0).float().mean()
        ),
        "That is the share of weights that were lost, which is p on average but not in one draw. "
        "Look at what became of a weight that was kept.": (
            lambda b, a: (a[b > 0] == 0).float().mean()
        ),
        "That is 1 - p, by which each kept weight was divided.": (
            lambda b, a: (b / a)[a > 0].mean()
        ),
        "That is how many times as large a kept weight has become, 1 / (1 - p). Which p makes it "
        "so?": lambda b, a: (a / b)[a > 0].mean(),
        "A kept weight is divided by 1 - p, not multiplied by 1 + p.": (
            lambda b, a: (a / b)[a > 0].mean() - 1
        ),
        "You compared sums. What a row or matrix sums to after dropout depends on the coins; a "
        "single kept weight does not.": lambda b, a: 1 - a.sum() / b.sum(),
    },
)

LOST_ROWS = Exercise(
    name="05b",
    solution=lambda T, p: p ** torch.arange(1.0, T + 1),
    cases=((6, 0.6), (4, 0.3), (9, 0.8)),
    misconceptions={
        "p is the probability that one weight is dropped. A row is lost only if all the weights "
        "in it are dropped.": lambda T, p: torch.full((T,), p),
        "You counted the hidden weights too. They are 0 before dropout: row i has i + 1 weights "
        "that can be lost.": lambda T, p: torch.full((T,), p**T),
        "Off by one: a token sees itself too, so row i has i + 1 weights.": (
            lambda T, p: p ** torch.arange(0.0, T)
        ),
        "That is the probability that a row loses nothing. A weight is dropped with probability p, "
        "and kept with 1 - p.": lambda T, p: (1 - p) ** torch.arange(1.0, T + 1),
        "That is the probability that at least one weight is dropped. A row is lost if it keeps "
        "none.": lambda T, p: 1 - (1 - p) ** torch.arange(1.0, T + 1),
    },
)

KIND_SEED = Exercise(
    name="05c",
    solution=_kind_seed(lambda kept: kept.tril().any(dim=-1).all()),
    cases=((6, 0.5), (4, 0.7), (9, 0.6), (5, 0.02)),  # in the last, seed 0 is kind
    misconceptions={
        "You counted hidden cells as well. Above the diagonal a kept cell helps nobody.": (
            _kind_seed(lambda kept: kept.any(dim=-1).all())
        ),
        "You asked that every token keep its own weight. Any weight of its row will do.": (
            _kind_seed(lambda kept: kept.diagonal().all())
        ),
        "You hid the past: a token sees itself and what stands before it, `tril()`.": (
            _kind_seed(lambda kept: kept.triu().any(dim=-1).all())
        ),
        "You looked down the columns, at keys that nobody attends to. A query is a row.": (
            _kind_seed(lambda kept: kept.tril().any(dim=-2).all())
        ),
    },
)

TOSSES_COINS = Exercise(
    name="05d",
    solution=_tosses_coins(passes=201),
    cases=(
        _heads(),
        _heads(_AlwaysDropping, T=6),
        _switched_back(),
        _training_without_dropout(),
        _heads(_RarelyDropping, T=3),
        _zeros_without_dropout(),
    ),
    misconceptions={
        "`training` says what the module was told, not what it does: one of these was told to "
        "evaluate and drops nevertheless, and one trains without any dropout.": (
            lambda module, x: module.training
        ),
        "You looked for any part in training mode. That does not find dropout that was written "
        "as a function, and a part without dropout may well be in training mode.": (
            lambda module, x: any(part.training for part in module.modules())
        ),
        "A 0 in the answer does not come from a coin every time: ReLU writes zeros, too. Compare "
        "answers with one another.": (
            lambda module, x: any(bool((module(x) == 0).any()) for _ in range(201))
        ),
        "You seeded before each pass, so the coins fell in the same way every time.": (
            _tosses_coins(passes=9, before=lambda module: torch.manual_seed(5))
        ),
        "You switched the module to evaluation first. Asked for is what it does as it is.": (
            _tosses_coins(passes=201, before=nn.Module.eval)
        ),
        "Two passes may be equal by luck, and where few weights are dropped they often are. Try "
        "more often.": _tosses_coins(passes=2),
        "Your answer is the wrong way round: True is for a module that still tosses coins.": (
            lambda module, x: not _tosses_coins(passes=201)(module, x)
        ),
    },
)
