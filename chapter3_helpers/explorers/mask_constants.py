"""The second explorer of ``04_masking``: a mask constant, a format, large scores."""

import math
from typing import Any

import torch

from chapter3_helpers.explorers.core.controls import Buttons, Seed, Settings, Steps, Switch
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.inputs import cell_picks, picked_cell, seeded, weight_matrix
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Facts, Note, Panel
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.sentence import TOKENS, example_inputs
from chapter3_helpers.softmax import softmax
from chapter3_helpers.trainable_qkv import SelfAttention_v2

DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}
CONSTANTS = ("-1e4", "-1e5", "-1e9", "-1e10", "-inf")
OVER, ADDED = "written over the score", "added to the score"
SIZES = (1, 10, 100, 1000, 5000, 10_000, 20_000, 25_000, 30_000, 40_000, 50_000, 100_000)
SIZES += (200_000, 300_000, 1_000_000, 1_000_000_000, 3_000_000_000, 100_000_000_000)

CONTROLS = (
    Steps(
        "size",
        "scores times",
        30_000,
        "How large the real scores are: all of them are multiplied by this",
        options=[(f"{size:,}", size) for size in SIZES],
    ),
    Buttons("constant", "mask with", "-1e4", "What hidden scores become", options=CONSTANTS),
    Buttons(
        "dtype", "number format", "float16", "What the scores are kept in", options=tuple(DTYPES)
    ),
    Buttons(
        "way",
        "the constant is",
        OVER,
        "Two ways that libraries go",
        options=(OVER, ADDED),
        presented=False,
    ),
    Switch(
        "padding",
        "first row sees nothing",
        False,
        "As where a text starts with padding",
        presented=False,
    ),
    Seed("seed", "seed", 3, "Another seed draws other weight matrices"),
    *cell_picks(lambda settings: TOKENS),
)


def mask_constants_state(settings: Settings) -> dict[str, Any]:
    """Return scores (T, T), what is hidden, scores with the constant (T, T), the constant as
    stored, and the weights (T, T)."""
    x, dtype = example_inputs(), DTYPES[settings["dtype"]]
    with seeded(settings["seed"]):
        attention = SelfAttention_v2(3, 2)
    with torch.no_grad():
        scores = attention.W_query(x) @ attention.W_key(x).T / 2**0.5  # (T, T)
    hidden = causal_mask(len(x))
    hidden[0, 0] = settings["padding"]
    stored = torch.tensor(float(settings["constant"])).to(dtype)
    sizes = torch.tensor(SIZES, dtype=torch.float32)
    every = (sizes[:, None, None] * scores).to(dtype)  # (sizes, T, T)
    kept = every.masked_fill(hidden, 0.0) if settings["way"] == OVER else every
    masked = kept + torch.where(hidden, stored, 0.0)
    weights = softmax(masked)
    chosen = SIZES.index(settings["size"])
    leaks = (weights.float() * hidden).sum(dim=-1)  # (sizes, T); a row of NaN stays NaN
    return {
        "scores": every[chosen],
        "hidden": hidden,
        "masked": masked[chosen],
        "stored": stored,
        "weights": weights[chosen],
        "leak": leaks[chosen],
        "worst_leaks": leaks.amax(dim=-1),
    }


def mask_constants_panels(settings: Settings) -> list[Panel]:
    """Return the weights, how much of them lies on hidden tokens, and that against the size."""
    state = mask_constants_state(settings)
    dtype = DTYPES[settings["dtype"]]
    visible = state["scores"][~state["hidden"]].float()
    facts = {
        "largest finite number": _say(torch.finfo(dtype).max),
        "constant as stored": _say(state["stored"].item()),
        "visible scores": f"{_say(visible.min().item())} to {_say(visible.max().item())}",
        "weight on hidden, by row": " ".join(f"{leak:.2f}" for leak in state["leak"]),
    }
    cell = picked_cell(settings, state["weights"])
    parts = {name: state[name].float() for name in ("scores", "masked")}
    return [
        Note(_note(settings, state)),
        weight_matrix("weights; a hatched row is NaN", state["weights"], TOKENS, cell),
        *([NumberPath(TOKENS, *cell, hidden=state["hidden"], **parts)] if cell else []),
        Curves(
            "weight on hidden tokens",
            "scores times",
            "worst row",
            torch.tensor(SIZES),
            {f"{settings['constant']} in {settings['dtype']}": state["worst_leaks"]},
            mark=settings["size"],
            log="x",
        ),
        Facts(facts, "the numbers"),
    ]


def _say(number: float) -> str:
    return f"{number:,.0f}" if 1000 <= abs(number) < 1e7 else f"{number:.3g}"


def _note(settings: Settings, state: dict[str, Any]) -> str:
    sentences = []
    if math.isinf(state["stored"]) and settings["constant"] != "-inf":
        sentences.append(
            f"{settings['constant']} does not fit into {settings['dtype']} and is -inf there "
            "(masked_fill refuses it with an error)."
        )
    leak, visible = state["leak"], state["scores"][~state["hidden"]]
    nan = leak.isnan()
    if not visible.isfinite().all():
        sentences.append("Real scores have overflowed to infinity as well.")
    if nan.any():
        rows = ", ".join(token for token, bad in zip(TOKENS, nan.tolist(), strict=True) if bad)
        sentences.append(f"No weights exist for {rows}: an infinity less itself is NaN.")
    leaking = leak.nan_to_num() > 1e-4
    if leaking.any():
        rows = ", ".join(token for token, bad in zip(TOKENS, leaking.tolist(), strict=True) if bad)
        where = "rows" if leaking.sum() > 1 else "row"
        sentences.append(f"Hidden tokens get weight in the {where} of {rows}.")
        if settings["way"] == OVER and not settings["padding"]:
            sentences.append("There the real scores lie below the constant, or too close to it.")
    elif not nan.any():
        sentences.append("Nothing leaks: no hidden token gets as much as 0.0001.")
    return " ".join(sentences)


def mask_constants_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same weights."""
    masked = "scores.masked_fill(hidden, 0.0)" if settings["way"] == OVER else "scores"
    return [
        "import torch",
        "from chapter3_helpers.masking import causal_mask",
        "from chapter3_helpers.sentence import example_inputs",
        "from chapter3_helpers.softmax import softmax",
        "from chapter3_helpers.trainable_qkv import SelfAttention_v2",
        f"torch.manual_seed({settings['seed']})",
        "x, attention = example_inputs(), SelfAttention_v2(3, 2).requires_grad_(False)",
        "scores = attention.W_query(x) @ attention.W_key(x).T / 2**0.5",
        f"scores = ({float(settings['size'])} * scores).to(torch.{settings['dtype']})",
        "hidden = causal_mask(6)" + ("; hidden[0, 0] = True" if settings["padding"] else ""),
        f"constant = torch.tensor(float({settings['constant']!r})).to(scores.dtype)",
        f"weights = softmax({masked} + torch.where(hidden, constant, 0.0))",
    ]


mask_constants_explorer = explorer_function(
    "mask constants", CONTROLS, mask_constants_panels, mask_constants_code
)
