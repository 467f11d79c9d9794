"""The explorer of ``03_trainable_qkv``: how wide keys saturate softmax, and what scaling does."""

from functools import lru_cache
from typing import NamedTuple

import torch

from chapter3_helpers.explorers.core.controls import Clicked, Seed, Steps
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.inputs import (
    CLICK_CELL,
    clicked_cell,
    clicked_query_and_key,
    seeded,
)
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Matrix, Note, Panel
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.sentence import TOKENS
from chapter3_helpers.softmax import softmax

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
UNSCALED, SCALED = "unscaled", "scaled"
DRAWS = 12  # of queries and keys, for a steady mean of the slope

CONTROLS = (
    Steps("d_k", "D", 64, "Numbers in a query and a key", options=WIDTHS, play=1200),
    Seed("seed", "seed", 123, "Another seed draws other queries and keys"),
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
    """Queries and keys (6, d_k), and what softmax makes of their scores without and with scale."""

    queries: torch.Tensor
    keys: torch.Tensor
    unscaled: torch.Tensor  # weights (6, 6)
    scaled: torch.Tensor  # weights (6, 6)
    unscaled_slope: torch.Tensor
    scaled_slope: torch.Tensor


@lru_cache(maxsize=8 * len(WIDTHS))  # the curves need every d_k of a seed for every step of d_k
def trainable_qkv_state(*, d_k: int, seed: int) -> TrainableQKVState:
    """Draw queries and keys, and weigh them without and with the division by sqrt(d_k).

    The slope of softmax says how strongly the weights of a row react to its scores: the root of
    the sum of the squares of all 36 slopes, as a mean over the rows of several draws of queries
    and keys, of which the first is shown.
    """
    with seeded(seed):
        draws = [(torch.randn(6, d_k), torch.randn(6, d_k)) for _ in range(DRAWS)]
    scores = torch.stack([queries @ keys.T for queries, keys in draws])
    weights = softmax(torch.stack([scores, scores / d_k**0.5]))  # (2, DRAWS, 6, 6)
    slopes = torch.diag_embed(weights) - weights[..., None] * weights[..., None, :]
    means = slopes.norm(dim=(-2, -1)).mean(dim=(-2, -1))  # (2,)
    return TrainableQKVState(*draws[0], *weights[:, 0], *means)


def trainable_qkv_panels(
    state: TrainableQKVState,
    *,
    d_k: int,
    seed: int,
    query: int | None,
    key: int | None,
    matrix: str | None,
) -> list[Panel]:
    """Return both weight matrices, and the slopes at every width for this seed."""
    titles = {
        UNSCALED: "weights without the division",
        SCALED: "weights, scores divided by sqrt(D)",
    }
    panels: list[Panel] = [Note(_note(d_k, state))]
    path = []
    for way, weights in {UNSCALED: state.unscaled, SCALED: state.scaled}.items():
        row, column = None, None
        if way == matrix:
            row, column = clicked_cell(query, key, weights) or (0, 0)
            scaled = way == SCALED
            path = [NumberPath(TOKENS, row, column, state.queries, state.keys, scaled=scaled)]
        panels.append(
            Matrix(
                titles[way],
                weights,
                TOKENS,
                marked_row=row,
                marked_column=column,
                beside=way == SCALED,
                click={**CLICK_CELL, "matrix": way},
            )
        )
    states = [trainable_qkv_state(d_k=width, seed=seed) for width in WIDTHS]
    curves = Curves(
        f"slope of softmax, mean of {DRAWS} draws",
        "D",
        "how strongly the weights react",
        WIDTHS,
        {
            "without the division": [state.unscaled_slope for state in states],
            "divided by sqrt(D)": [state.scaled_slope for state in states],
        },
        mark=d_k,
        log="x",
    )
    return [*panels, *path, curves]


def _mean_largest(weights: torch.Tensor) -> str:
    return f"{weights.amax(dim=-1).mean().item():.2f}"


def _note(d_k: int, state: TrainableQKVState) -> str:
    if d_k == 1:
        return "At D = 1 both are the same: the divisor is 1."
    return (
        f"The slope of softmax is {state.unscaled_slope:.2f} without the division and "
        f"{state.scaled_slope:.2f} with it. The largest weight of a row is "
        f"{_mean_largest(state.unscaled)} on average without the division and "
        f"{_mean_largest(state.scaled)} with it."
    )


trainable_qkv_explorer = explorer_function(
    "trainable_qkv_explorer", "scaling", CONTROLS, trainable_qkv_state, trainable_qkv_panels
)
