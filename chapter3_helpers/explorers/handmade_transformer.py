"""The explorer of ``11_handmade_transformer``: change one weight and watch what breaks."""

from typing import NamedTuple

import numpy as np

from chapter3_helpers._language import say, sentences, to_say
from chapter3_helpers.explorers.core.controls import Buttons, DropDown, Steps, TextField
from chapter3_helpers.explorers.core.inputs import (
    clicked_cell,
    clicked_query_and_key,
    read_letters,
    weights_and_path,
)
from chapter3_helpers.explorers.core.panels import Matrix, Note, Panel
from chapter3_helpers.explorers.core.style import brief
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.handmade_transformer import (
    ALPHABET,
    HIDDEN,
    MODEL,
    HandmadeTransformer,
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
    return {"position_embedding": COLUMNS[:5], "c_proj_bias": (say("bias"),)}.get(name, COLUMNS)


def _place(name: str, row: int, column: int) -> tuple[int, ...]:
    """Return the index of the weight in its array."""
    return (column,) if name == "c_proj_bias" else (row, column)


def _row_options(name: str) -> list[tuple[str, int]]:
    return [(row, i) for i, row in enumerate(_row_names(name))]


def _value_options(name: str, row: int, column: int) -> list[tuple[str, float]]:
    """Offer the values, and say at which the weight is as it was."""
    was = MODEL.weights()[name][_place(name, row, column)]
    return [
        (say("{value} (as it was)", value=brief(value)) if value == was else brief(value), value)
        for value in map(float, VALUES)
    ]


CONTROLS = (
    TextField(
        "prompt", say("prompt"), "aabaa", say("What the model continues; the letters a and b")
    ),
    DropDown(
        "name",
        say("change in"),
        "W_query",
        say("Which array of weights"),
        options=tuple(MODEL.weights()),
    ),
    Buttons(
        "row",
        say("row"),
        4,
        say("The row of the weight: what is read"),
        lambda name: name != "c_proj_bias",
        options=_row_options,
    ),
    Buttons(
        "column",
        say("column"),
        3,
        say("The column of the weight: what is written"),
        options=[(name, i) for i, name in enumerate(COLUMNS)],
    ),
    Steps(
        "value",
        say("new weight"),
        0.0,
        say("What the weight is changed to"),
        options=_value_options,
    ),
    *clicked_query_and_key(lambda prompt: prompt[-MODEL.context_length :]),
)


class HandmadeTransformerState(NamedTuple):
    """What the changed model does, and what it did before."""

    model: HandmadeTransformer
    place: tuple[int, ...]  # of the changed weight in its array
    was: float  # that weight before
    tokens: str  # the last five at most
    results: dict[str, np.ndarray]  # all that the forward pass computes, as ``forward`` says
    completion: str
    completion_before: str
    right: tuple[int, int]  # letters of aab, aab, ... that are right, of so many


def handmade_transformer_state(
    *, prompt: str, name: str, row: int, column: int, value: float
) -> HandmadeTransformerState:
    """Change one weight, and let the model go on with a prompt.

    Raises:
        ValueError: the prompt is empty or too long, or holds letters other than a and b.
    """
    prompt = read_letters(prompt, "prompt", LONGEST, ALPHABET)
    place = _place(name, row, column)
    model, tokens = MODEL.with_weight(name, place, value), prompt[-MODEL.context_length :]
    return HandmadeTransformerState(
        model,
        place,
        MODEL.weights()[name][place],
        tokens,
        forward(tokenize(tokens), model),
        complete(prompt, NEW_TOKENS, model),
        complete(prompt, NEW_TOKENS),
        accuracy(PATTERN, model),
    )


def handmade_transformer_panels(
    state: HandmadeTransformerState,
    *,
    prompt: str,
    name: str,
    value: float,
    query: int | None,
    key: int | None,
) -> list[Panel]:
    """Return what the change does to completion and accuracy, to weights and to logits."""
    labels = [f"{place}: {letter}" for place, letter in enumerate(state.tokens)]
    array, was, results = state.model.weights()[name], state.was, state.results
    array, (i, j) = np.atleast_2d(array), (0, *state.place)[-2:]  # a bias is one row
    texts = [[brief(number) for number in numbers] for numbers in array.tolist()]
    title = say("{name}, unchanged", name=name)
    if value != was:
        place = ", ".join(map(str, state.place))
        title = say("{name}, changed at [{place}]", name=name, place=place)
        texts[i][j] = f"{brief(was)} → {brief(value)}"
    hidden = np.triu(np.ones((len(labels),) * 2, dtype=bool), k=1)
    row, column = clicked_cell(query, key, results["weights"])
    parts = (results[part] for part in ("queries", "keys", "values"))
    masked = results["scores"] + HIDDEN * hidden
    matrix = Matrix(say("attention weights"), results["weights"], labels, hidden=hidden)
    return [
        Note(_note(state, prompt, value)),
        Matrix(
            title,
            array,
            _row_names(name),
            COLUMNS,
            signed=True,
            marked_row=i,
            marked_column=j,
            corner=(say("row"), say("column")),
            sides=("row", "column"),
            texts=texts,
            click={"r": "row", "c": "column"},
        ),
        *weights_and_path(matrix, row, column, *parts, masked=masked),
        Matrix(
            "logits",
            results["logits"],
            labels,
            list(ALPHABET),
            signed=True,
            marked_row=row,
            corner=(say("token"), say("next token")),
            sides=("query", ""),
            click={"q": "query"},
            texts=[[brief(logit) for logit in pair] for pair in results["logits"].tolist()],
        ),
    ]


def _note(state: HandmadeTransformerState, prompt: str, value: float) -> str:
    number, total = state.right
    of = {"prompt": prompt, "completion": state.completion, "before": state.completion_before}
    of |= {"was": brief(state.was), "value": brief(value), "number": number, "total": total}
    if value == state.was:
        return say(
            "This weight is as it was, {was}: “{prompt}” goes on with “{completion}”, and {number} "
            "of {total} letters of aab, aab, … are right.",
            **of,
        )
    same = state.completion == state.completion_before
    if number == total and not same:
        return say(
            "From {was} to {value}: “{prompt}” goes on with “{completion}” instead of “{before}”, "
            "and yet {number} of {total} letters of aab, aab, … are right: a prompt that the count "
            "misses.",
            **of,
        )
    as_before = to_say(
        "From {was} to {value}: “{prompt}” goes on with “{completion}” as before, and {number} of "
        "{total} letters of aab, aab, … are right."
    )
    instead = to_say(
        "From {was} to {value}: “{prompt}” goes on with “{completion}” instead of “{before}”, and "
        "{number} of {total} letters of aab, aab, … are right."
    )
    question = say("Is there a prompt that shows the change?")
    if number < total:
        question = say("Which values would keep them all right?")
    return sentences(say(as_before if same else instead, **of), question)


handmade_transformer_explorer = explorer_function(
    "handmade_transformer_explorer",
    say("one weight changed"),
    CONTROLS,
    handmade_transformer_state,
    handmade_transformer_panels,
)
