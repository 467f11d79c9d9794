"""The explorer of ``03_trainable_qkv``: how d_k saturates softmax, and what scaling does."""

from functools import lru_cache

import torch

from chapter3_helpers.explorers.core.controls import Seed, Settings, Steps
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.inputs import seeded
from chapter3_helpers.explorers.core.panels import Matrix, Note, Panel
from chapter3_helpers.explorers.core.source import source_of
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.sentence import TOKENS
from chapter3_helpers.softmax import softmax

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
DRAWS = 12  # of queries and keys, for a steady mean of the gradient

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
)


def trainable_qkv_state(settings: Settings) -> dict[str, torch.Tensor]:
    """Return the weights (6, 6) without and with scaling, and the gradients that reach the scores.

    The gradient is that of the sum of squared weights; its size is the mean of its absolute
    values over several draws of queries and keys, of which the first is shown.
    """
    shape = 6, settings["d_k"]  # of queries, and of keys
    with seeded(settings["seed"]):
        draws = [torch.randn(shape) @ torch.randn(shape).T for _ in range(DRAWS)]
    found = {}
    for name, divisor in (("unscaled", 1.0), ("scaled", settings["d_k"] ** 0.5)):
        weights = softmax(torch.stack(draws) / divisor, dim=-1)  # (DRAWS, 6, 6)
        squares = weights.square()
        gradient = 2 * (squares - weights * squares.sum(dim=-1, keepdim=True))  # through softmax
        found[name], found[f"{name}_gradient"] = weights[0], gradient.abs().mean()
    return found


@lru_cache(maxsize=8)  # the curves need every d_k of a seed, again for every step of d_k
def _states(seed: int) -> list[dict[str, torch.Tensor]]:
    return [trainable_qkv_state({"d_k": d_k, "seed": seed}) for d_k in WIDTHS]


def trainable_qkv_panels(settings: Settings) -> list[Panel]:
    """Return both weight matrices, and the gradients at every d_k for this seed."""
    states = _states(settings["seed"])
    state = states[WIDTHS.index(settings["d_k"])]
    curves = {
        "without scaling": [s["unscaled_gradient"].item() for s in states],
        "divided by sqrt(d_k)": [s["scaled_gradient"].item() for s in states],
    }
    return [
        Note(_note(settings["d_k"], state)),
        Matrix("weights without scaling", state["unscaled"], TOKENS),
        Matrix("weights, scores divided by sqrt(d_k)", state["scaled"], TOKENS, beside=True),
        Curves(
            f"gradient that reaches the scores, mean of {DRAWS} draws",
            "d_k",
            "mean size of the gradient",
            WIDTHS,
            curves,
            mark=settings["d_k"],
            log="x",
        ),
    ]


def _mean_largest(weights: torch.Tensor) -> str:
    return f"{weights.amax(dim=-1).mean().item():.2f}"


def _note(d_k: int, state: dict[str, torch.Tensor]) -> str:
    unscaled, scaled = state["unscaled_gradient"].item(), state["scaled_gradient"].item()
    if d_k == 1:
        return "At d_k = 1 both are the same: the divisor is 1."
    if unscaled < scaled:
        reaches = f"{scaled / max(unscaled, 1e-30):,.1f} times as much gradient reaches the scores."
    else:
        reaches = "no more gradient reaches the scores, as d_k is still small."
    return (
        f"With the division {reaches} The largest weight of a row is "
        f"{_mean_largest(state['scaled'])} on average; without it, "
        f"{_mean_largest(state['unscaled'])}."
    )


trainable_qkv_explorer = explorer_function(
    "scaling", CONTROLS, trainable_qkv_panels, source_of(trainable_qkv_state)
)
