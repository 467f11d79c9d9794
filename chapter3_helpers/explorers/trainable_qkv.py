"""The explorer of ``03_trainable_qkv``: how d_k saturates softmax, and what scaling does."""

from functools import lru_cache

import torch

from chapter3_helpers.explorers.core.controls import Clicked, Seed, Settings, Steps
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.inputs import CLICK_CELL, clicked_query_and_key, seeded
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Matrix, Note, Panel
from chapter3_helpers.explorers.core.source import explorer_function, picked_cell, source_of
from chapter3_helpers.sentence import TOKENS
from chapter3_helpers.softmax import softmax

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
WAYS = ("unscaled", "scaled")
DRAWS = 12  # of queries and keys, for a steady mean of the slope

CONTROLS = (
    Steps(
        "d_k",
        "d_k",
        64,
        "Numbers in a query and a key",
        options=WIDTHS,
        play=1200,
    ),
    Seed("seed", "seed", 123, "Another seed draws other queries and keys"),
    *clicked_query_and_key(lambda settings: TOKENS),
    Clicked("matrix", "matrix", None, "The matrix whose weight was clicked, if any", options=WAYS),
)


def trainable_qkv_state(settings: Settings) -> dict[str, torch.Tensor]:
    """Return queries and keys (6, d_k), the weights (6, 6) without and with the division, and the
    slope of softmax for both.

    The slope says how strongly the weights of a row react to its scores: the root of the sum of
    the squares of all 36 slopes, as a mean over the rows of several draws of queries and keys, of
    which the first is shown.
    """
    shape = 6, settings["d_k"]  # of queries, and of keys
    with seeded(settings["seed"]):
        draws = [(torch.randn(shape), torch.randn(shape)) for _ in range(DRAWS)]
    scores = torch.stack([queries @ keys.T for queries, keys in draws])  # (DRAWS, 6, 6)
    found = {"queries": draws[0][0], "keys": draws[0][1]}
    for name, divisor in (("unscaled", 1.0), ("scaled", settings["d_k"] ** 0.5)):
        weights = softmax(scores / divisor, dim=-1)
        slopes = torch.diag_embed(weights) - weights[..., None] * weights[..., None, :]
        found[name], found[f"{name}_slope"] = weights[0], slopes.norm(dim=(-2, -1)).mean()
    return found


@lru_cache(maxsize=8)  # the curves need every d_k of a seed, again for every step of d_k
def _states(seed: int) -> list[dict[str, torch.Tensor]]:
    return [trainable_qkv_state({"d_k": d_k, "seed": seed}) for d_k in WIDTHS]


def trainable_qkv_panels(settings: Settings) -> list[Panel]:
    """Return both weight matrices, and the slopes at every d_k for this seed."""
    states = _states(settings["seed"])
    state = states[WIDTHS.index(settings["d_k"])]
    curves = {
        "without the division": [s["unscaled_slope"].item() for s in states],
        "divided by sqrt(d_k)": [s["scaled_slope"].item() for s in states],
    }
    titles = "weights without the division", "weights, scores divided by sqrt(d_k)"
    return [
        Note(_note(settings["d_k"], state)),
        *(_matrix(title, state, settings, way) for way, title in zip(WAYS, titles, strict=True)),
        *_path(settings, state),
        Curves(
            f"slope of softmax, mean of {DRAWS} draws",
            "d_k",
            "how strongly the weights react",
            WIDTHS,
            curves,
            mark=settings["d_k"],
            log="x",
        ),
    ]


def _matrix(title: str, state: dict[str, torch.Tensor], settings: Settings, way: str) -> Matrix:
    row, column = _cell(settings, state) if settings.get("matrix") == way else (None, None)
    return Matrix(
        title,
        state[way],
        TOKENS,
        marked_row=row,
        marked_column=column,
        beside=way == "scaled",
        click={**CLICK_CELL, "matrix": way},
    )


def _cell(settings: Settings, state: dict[str, torch.Tensor]) -> tuple[int, int]:
    return picked_cell(settings, state[settings.get("matrix")]) or (0, 0)


def _path(settings: Settings, state: dict[str, torch.Tensor]) -> list[Panel]:
    if settings.get("matrix") is None:
        return []
    row, column = _cell(settings, state)
    scaled = settings.get("matrix") == "scaled"
    return [NumberPath(TOKENS, row, column, state["queries"], state["keys"], scaled=scaled)]


def _mean_largest(weights: torch.Tensor) -> str:
    return f"{weights.amax(dim=-1).mean().item():.2f}"


def _note(d_k: int, state: dict[str, torch.Tensor]) -> str:
    if d_k == 1:
        return "At d_k = 1 both are the same: the divisor is 1."
    slopes = state["unscaled_slope"].item(), state["scaled_slope"].item()
    return (
        f"The slope of softmax is {slopes[0]:.2f} without the division and {slopes[1]:.2f} with "
        f"it. The largest weight of a row is {_mean_largest(state['unscaled'])} on average without "
        f"the division and {_mean_largest(state['scaled'])} with it."
    )


trainable_qkv_explorer = explorer_function(
    "scaling", CONTROLS, trainable_qkv_panels, source_of(trainable_qkv_state)
)
