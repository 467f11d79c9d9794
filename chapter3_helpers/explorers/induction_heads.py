"""The explorer of ``10_induction_heads``: how two layers continue a phrase, and one cannot.

Type a phrase and its beginning once more, choose a letter, and see which earlier letters each layer
looks at and which letter is expected next. Take away a layer, or the residual. A reader is trained
when it is first needed; that takes some seconds. A class that was written in a notebook's cell is
shown by ``induction_heads_explorer(LetterReader)``.
"""

import contextlib
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn

from chapter3_helpers._language import say, sentences, to_say
from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.explorers.core.controls import Buttons, Clicked, Switch, TextField
from chapter3_helpers.explorers.core.inputs import (
    clicked_query_and_key,
    options_of,
    read_letters,
    token_options,
)
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Bars, Matrix, Note, Panel
from chapter3_helpers.explorers.core.widget import Explorer, described
from chapter3_helpers.induction_heads import LetterReader
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.read_attention import read_attention
from chapter3_helpers.recurrent import ALPHABET
from chapter3_helpers.tasks.phrases import (
    LENGTH,
    encode,
    layer_inputs,
    layer_weights,
    trained_reader,
)

PHRASE = "holidayholi"
LIKELIEST = 5
SAME = 1e-4  # what rounding makes of one weight computed twice
ONE, TWO = to_say("one layer"), to_say("two layers")


def read_phrase(phrase: str) -> str:
    """Return the letters of a phrase, in small letters and without spaces.

    Raises:
        ValueError: it is empty or too long, or holds anything but a to z.
    """
    return read_letters("".join(phrase.split()), "phrase", LENGTH)


def _labels(letters: str) -> list[str]:
    return [f"{place} {letter}" for place, letter in enumerate(letters)]


CONTROLS = (
    TextField(
        "phrase",
        say("phrase"),
        PHRASE,
        say("Type a phrase twice, or once and its beginning again"),
    ),
    Buttons(
        "layers",
        say("attention layers"),
        TWO,
        say("How many layers of attention"),
        options=(ONE, TWO),
    ),
    Switch(
        "residual",
        say("residual"),
        True,
        say("Add what goes into a layer to what comes out of it"),
    ),
    Buttons(
        "letter",
        say("letter"),
        len(PHRASE) - 1,
        say("Whose look back, and which next letter, to show"),
        options=options_of(read_phrase, token_options),
        to_the_end=True,
    ),
    clicked_query_and_key(read_phrase)[1],
    Clicked(
        "layer",
        "layer",
        None,
        "The number of the layer whose weight was clicked, if any",
        options=lambda layers: range(1 if layers == ONE else 2),
    ),
)


class InductionHeadsState(NamedTuple):
    """What a trained reader makes of a phrase."""

    letters: str
    reader: nn.Module
    weights: torch.Tensor  # (layers, T, T)
    chances: torch.Tensor  # (T, 26), the probability of every letter to come next, behind each


@as_torch_starts()
def induction_heads_state(
    *, phrase: str, layers: str, residual: bool, reader_class: type[nn.Module]
) -> InductionHeadsState:
    """Let a trained reader read a phrase."""
    letters = read_phrase(phrase)
    reader = trained_reader(reader_class, 1 if layers == ONE else 2, residual).model
    ids = encode(letters)
    with torch.inference_mode():
        chances = torch.softmax(reader(ids), dim=-1)
    return InductionHeadsState(letters, reader, layer_weights(reader, ids), chances)


def induction_heads_panels(
    state: InductionHeadsState, *, letter: int, key: int | None, layer: int | None
) -> list[Panel]:
    """Return where each layer looks, and what may come next."""
    labels, future = _labels(state.letters), causal_mask(len(state.letters))
    names = [say("first layer"), say("second layer")]
    if len(state.weights) == 1:
        names = [say("the layer")]
    chances, best = state.chances[letter].topk(LIKELIEST)
    looks = [
        Bars(
            say("{layer}: where {letter} looks", layer=name, letter=labels[letter]),
            labels,  # of later letters too: a click on another row moves no matrix below
            weights[letter],
            decimals=2,
            beside=i > 0,
            side="key",
            click={"k": "key", "layer": i},
            marked_row=key if layer == i else None,
        )
        for i, (name, weights) in enumerate(zip(names, state.weights, strict=True))
    ]
    matrices: list[Panel] = [
        Matrix(
            say("{layer}: where each letter looks", layer=name),
            weights,
            labels,
            list(state.letters),
            hidden=future,
            marked_row=letter,
            marked_column=key if layer == i else None,
            decimals=2,
            click={"q": "letter", "k": "key", "layer": i},
        )
        for i, (name, weights) in enumerate(zip(names, state.weights, strict=True))
    ]
    place = state.letters[:letter].rfind(state.letters[letter])  # the last time before, or -1
    if layer is not None:
        matrices.insert(layer + 1, _path(state, layer, letter, key))
    elif place >= 0:  # the second layer of two looks behind it
        matrices[-1] = replace(matrices[-1], marked_column=place + 1)
    likeliest = {"likeliest": ALPHABET[best[0]], "chance": f"{chances[0]:.0%}"}
    return [
        Note(_note(state.letters, letter, place, likeliest)),
        *looks,
        Bars(
            say("after {letter}: what may come next", letter=labels[letter]),
            [ALPHABET[i] for i in best.tolist()],
            chances,
            decimals=2,
            beside=True,
        ),
        *matrices,
    ]


def _path(state: InductionHeadsState, layer: int, row: int, column: int | None) -> Panel:
    """Return the arithmetic of the weight that was clicked, if a reader's class computes it so."""
    weights, attention = state.weights[layer], state.reader.layers[layer]
    column = int(weights[row].argmax()) if column is None else column
    x = layer_inputs(state.reader, encode(state.letters))[layer]
    labels, future = _labels(state.letters), causal_mask(len(x))
    with torch.no_grad(), contextlib.suppress(TypeError):  # it has other layers
        (queries,), (keys,), (values,) = read_attention(attention).project(x)  # of one head
        path = NumberPath(labels, row, column, queries, keys, values, hidden=future)
        if abs(path.numbers["weight"] - float(weights[row, column])) < SAME:
            return path
    return Note(say("This layer computes its weights in another way."))


def _note(letters: str, letter: int, place: int, likeliest: dict[str, str]) -> str:
    expected = say(
        "“{read}” … next, most likely: “{likeliest}”, {chance}.",
        read=letters[: letter + 1],
        **likeliest,
    )
    last_time = say("“{letter}” stands here for the first time.", letter=letters[letter])
    if place >= 0:
        last_time = say(
            "Last time “{next}” came after “{letter}”.",
            next=letters[place + 1],
            letter=letters[letter],
        )
    return sentences(expected, last_time)


@described(CONTROLS)
def induction_heads_explorer(
    reader_class: type[nn.Module] | None = None, /, **settings: Any
) -> Explorer:
    state = partial(induction_heads_state, reader_class=reader_class or LetterReader)
    panels = induction_heads_panels
    return Explorer(say("one layer or two"), CONTROLS, state, panels, settings, own=reader_class)
