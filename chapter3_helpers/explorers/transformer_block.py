"""The explorer of ``09_transformer_block``: how two layers continue a phrase, and one cannot.

Type a phrase and its beginning once more, choose a letter, and see which earlier letters each layer
looks at and which letter is expected next. Take away a layer, or the residual. A reader is trained
when it is first needed; that takes some seconds. A class that was written in a notebook's cell is
shown by ``transformer_block_explorer(LetterReader)``.
"""

from functools import partial
from typing import Any

import torch
from torch import nn

from chapter3_helpers.explorers.core.controls import (
    Buttons,
    Clicked,
    Settings,
    Switch,
    TextField,
)
from chapter3_helpers.explorers.core.inputs import clicked_query_and_key
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Bars, Matrix, Note, Panel
from chapter3_helpers.explorers.core.source import OldExplorer
from chapter3_helpers.explorers.core.widget import Explorer, described
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.recurrent import ALPHABET
from chapter3_helpers.tasks.phrases import (
    LENGTH,
    LetterReader,
    encode,
    layer_inputs,
    layer_weights,
    trained_reader,
)

PHRASE = "holidayholi"
LIKELIEST = 5
SAME = 1e-4  # what rounding makes of one weight computed twice
ONE, TWO = "one layer", "two layers"


def read_phrase(phrase: str) -> str:
    """Return the letters of a phrase, in small letters and without spaces.

    Raises:
        ValueError: it is empty or too long, or holds anything but a to z.
    """
    letters = "".join(phrase.lower().split())
    strangers = [letter for letter in letters if letter not in ALPHABET]
    if strangers:
        raise ValueError(f"The reader knows the letters a to z, not “{strangers[0]}”.")
    if not 0 < len(letters) <= LENGTH:
        raise ValueError(f"This phrase has {len(letters)} letters; type 1 to {LENGTH}.")
    return letters


def _letters(settings: Settings) -> list[tuple[str, int]]:
    try:
        letters = read_phrase(settings["phrase"])
    except ValueError:  # said where the panels are
        letters = PHRASE
    return [(f"{place} {letter}", place) for place, letter in enumerate(letters)]


CONTROLS = (
    TextField("phrase", "phrase", PHRASE, "Type a phrase twice, or once and its beginning again"),
    Buttons("layers", "layers", TWO, "How many layers of attention", options=(ONE, TWO)),
    Switch("residual", "residual", True, "Add what goes into a layer to what comes out of it"),
    Buttons(
        "letter",
        "letter",
        len(PHRASE) - 1,
        "Whose look back, and which next letter, to show",
        options=_letters,
    ),
    clicked_query_and_key(lambda settings: read_phrase(settings["phrase"]))[1],
    Clicked(
        "layer",
        "layer",
        None,
        "The number of the layer whose weight was clicked, if any",
        options=lambda settings: range(1 if settings["layers"] == ONE else 2),
    ),
)


def transformer_block_state(
    settings: Settings, kind: type[nn.Module] = LetterReader
) -> dict[str, Any]:
    """Let a trained reader read a phrase.

    Returns:
        ``letters``; ``reader``; ``weights`` (layers, T, T); ``chances`` (T, 26): the probability
        of every letter to come next, behind each; ``place``: where the chosen letter stood last
        before, or None.

    Raises:
        ValueError: there is no letter in the phrase, there are too many, or one is unknown.
    """
    letters, chosen = read_phrase(settings["phrase"]), settings["letter"]
    num_layers = 1 if settings["layers"] == ONE else 2
    reader = trained_reader(kind, num_layers, settings["residual"]).model
    ids = encode(letters)
    with torch.inference_mode():
        chances = torch.softmax(reader(ids), dim=-1)
    place = letters[:chosen].rfind(letters[chosen])
    return {
        "letters": letters,
        "reader": reader,
        "weights": layer_weights(reader, ids),
        "chances": chances,
        "place": None if place < 0 else place,
    }


