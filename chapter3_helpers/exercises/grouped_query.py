"""The exercises of ``12_grouped_query_kv_cache``."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from chapter3_helpers._language import say
from chapter3_helpers.exercises import INSIDE_OUT, Exercise, drawn, wants_truths


def _outside_window(num_cached: int, num_new: int, window: int, off: int = 0) -> torch.Tensor:
    keys = torch.arange(num_cached + num_new)
    queries = num_cached + torch.arange(num_new)[:, None]
    return (keys > queries) | (keys <= queries - window - off)


WINDOW_MASK = Exercise(
    name="12a",
    solution=_outside_window,
    cases=((4, 3, 2), (0, 5, 3), (6, 1, 4), (5, 4, 20), (3, 2, 1)),
    demand=wants_truths,
    misconceptions={
        "The future is hidden, but your window is not: the oldest keys have to be hidden too.": (
            lambda cached, new, window: _outside_window(cached, new, 10**9)
        ),
        "Your queries see one key too many: the query's own key is one of the `window` keys.": (
            lambda cached, new, window: _outside_window(cached, new, window, 1)
        ),
        "Your queries see one key too few: `window` keys, the query's own among them.": (
            lambda cached, new, window: _outside_window(cached, new, window, -1)
        ),
        "Your first query stands at position 0. Behind the cached tokens it stands at position "
        "num_cached.": lambda cached, new, window: _outside_window(0, cached + new, window)[:new],
        INSIDE_OUT: lambda *case: ~_outside_window(*case),
        "The window hides the old keys, but your queries see the future.": (
            lambda cached, new, window: (
                torch.arange(cached + new) <= cached + torch.arange(new)[:, None] - window
            )
        ),
    },
)


def _grouped_scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    B, H, T, D = queries.shape
    G, S = keys.shape[1:3]
    rows = queries.reshape(B, G, H // G * T, D)
    return (rows @ keys.transpose(-2, -1)).reshape(B, H, T, S)


class _Largest(TorchDispatchMode):
    """Keeps the size of the largest tensor that is made inside the ``with`` block."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):  # a view counts as the tensor that it shows
            held = result.untyped_storage().nbytes() // result.element_size()
            self.numbers = max(self.numbers, held)
        return result


def _repeated_keys(grouped_scores: Callable[..., torch.Tensor], case: tuple) -> str:
    """Complain of a tensor that is larger than queries, keys and scores."""
    queries, keys = case
    with _Largest() as largest:
        scores = grouped_scores(queries, keys)
    if largest.numbers > max(queries.numel(), keys.numel(), scores.numel()):
        return say(
            "The scores are right, but on the way a tensor of {largest} numbers was made, for "
            "{keys} in the keys: they were repeated. (A product with a broadcast dimension does "
            "so, too.)",
            largest=largest.numbers,
            keys=keys.numel(),
        )
    return ""


GROUPED_SCORES = Exercise(
    name="12b",
    solution=_grouped_scores,
    cases=(
        # repeated keys would be the largest
        (drawn(2, 12, 5, 8), drawn(2, 4, 7, 8, seed=2)),
        (drawn(3, 8, 1, 10), drawn(3, 2, 9, 10, seed=2)),
    ),
    demand=_repeated_keys,
    misconceptions={
        "Query head h reads your key head h % G. Query heads that share a key head stand next to "
        "one another: head h reads key head h // (H // G).": lambda queries, keys: (
            queries @ keys.repeat(1, queries.shape[1] // keys.shape[1], 1, 1).transpose(-2, -1)
        ),
        "All your query heads read the first key head. That is multi-query attention; here there "
        "are G key heads.": lambda queries, keys: queries @ keys[:, :1].transpose(-2, -1),
        "Your scores are divided by sqrt(D). The task asks for the dot products alone.": (
            lambda queries, keys: _grouped_scores(queries, keys) / queries.shape[-1] ** 0.5
        ),
    },
)


def _heads(weight: torch.Tensor, num_heads: int) -> torch.Tensor:
    return weight.view(num_heads, -1, weight.shape[1])  # (H, D, d)


POOL_HEADS = Exercise(
    name="12c",
    solution=lambda weight, H, G: (
        _heads(weight, H)
        .unflatten(0, (G, -1))  # (G, H / G, D, d)
        .mean(dim=1)
        .flatten(end_dim=1)
    ),
    cases=((drawn(6 * 5, 7), 6, 2), (drawn(8 * 3, 11), 8, 4)),
    misconceptions={
        "You average heads that lie G apart. The query heads of a group stand next to one another, "
        "so the key heads that they had do too.": lambda weight, H, G: (
            _heads(weight, H).unflatten(0, (-1, G)).mean(dim=0).flatten(0, 1)
        ),
        "You average neighbouring rows, which are numbers of one head. Cut the rows into heads "
        "first, then average head with head.": lambda weight, H, G: weight.unflatten(
            0, (-1, H // G)
        ).mean(dim=1),
        "You keep one head of each group and drop the others. All of them go into the mean.": (
            lambda weight, H, G: _heads(weight, H)[:: H // G].flatten(0, 1)
        ),
        "You add the heads of a group. The sum gives keys that are too long, and so scores that "
        "are too large: take the mean.": lambda weight, H, G: (
            _heads(weight, H).unflatten(0, (G, -1)).sum(dim=1).flatten(0, 1)
        ),
    },
)


def _tokens(memory, L, G, D, size):
    return memory / (2 * L * G * D * size)


TOKENS_THAT_FIT = Exercise(
    name="12d",
    solution=lambda *sizes: math.floor(_tokens(*sizes)),
    # small, so that one token more is seen: of the last, almost all fits, little, and nothing
    cases=((10_000, 3, 5, 7, 4), (50_000, 7, 3, 11, 4), (5_040, 3, 5, 7, 4)),
    misconceptions={
        "You count keys or values. A token leaves both in the cache.": (
            lambda memory, L, G, D, size: memory // (L * G * D * size)
        ),
        "You count one layer. Every layer has keys and values of its own.": (
            lambda memory, L, G, D, size: memory // (2 * G * D * size)
        ),
        "You count the last token, which fits only in part. Round down.": (
            lambda *sizes: math.ceil(_tokens(*sizes)),
            lambda *sizes: round(_tokens(*sizes)),
            lambda *sizes: _tokens(*sizes),
        ),
    },
)
