"""The second explorer of ``06_multihead_wrapper``: heads that learn who and whom."""

from typing import Any

import torch

from chapter3_helpers._figures.colours import KEY_LABEL
from chapter3_helpers.explorers.core.controls import Buttons, Settings, Slider, TextField
from chapter3_helpers.explorers.core.inputs import CLICK_CELL, clicked_query_and_key
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Matrix, Note, Panel
from chapter3_helpers.explorers.core.source import explorer_function, picked_cell, source_of
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.tasks import who_whom

CONTROLS = (
    Buttons(
        "learners",
        "heads",
        2,
        "The total width is the same",
        options=[("one, 32 wide", 1), ("two, 16 wide", 2)],
    ),
    Slider(
        "step",
        "batches of training",
        400,
        "How long they have learned",
        low=0,
        high=400,
        step=10,
        play=200,
    ),
    TextField(
        "names",
        "sentence",
        "Ann thanked Bob",
        "Any three words: who, verb, whom",
        presented=True,
    ),
    *clicked_query_and_key(lambda settings: who_whom.encode(settings["names"])[0]),
)


def multihead_wrapper_state(settings: Settings) -> dict[str, Any]:
    """Return the tokens, x (4, 20) and the reader of them; the weights (H, 4, 4); its answer, who
    and whom; and its loss on the batch that comes next."""
    tokens, x = who_whom.encode(settings["names"])
    states, losses = who_whom.trained_reader(settings["learners"])
    reader = states[settings["step"]]
    return {
        "tokens": tokens,
        "x": x,
        "reader": reader,
        "weights": reader.attention.attention_weights(x).detach(),
        "answer": who_whom.answer(reader, settings["names"]),
        "loss": losses[min(settings["step"], len(losses) - 1)],
    }


def multihead_wrapper_panels(settings: Settings) -> list[Panel]:
    """Return what the full stop sees in every head, and what the reader answers."""
    state = multihead_wrapper_state(settings)
    tokens, rows = state["tokens"], state["weights"][:, -1]  # (H, T)
    names = [f"head {head}" for head in range(len(rows))] if len(rows) > 1 else ["the head"]
    who, whom = state["answer"]
    right = [who == tokens[0], whom == tokens[2]]
    verdict = "both right" if all(right) else "one right" if any(right) else "both wrong"
    sentence = " ".join(tokens[:-1])
    title = "where the full stop looks"
    cell = picked_cell(settings, rows)
    head, column = cell or (None, None)
    at = {"marked_row": head, "marked_column": column}
    return [
        Note(
            f"After {settings['step']} batches, “{sentence}” – who? “{who}”. Whom? “{whom}”: "
            f"{verdict}. The loss on one batch is {state['loss']:.2f}."
        ),
        Lines(title, rows, names, tokens, sides="from head to token", click=CLICK_CELL),
        Matrix(title, rows, names, tokens, corner=("head", KEY_LABEL), click=CLICK_CELL, **at),
        *([_path(state, head, column)] if cell else []),
    ]


@torch.no_grad()
def _path(state: dict[str, Any], head: int, column: int) -> NumberPath:
    attention, tokens = state["reader"].attention.heads[head], state["tokens"]
    layers = attention.W_query, attention.W_key, attention.W_value
    projected, hidden = (layer(state["x"]) for layer in layers), causal_mask(len(tokens))
    return NumberPath(tokens, len(tokens) - 1, column, *projected, hidden=hidden)


multihead_wrapper_explorer = explorer_function(
    "several heads", CONTROLS, multihead_wrapper_panels, source_of(multihead_wrapper_state)
)