def transformer_block_panels(
    settings: Settings, kind: type[nn.Module] = LetterReader
) -> list[Panel]:
    """Return where each layer looks, and what may come next."""
    state = transformer_block_state(settings, kind)
    letters, chosen = state["letters"], settings["letter"]
    labels, future = [label for label, _ in _letters(settings)], causal_mask(len(letters))
    names = ["the layer"] if len(state["weights"]) == 1 else ["first layer", "second layer"]
    chances, best = state["chances"][chosen].topk(LIKELIEST)
    looks = [
        Bars(
            f"{name}: where {labels[chosen]} looks",
            labels,  # of later letters too: a click on another row moves no matrix below
            weights[chosen],
            decimals=2,
            beside=i > 0,
            side="k",
            click={"k": "key", "layer": i},
            marked_row=settings.get("key") if settings.get("layer") == i else None,
        )
        for i, (name, weights) in enumerate(zip(names, state["weights"], strict=True))
    ]
    matrices: list[Panel] = [
        Matrix(
            f"{name}: where each letter looks",
            weights,
            labels,
            list(letters),
            hidden=future,
            marked_row=chosen,
            marked_column=_column(settings, state, i),
            decimals=2,
            click={"q": "letter", "k": "key", "layer": i},
        )
        for i, (name, weights) in enumerate(zip(names, state["weights"], strict=True))
    ]
    if settings.get("layer") is not None:
        matrices[settings["layer"] + 1 : settings["layer"] + 1] = _path(settings, state, labels)
    return [
        Note(_note(state, chosen, ALPHABET[best[0]], chances[0].item())),
        *looks,
        Bars(
            f"after {labels[chosen]}: what may come next",
            [ALPHABET[i] for i in best.tolist()],
            chances,
            decimals=2,
            beside=True,
        ),
        *matrices,
    ]


def _column(settings: Settings, state: dict[str, Any], layer: int) -> int | None:
    """Return the key to be marked: that was clicked, or what came after the same letter before."""
    if settings.get("layer") is not None:
        return settings.get("key") if settings.get("layer") == layer else None
    last = layer == len(state["weights"]) - 1
    return state["place"] + 1 if last and state["place"] is not None else None


def _path(settings: Settings, state: dict[str, Any], labels: list[str]) -> list[Panel]:
    """Return the arithmetic of the weight that was clicked, if a reader's class computes it so."""
    layer, row = settings.get("layer"), settings["letter"]
    weights = state["weights"][layer]
    column = int(weights[row].argmax()) if settings.get("key") is None else settings.get("key")
    attention, future = state["reader"].layers[layer], causal_mask(len(labels))
    x = layer_inputs(state["reader"], encode(state["letters"]))[layer]
    projected = (linear(x) for linear in (attention.W_query, attention.W_key, attention.W_value))
    path = NumberPath(labels, row, column, *projected, hidden=future)
    right = abs(path.numbers["weight"] - float(weights[row, column])) < SAME
    return [path] if right else [Note("This layer computes its weights in another way.")]


def _note(state: dict[str, Any], chosen: int, likeliest: str, chance: float) -> str:
    letters, place = state["letters"], state["place"]
    expected = f"“{letters[: chosen + 1]}” … next, most likely: “{likeliest}”, {chance:.0%}."
    if place is None:
        return f"{expected} “{letters[chosen]}” stands here for the first time."
    return f"{expected} Last time “{letters[place + 1]}” came after “{letters[chosen]}”."


def transformer_block_code(settings: Settings, kind: type[nn.Module] = LetterReader) -> list[str]:
    """Return the lines of Python that compute the same weights and chances."""
    num_layers = 1 if settings["layers"] == ONE else 2
    own = [] if kind is LetterReader else [f"# {kind.__name__} is the class in your notebook"]
    imported = [LetterReader.__name__] if kind is LetterReader else []
    names = ", ".join([*imported, "encode", "layer_weights", "trained_reader"])
    return [
        "import torch",
        f"from chapter3_helpers.tasks.phrases import {names}",
        "",
        *own,
        f"trained = trained_reader({kind.__name__}, {num_layers}, {settings['residual']})",
        "reader = trained.model",
        f"ids = encode({read_phrase(settings['phrase'])!r})",
        "weights = layer_weights(reader, ids)  # (layers, T, T)",
        "chances = torch.softmax(reader(ids), dim=-1)  # (T, 26)",
    ]


@described(CONTROLS)
def transformer_block_explorer(
    reader_class: type[nn.Module] | None = None, /, **settings: Any
) -> Explorer:
    kind = reader_class or LetterReader
    panels, lines = (
        partial(of, kind=kind) for of in (transformer_block_panels, transformer_block_code)
    )
    return OldExplorer("one layer or two", CONTROLS, panels, lines, settings)
