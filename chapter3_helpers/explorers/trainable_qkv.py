"""The explorer of ``03_trainable_qkv``: how wide keys saturate softmax, and what scaling does."""

from functools import lru_cache
from typing import NamedTuple

import torch

from chapter3_helpers._language import say
from chapter3_helpers._switches import as_torch_starts, seeded
from chapter3_helpers.explorers.core.controls import Clicked, Seed, Steps
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.inputs import (
    CLICK_CELL,
    clicked_cell,
    clicked_query_and_key,
    weights_and_path,
)
from chapter3_helpers.explorers.core.panels import Matrix, Note, Panel
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.sentence import TOKENS
from chapter3_helpers.softmax import softmax

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
UNSCALED, SCALED = "unscaled", "scaled"
DRAWS = 300  # of queries and keys: with 12 the curve of most seeds turned back somewhere
ROWS = 6 * DRAWS

CONTROLS = (
    Steps("head_dim", "D", 64, say("Numbers in a query and a key"), options=WIDTHS, play=1200),
    Seed("seed", say("seed"), 123, say("Another seed draws other queries and keys")),
    *clicked_query_and_key(lambda: TOKENS),
    Clicked(
        "matrix",
        "matrix",
        None,
        "The matrix whose weight was clicked, if any",
        options=(UNSCALED, SCALED),
    ),
)


class TrainableQKVState(NamedTuple):
    """Queries and keys (6, head_dim), and the weights of their scores without and with scale."""

    queries: torch.Tensor
    keys: torch.Tensor
    unscaled: torch.Tensor  # weights (6, 6)
    scaled: torch.Tensor  # weights (6, 6)
    slopes: torch.Tensor  # (2,), unscaled and scaled, as a mean of the rows of all draws
    largest: torch.Tensor  # (2,), the largest weight of a row, of the same rows


@lru_cache(maxsize=8 * len(WIDTHS))  # the curves need every width of a seed at every step
@as_torch_starts()
def trainable_qkv_state(*, head_dim: int, seed: int) -> TrainableQKVState:
    """Draw queries and keys, and weigh them without and with the division by sqrt(head_dim).

    The slope of softmax says how strongly the weights of a row react to its scores: the root of
    the sum of the squares of all 36 slopes. It is a mean over the rows of many draws of queries
    and keys, of which the first is shown; so is the largest weight of a row.
    """
    with seeded(seed):
        drawn = [torch.randn(2, 6, head_dim), torch.randn(DRAWS - 1, 2, 6, head_dim).flatten(0, 1)]
    queries, keys = torch.cat(drawn).unflatten(0, (DRAWS, 2)).unbind(1)  # (DRAWS, 6, head_dim)
    scores = queries @ keys.transpose(-2, -1)
    weights = softmax(torch.stack([scores, scores / head_dim**0.5]))  # (2, DRAWS, 6, 6)
    slopes = torch.diag_embed(weights) - weights[..., None] * weights[..., None, :]
    rows = slopes.flatten(-2).norm(dim=-1), weights.amax(dim=-1)  # (2, DRAWS, 6) each
    means = (values.mean(dim=(-2, -1)) for values in rows)
    return TrainableQKVState(queries[0].clone(), keys[0].clone(), *weights[:, 0].clone(), *means)


def trainable_qkv_panels(
    state: TrainableQKVState,
    *,
    head_dim: int,
    seed: int,
    query: int | None,
    key: int | None,
    matrix: str | None,
) -> list[Panel]:
    """Return both weight matrices, and the slopes at every width for this seed."""
    titles = {
        UNSCALED: say("weights without the division"),
        SCALED: say("weights with the division"),
    }
    panels: list[Panel] = [Note(_note(head_dim, state))]
    for way, weights in {UNSCALED: state.unscaled, SCALED: state.scaled}.items():
        row, column = clicked_cell(query, key, weights) if way == matrix else (None, None)
        title, click = titles[way], {**CLICK_CELL, "matrix": way}
        shown = Matrix(title, weights, TOKENS, beside=way == SCALED, click=click, narrow=True)
        vectors, scaled = (state.queries, state.keys), way == SCALED
        panels += weights_and_path(shown, row, column, *vectors, scaled=scaled, of=title)
    states = [trainable_qkv_state(head_dim=width, seed=seed) for width in WIDTHS]
    curves = Curves(
        say("slope of softmax, mean of {rows} random rows", rows=ROWS),
        "D",
        say("slope"),
        WIDTHS,
        {
            say("without the division"): [state.slopes[0] for state in states],
            say("divided by sqrt(D)"): [state.slopes[1] for state in states],
        },
        mark=head_dim,
        log="x",
        beside=True,
    )
    return [*panels, curves]


def _note(head_dim: int, state: TrainableQKVState) -> str:
    if head_dim == 1:
        return say("At D = 1 both are the same: the divisor is 1.")
    (slope, scaled_slope), (largest, scaled_largest) = state.slopes, state.largest
    return say(
        "The slope of softmax is {slope} without the division and {scaled_slope} with it. "
        "The largest weight of a row is {largest} without the division and {scaled_largest} with "
        "it. These are means of {rows} random rows; the matrices show 6 of them.",
        slope=f"{slope:.2f}",
        scaled_slope=f"{scaled_slope:.2f}",
        largest=f"{largest:.2f}",
        scaled_largest=f"{scaled_largest:.2f}",
        rows=ROWS,
    )


trainable_qkv_explorer = explorer_function(
    "trainable_qkv_explorer", say("scaling"), CONTROLS, trainable_qkv_state, trainable_qkv_panels
)
