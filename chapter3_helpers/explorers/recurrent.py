"""The explorer of ``00_why_attention``: a word grows, and two translators try to keep up.

One has a single state, the other looks back at all of them. Both are trained when the explorer is
first shown; that takes some seconds.
"""

from collections.abc import Sequence
from typing import Any

import torch

from chapter3_helpers.explorers.core.controls import Settings, Steps, TextField
from chapter3_helpers.explorers.core.inputs import CLICK_CELL, clicked_query_and_key, up_to
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Matrix, Note, Panel
from chapter3_helpers.explorers.core.source import explorer_function, picked_cell, source_of
from chapter3_helpers.recurrent import ALPHABET, BahdanauDecoder, EncoderDecoder, tokenize
from chapter3_helpers.tasks.translators import trained_translator, translate

LONGEST = 24
ONE_STATE, LOOKING_BACK = "one state", "looking back"


def read_letters(word: str) -> str:
    """Return a word in small letters.

    Raises:
        ValueError: it is empty or too long, or holds anything but a to z.
    """
    letters = word.lower()
    strangers = [letter for letter in letters if letter not in ALPHABET]
    if strangers:
        raise ValueError(f"The encoder reads the letters a to z, not “{strangers[0]}”.")
    if not 0 < len(letters) <= LONGEST:
        raise ValueError(f"This word has {len(letters)} letters; type 1 to {LONGEST}.")
    return letters


CONTROLS = (
    TextField("word", "word", "internationalisation", "Type a word of your own, letters a to z"),
    Steps(
        "read",
        "letters read",
        9,
        "How much of the word is to be translated",
        options=up_to(lambda settings: read_letters(settings["word"])),
        play=900,
    ),
    *clicked_query_and_key(lambda settings: range(settings["read"])),
)


def recurrent_state(settings: Settings) -> dict[str, Any]:
    """Let both translators write.

    Returns:
        ``letters``; ``plain`` and ``better``: what the single state and the look back write;
        ``weights`` (T, T) of the look back, a row per letter written.

    Raises:
        ValueError: the word is empty or too long, or holds anything but a to z.
    """
    letters = read_letters(settings["word"])[: settings["read"]]
    one_state = trained_translator(EncoderDecoder).model
    looking_back = trained_translator(BahdanauDecoder).model
    return {
        "letters": letters,
        "plain": translate(one_state, letters),
        "better": translate(looking_back, letters),
        "weights": looking_back.attention_weights(tokenize(letters))[0],
    }


def recurrent_panels(settings: Settings) -> list[Panel]:
    """Return what both write, and where the one with attention looks."""
    state = recurrent_state(settings)
    letters, right = state["letters"], state["letters"][::-1].upper()
    written = {"right": right, ONE_STATE: state["plain"], LOOKING_BACK: state["better"]}
    places = [str(place + 1) for place in range(len(letters))]
    hits = [[float(a == b) for a, b in zip(row, right, strict=True)] for row in written.values()]
    named = [f"{place} {letter}" for place, letter in zip(places, letters, strict=True)]
    out = [f"{place} {letter}" for place, letter in zip(places, state["better"], strict=True)]
    cell = picked_cell(settings, state["weights"])
    return [
        Note(_note(state, right)),
        Matrix(
            "what they write; dark is right",
            torch.tensor(hits),
            list(written),
            places,
            corner=("written by", "letter"),
            texts=list(written.values()),
        ),
        Lines(
            LOOKING_BACK,
            state["weights"],
            out,
            named,
            marked_row=cell[0] if cell else None,
            sides="from letter written to letter read",
            click=CLICK_CELL,
        ),
        *([_path(letters, out, named, *cell)] if cell else []),
    ]


@torch.no_grad()
def _path(
    letters: str, out: Sequence[str], named: Sequence[str], row: int, column: int
) -> NumberPath:
    """Return the arithmetic of one weight of the look back: W q, U k and v, 64 numbers each."""
    model, word = trained_translator(BahdanauDecoder).model, tokenize(letters)
    states, decoded = model.encode(word)[0][0], model.look_and_decode(word)[0][0]  # (T, d) each
    asking = torch.cat([torch.zeros_like(decoded[:1]), decoded[:-1]])  # it starts from zeros
    queries, keys = model.W_query(asking), model.W_key(states)
    v = model.v.weight[0]
    return NumberPath(named, row, column, queries, keys, states, additive=v, askers=out)


def _note(state: dict[str, Any], right: str) -> str:
    hits = {
        name: sum(a == b for a, b in zip(state[key], right, strict=True))
        for name, key in ((ONE_STATE, "plain"), (LOOKING_BACK, "better"))
    }
    said = ", ".join(f"{name} {count} of {len(right)}" for name, count in hits.items())
    return f"“{state['letters']}” is to become “{right}”. Letters right: {said}."


recurrent_explorer = explorer_function(
    "two translators", CONTROLS, recurrent_panels, source_of(recurrent_state)
)
