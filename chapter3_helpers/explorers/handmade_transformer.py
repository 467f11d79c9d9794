"""The explorer of ``10_handmade_transformer``: change one weight and watch what breaks."""

from typing import Any

import numpy as np

from chapter3_helpers.explorers.core.controls import Buttons, DropDown, Settings, Steps, TextField
from chapter3_helpers.explorers.core.inputs import clicked_query_and_key, weight_matrix
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Matrix, Note, Panel
from chapter3_helpers.explorers.core.source import explorer_function, picked_cell
from chapter3_helpers.handmade_transformer import (
    ALPHABET,
    HIDDEN,
    MODEL,
    accuracy,
    complete,
    forward,
    tokenize,
)

COLUMNS = ("pos 0", "pos 1", "pos 2", "pos 3", "pos 4", "is a", "is b", "scratch")
VALUES = (-2048, -1024, -512, -100, -10, -2, -1, -0.5, 0)
VALUES += (0.5, 1, 2, 10, 100, 512, 1024, 2048)
PATTERN = "aab" * 10
NEW_TOKENS = 10
LONGEST = 40


def _row_names(name: str) -> tuple[str, ...]:
    """Say what the rows of an array stand for; a bias is one row."""
    if name == "token_embedding":
        return tuple(ALPHABET)
    return {"position_embedding": COLUMNS[:5], "c_proj_bias": ("bias",)}.get(name, COLUMNS)


def _place(settings: Settings) -> tuple[int, ...]:
    """Return the index of the weight in its array."""
    row, column = settings["row"], settings["column"]
    return (column,) if settings["name"] == "c_proj_bias" else (row, column)


def _row_options(settings: Settings) -> list[tuple[str, int]]:
    return [(name, i) for i, name in enumerate(_row_names(settings["name"]))]


def _value_options(settings: Settings) -> list[tuple[str, float]]:
    """Offer the values, and say at which the weight is as it was."""
    was = MODEL.weights()[settings["name"]][_place(settings)]
    return [
        (f"{value:g} (as it was)" if value == was else f"{value:g}", float(value))
        for value in VALUES
    ]


CONTROLS = (
    TextField("prompt", "prompt", "aabaa", "What the model continues; the letters a and b"),
    DropDown(
        "name",
        "change in",
        "W_query",
        "Which array of weights",
        options=tuple(MODEL.weights()),
    ),
    Buttons(
        "row",
        "row",
        4,
        "The row of the weight: what is read",
        lambda settings: settings["name"] != "c_proj_bias",
        options=_row_options,
    ),
    Buttons(
        "column",
        "column",
        3,
        "The column of the weight: what is written",
        options=[(name, i) for i, name in enumerate(COLUMNS)],
    ),
    Steps("value", "new weight", 0.0, "What the weight is changed to", options=_value_options),
    *clicked_query_and_key(lambda settings: settings["prompt"][-MODEL.context_length :]),
)


def handmade_transformer_state(settings: Settings) -> dict[str, Any]:
    """Return what the changed model does, and what it did before.

    Returns:
        ``model``; ``tokens``, the last five at most; ``results``, all that its forward pass
        computes; of these ``weights`` (T, T) and ``logits`` (T, 2);
        ``completion`` and ``completion_before``; ``right``, a pair of counts.

    Raises:
        ValueError: the prompt is empty or too long, or holds letters other than a and b.
    """
    prompt = settings["prompt"]
    strangers = [character for character in prompt if character not in ALPHABET]
    if strangers:
        raise ValueError(f"The model knows the letters a and b alone, not “{strangers[0]}”.")
    if not 0 < len(prompt) <= LONGEST:
        raise ValueError(f"This prompt has {len(prompt)} letters; type 1 to {LONGEST}, a and b.")
    model = MODEL.with_weight(settings["name"], _place(settings), settings["value"])
    tokens = prompt[-model.context_length :]
    results = forward(tokenize(tokens), model)
    return {
        "model": model,
        "tokens": tokens,
        "results": results,
        "weights": results["weights"],
        "logits": results["logits"],
        "completion": complete(prompt, NEW_TOKENS, model),
        "completion_before": complete(prompt, NEW_TOKENS),
        "right": accuracy(PATTERN, model),
    }


def handmade_transformer_panels(settings: Settings) -> list[Panel]:
    """Return what the change does to completion and accuracy, to weights and to logits."""
    state = handmade_transformer_state(settings)
    labels = [f"{place}: {letter}" for place, letter in enumerate(state["tokens"])]
    name, place = settings["name"], _place(settings)
    array, was = state["model"].weights()[name], MODEL.weights()[name][place]
    array, (row, column) = np.atleast_2d(array), (0, *place)[-2:]  # a bias is one row
    texts = [[f"{number:g}" for number in numbers] for numbers in array.tolist()]
    title = f"{name}, unchanged"
    if settings["value"] != was:
        title = f"{name}, changed at [{', '.join(map(str, place))}]"
        texts[row][column] = f"{was:g} → {settings['value']:g}"
    hidden = np.triu(np.ones((len(labels),) * 2, dtype=bool), k=1)
    cell = picked_cell(settings, state["weights"])
    parts = (state["results"][name] for name in ("queries", "keys", "values"))
    masked = state["results"]["scores"] + HIDDEN * hidden
    return [
        Note(_note(state, settings)),
        Matrix(
            title,
            array,
            _row_names(name),
            COLUMNS,
            signed=True,
            marked_row=row,
            marked_column=column,
            corner=("row", "column"),
            texts=texts,
        ),
        weight_matrix("attention weights", state["weights"], labels, cell, hidden),
        *([NumberPath(labels, *cell, *parts, hidden=hidden, masked=masked)] if cell else []),
        Matrix(
            "logits",
            state["logits"],
            labels,
            list(ALPHABET),
            signed=True,
            corner=("token", "next token"),
            texts=[[f"{logit:g}" for logit in pair] for pair in (state["logits"] + 0.0).tolist()],
        ),
    ]


def _note(state: dict[str, Any], settings: Settings) -> str:
    number, total = state["right"]
    was, before = MODEL.weights()[settings["name"]][_place(settings)], state["completion_before"]
    same = state["completion"] == before
    writes = f"“{settings['prompt']}” goes on with “{state['completion']}”"
    count = f"{number} of {total} letters of aab, aab, … are right"
    if settings["value"] == was:
        return f"This weight is as it was, {was:g}: {writes}, and {count}."
    writes += " as before" if same else f" instead of “{before}”"
    change = f"From {was:g} to {settings['value']:g}: {writes}"
    if number < total:
        return f"{change}, and {count}. Which values would keep them all right?"
    if not same:
        return f"{change}, and yet {count}: a prompt that the count misses."
    return f"{change}, and {count}. Is there a prompt that shows the change?"


def handmade_transformer_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same results."""
    prompt, tokens = settings["prompt"], settings["prompt"][-MODEL.context_length :]
    change = f"{settings['name']!r}, {_place(settings)}, {settings['value']}"
    return [
        "from chapter3_helpers.handmade_transformer import (",
        "    MODEL, accuracy, complete, forward, tokenize",
        ")",
        "",
        f"model = MODEL.with_weight({change})",
        f"results = forward(tokenize({tokens!r}), model)",
        'weights, logits = results["weights"], results["logits"]',
        f"completion = complete({prompt!r}, {NEW_TOKENS}, model)",
        'right = accuracy("aab" * 10, model)',
    ]


handmade_transformer_explorer = explorer_function(
    "one weight changed", CONTROLS, handmade_transformer_panels, handmade_transformer_code
)
