"""The explorer of ``04_masking``: a sentence is read, and the matrix grows row by row."""

from typing import NamedTuple

import torch

from chapter3_helpers.explorers.core.controls import Buttons, DropDown, Seed, Steps, TextField
from chapter3_helpers.explorers.core.inputs import (
    clicked_query_and_key,
    read_sentence,
    read_tokens,
    row_buttons,
    seeded,
    up_to,
)
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Facts, Matrix, Note, Panel
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.masking import causal_mask, mask_scores, mask_then_renormalise
from chapter3_helpers.softmax import softmax
from chapter3_helpers.tasks.pronouns import encode, trained_reader
from chapter3_helpers.trainable_qkv import SelfAttention_v2

LEARNED, RANDOM = "learned in 03", "random"
FIRST, SECOND = "-inf, then softmax", "softmax, zero, renormalise"
MATRICES, NUMBER = "matrices", "one number"
CLICK = {"q": "query", "k": "column", "show": NUMBER}
SENTENCE = "The dog left the milk in the glass because it was sour"


def _tokens(text: str, matrices: str) -> tuple[str, ...]:
    typed = read_tokens(text)  # refuses what can't be drawn
    return typed if matrices == RANDOM else _encode(text)[0]


def _encode(text: str) -> tuple[tuple[str, ...], torch.Tensor]:
    try:
        return encode(text)
    except ValueError as error:
        raise ValueError(f"{error} The weight matrices “{RANDOM}” take any sentence.") from error


CONTROLS = (
    Buttons(
        "show",
        "show",
        MATRICES,
        "The weights and the scores, or the arithmetic of one of the weights",
        lambda way: way == FIRST,
        options=(MATRICES, NUMBER),
    ),
    TextField(
        "text",
        "sentence",
        SENTENCE,
        "Type a sentence of your own; the matrices that were learned know 38 words",
    ),
    Steps(
        "tokens_read",
        "tokens read",
        12,
        "How far the sentence has been read",
        options=up_to(_tokens),
        play=700,
    ),
    DropDown(
        "matrices",
        "weights",
        LEARNED,
        "Matrices of the reader of notebook 03, or random ones, which take any words",
        options=(LEARNED, RANDOM),
        presented=False,
    ),
    DropDown(
        "way",
        "mask",
        FIRST,
        "Two ways to the same weights",
        options=(FIRST, SECOND),
        presented=False,
    ),
    Seed(
        "seed",
        "seed",
        789,
        "Another seed draws other matrices",
        lambda matrices: matrices == RANDOM,
    ),
    row_buttons(
        4,
        _tokens,
        name="column",
        label="about",
        tooltip="Whose key the newest token's query meets; later ones are hidden from it",
        enabled=lambda show, way: show == NUMBER and way == FIRST,
        presented=False,
    ),
    clicked_query_and_key(lambda tokens_read: range(tokens_read))[0],
)


class MaskingState(NamedTuple):
    """What was read of a sentence, and all of it."""

    sentence: tuple[str, ...]
    queries: torch.Tensor  # (T, D) of the sentence, as keys and values
    keys: torch.Tensor
    values: torch.Tensor
    whole: torch.Tensor  # (T, T), the weights of the sentence
    tokens: tuple[str, ...]  # that were read
    masked_scores: torch.Tensor  # (read, read)
    weights: torch.Tensor  # (read, read)


def masking_state(
    *, text: str, tokens_read: int, matrices: str, way: str, seed: int
) -> MaskingState:
    """Return the weights of what was read of a sentence, and of all of it."""
    read_tokens(text)  # refuses what can't be drawn
    if matrices == RANDOM:
        tokens, x = read_sentence(text)
        with seeded(seed):
            attention = SelfAttention_v2(3, 2)
    else:
        tokens, x = _encode(text)
        attention = trained_reader().model
    with torch.no_grad():
        queries, keys, values = attention.W_query(x), attention.W_key(x), attention.W_value(x)
    scores = queries @ keys.T / keys.shape[-1] ** 0.5  # (T, T)
    read = scores[:tokens_read, :tokens_read]
    masked = mask_scores(read)
    if way == FIRST:
        whole, weights = softmax(mask_scores(scores)), softmax(masked)
    else:
        whole, weights = (mask_then_renormalise(softmax(some)) for some in (scores, read))
    return MaskingState(tokens, queries, keys, values, whole, tokens[:tokens_read], masked, weights)


def masking_panels(
    state: MaskingState, *, show: str, way: str, query: int | None, column: int
) -> list[Panel]:
    """Return weights and masked scores of what was read, the newest row marked; or the path from
    one score to its weight."""
    tokens, weights = state.tokens, state.weights
    read, length = len(tokens), len(state.whole)
    click = CLICK if way == FIRST else None
    number = show == NUMBER and way == FIRST
    row = read - 1 if query is None or not number else query
    key = min(column, length - 1) if number else None
    look = {
        "marked_row": row,
        "marked_column": None if key is None or key >= read else key,
        "click": click,
    }
    hidden = causal_mask(read)
    matrix = Matrix("attention weights", weights, tokens, hidden=hidden, **look)
    scores = Matrix("masked scores, scaled", state.masked_scores, tokens, signed=True, **look)
    if number:
        projected = state.queries, state.keys, state.values
        path = NumberPath(state.sentence, row, key, *projected, hidden=causal_mask(length))
        return [Note(_note(state)), matrix, path, scores]
    visible = f"{read * (read + 1) // 2} of {read * read}"
    used = mask_scores if way == FIRST else mask_then_renormalise
    package = f"{used.__name__} of chapter3_helpers, not by a cell of yours"
    facts = Facts({"visible cells": visible, "computed by": package}, "the triangle")
    return [Note(_note(state)), matrix, scores, facts]


def _note(state: MaskingState) -> str:
    tokens, newest = state.tokens, state.weights[-1]
    read, most = len(tokens), int(newest.argmax())
    note = (
        f"{read} of {len(state.whole)} tokens read. “{tokens[-1]}” looks most at "
        f"“{tokens[most]}” ({newest[most]:.2f})."
    )
    if read == 1:
        return note
    change = (state.weights - state.whole[:read, :read]).abs().max().item()
    return (
        f"{note} The rows above it are already those of the whole sentence "
        f"(largest difference {change:.1g})."
    )


masking_explorer = explorer_function(
    "masking_explorer", "causal mask", CONTROLS, masking_state, masking_panels
)
