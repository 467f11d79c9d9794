"""The explorer of ``00_why_attention``: a word grows, and two translators try to keep up.

One has a single state, the other looks back at all of them. Both are trained when the explorer is
first shown; that takes some seconds.
"""

from typing import NamedTuple

import torch

from chapter3_helpers._language import say
from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.explorers.core.controls import Steps, TextField
from chapter3_helpers.explorers.core.inputs import (
    CLICK_CELL,
    clicked_cell,
    clicked_query_and_key,
    read_letters,
    up_to,
)
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Matrix, Note, Panel
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder, tokenize
from chapter3_helpers.tasks.translators import trained_translator, translate

LONGEST = 24
ONE_STATE, LOOKING_BACK = say("one state"), say("looking back")


def _letters(word: str) -> str:
    return read_letters(word, "word", LONGEST)


CONTROLS = (
    TextField("word", say("word"), "understanding", say("Type a word of your own, letters a to z")),
    Steps(
        "read",
        say("letters read"),
        10,
        say("How much of the word is to be translated"),
        options=up_to(_letters),
        play=900,
        returns_to=lambda: LONGEST,  # the end of any word
        returns_when=("word",),
    ),
    *clicked_query_and_key(lambda read: range(read)),
)


class RecurrentState(NamedTuple):
    """What was read, and what is written."""

    letters: str
    plain: str  # by the single state
    better: str  # by the look back
    weights: torch.Tensor  # (T, T) of the look back, a row for each letter written


@as_torch_starts()
def recurrent_state(*, word: str, read: int) -> RecurrentState:
    """Let both translators write what they have read of a word.

    Raises:
        ValueError: the word is empty or too long, or holds anything but a to z.
    """
    letters = _letters(word)[:read]
    one_state = trained_translator(EncoderDecoder).model
    looking_back = trained_translator(BahdanauDecoder).model
    weights = looking_back.attention_weights(tokenize(letters))[0]
    plain, better = translate(one_state, letters), translate(looking_back, letters)
    return RecurrentState(letters, plain, better, weights)


@torch.no_grad()
def recurrent_panels(state: RecurrentState, *, query: int | None, key: int | None) -> list[Panel]:
    """Return what both write, and where the one with attention looks."""
    letters, right = state.letters, state.letters[::-1].upper()
    written = {say("right"): right, ONE_STATE: state.plain, LOOKING_BACK: state.better}
    places = [str(place + 1) for place in range(len(letters))]
    hits = {
        name: [float(a == b) for a, b in zip(text, right, strict=True)]
        for name, text in written.items()
    }
    said = say(
        "“{letters}” is to become “{right}”. Letters right: one state {one} of {all}, looking back "
        "{back} of {all}.",
        letters=letters,
        right=right,
        one=f"{sum(hits[ONE_STATE]):.0f}",
        back=f"{sum(hits[LOOKING_BACK]):.0f}",
        all=len(right),
    )
    named = [f"{place} {letter}" for place, letter in zip(places, letters, strict=True)]
    out = [f"{place} {letter}" for place, letter in zip(places, state.better, strict=True)]
    row, column = clicked_cell(query, key, state.weights)
    path = []
    if row is not None:  # W q, U k and v, 64 numbers each
        model, ids = trained_translator(BahdanauDecoder).model, tokenize(letters)
        states, decoded = model.encode(ids)[0][0], model.look_and_decode(ids)[0][0]  # (T, d) each
        asking = torch.cat([torch.zeros_like(decoded[:1]), decoded[:-1]])  # it starts from zeros
        vectors, v = (model.W_query(asking), model.W_key(states), states), model.v.weight[0]
        path = [NumberPath(named, row, column, *vectors, additive=v, askers=out)]
    return [
        Note(said),
        Lines(
            LOOKING_BACK,
            state.weights,
            out,
            named,
            marked_row=row,
            sides=say("from letter written to letter read"),
            click=CLICK_CELL,
        ),
        Matrix(
            say("what they write; dark is right"),
            torch.tensor([*hits.values()]),
            list(written),
            places,
            corner=(say("written by"), say("letter written")),
            sides=("", "query"),
            texts=list(written.values()),
            beside=True,
            click={"q": "query"},
        ),
        *path,
    ]


recurrent_explorer = explorer_function(
    "recurrent_explorer", say("two translators"), CONTROLS, recurrent_state, recurrent_panels
)
