"""The explorer of ``05_dropout``: draw after draw, and the mean that they come to."""

from dataclasses import replace

import torch

from chapter3_helpers.dropout import dropout_mask
from chapter3_helpers.explorers.core.controls import Buttons, Seed, Settings, Slider, Switch
from chapter3_helpers.explorers.core.inputs import CLICK_CELL, clicked_query_and_key, seeded
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Facts, Matrix, Note, Panel
from chapter3_helpers.explorers.core.source import explorer_function, picked_cell
from chapter3_helpers.masking import causal_mask, mask_then_renormalise
from chapter3_helpers.sentence import TOKENS, example_inputs
from chapter3_helpers.trainable_qkv import SelfAttention_v2

DROPPED = "✕"


def _in_training(settings: Settings) -> bool:
    return settings["training"]


CONTROLS = (
    Slider(
        "draw",
        "draw",
        4,
        "Every draw tosses new coins for all the weights",
        enabled=_in_training,
        low=1,
        high=200,
        play=400,
    ),
    Slider(
        "p",
        "p",
        0.5,
        "The probability that a weight is dropped",
        enabled=_in_training,
        low=0.0,
        high=0.9,
        step=0.05,
    ),
    Switch("training", "training", True, "Dropout works in training only; model.eval() ends it"),
    Seed("seed", "seed", 123, "Another seed, other coins", enabled=_in_training),
    Buttons(
        "coins",
        "coins",
        "native",
        "The two ways in which PyTorch has tossed them",
        enabled=_in_training,
        presented=False,
        options=[("native", "native"), ("mkl", "mkl")],
    ),
    *clicked_query_and_key(lambda settings: TOKENS),
)


def dropout_state(settings: Settings) -> dict[str, torch.Tensor]:
    """Return queries, keys and values (6, 2), the causal weights (6, 6), what this draw leaves of
    them, and the mean so far."""
    with seeded(789):
        attention, x = SelfAttention_v2(3, 2), example_inputs()
    with torch.no_grad():
        weights = mask_then_renormalise(attention.attention_weights(x))
        queries, keys, values = attention.W_query(x), attention.W_key(x), attention.W_value(x)
    state = {"queries": queries, "keys": keys, "values": values, "weights": weights}
    if not _in_training(settings):
        return {**state, "dropped": weights, "mean": weights}
    shape = (settings["draw"], *weights.shape)
    kept = dropout_mask(shape, settings["p"], settings["seed"], settings["coins"])
    draws = weights * kept / (1 - settings["p"])  # (draws, 6, 6)
    return {**state, "dropped": draws[-1], "mean": draws.mean(dim=0)}


def dropout_panels(settings: Settings) -> list[Panel]:
    """Return what one draw leaves of the weights, the mean of all draws so far, the weights
    themselves, and row sums."""
    state = dropout_state(settings)
    hidden = causal_mask(len(TOKENS))
    titles = {"dropped": "weights, as they are in evaluation", "mean": "their mean"}
    if _in_training(settings):
        titles = {
            "dropped": f"draw {settings['draw']}: what is left, divided by 1 - p",
            "mean": f"mean of {settings['draw']} {'draw' if settings['draw'] == 1 else 'draws'}",
        }
    texts = [
        [f"{weight:.2f}" if weight > 0 else DROPPED for weight in row]
        for row in state["dropped"].tolist()
    ]
    cell = picked_cell(settings, state["weights"])
    at = {"marked_row": cell[0], "marked_column": cell[1]} if cell else {}
    look = {"hidden": hidden, "click": CLICK_CELL, **at}
    matrices = [
        Matrix(titles["dropped"], state["dropped"], TOKENS, texts=texts, **look),
        Matrix(
            titles["mean"],
            state["mean"],
            TOKENS,
            beside=True,
            decimals=2,
            **{**look, "click": None},  # a mean of many weights
        ),
    ]
    if _in_training(settings):
        matrices.append(Matrix("what softmax made", state["weights"], TOKENS, **look))
    if cell:
        matrices.append(_path(settings, state, hidden, *cell))
    sums = {
        title: " · ".join(f"{token} {total:.2f}" for token, total in zip(TOKENS, row, strict=True))
        for title, row in (
            ("this draw", state["dropped"].sum(dim=-1)),
            ("mean so far", state["mean"].sum(dim=-1)),
        )
    }
    return [Note(_note(settings, state)), *matrices, Facts(sums, "sums of the rows")]


def _path(
    settings: Settings, state: dict[str, torch.Tensor], hidden: torch.Tensor, row: int, column: int
) -> NumberPath:
    projected = (state[name] for name in ("queries", "keys", "values"))
    path = NumberPath(TOKENS, row, column, *projected, hidden=hidden)
    if not _in_training(settings):
        return path
    kept = (state["dropped"] > 0) | hidden  # what is hidden has nothing to lose
    return replace(path, kept=kept, p=settings["p"])


def _note(settings: Settings, state: dict[str, torch.Tensor]) -> str:
    if not _in_training(settings):
        return "Outside training nothing is dropped and nothing is scaled, whatever p and seed are."
    lost = [
        f"“{token}”" for token, row in zip(TOKENS, state["dropped"], strict=True) if not row.any()
    ]
    said = f"{' and '.join(lost)} lost everything" if lost else "every token keeps something"
    off = (state["mean"] - state["weights"]).abs().max()
    times = 1 / (1 - settings["p"])
    return (
        f"In draw {settings['draw']} {said}; what is kept counts {times:.2f} times. "
        f"The mean so far is at most {off:.2f} away from what softmax made."
    )


def dropout_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same weights."""
    lines = [
        "import torch",
        "from chapter3_helpers.dropout import dropout_mask",
        "from chapter3_helpers.masking import mask_then_renormalise",
        "from chapter3_helpers.sentence import example_inputs",
        "from chapter3_helpers.trainable_qkv import SelfAttention_v2",
        "",
        "torch.manual_seed(789)",
        "attention = SelfAttention_v2(3, 2)",
        "weights = mask_then_renormalise(attention.attention_weights(example_inputs()).detach())",
    ]
    if not _in_training(settings):
        return [*lines, "dropped = mean = weights"]
    arguments = f'{settings["p"]:g}, {settings["seed"]}, "{settings["coins"]}"'
    return [
        *lines,
        f"kept = dropout_mask(({settings['draw']}, 6, 6), {arguments})",
        f"draws = weights * kept / (1 - {settings['p']:g})",
        "dropped, mean = draws[-1], draws.mean(dim=0)",
    ]


dropout_explorer = explorer_function("dropout", CONTROLS, dropout_panels, dropout_code)
