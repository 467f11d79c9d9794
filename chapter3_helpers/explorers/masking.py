"""The explorer of ``04_masking``: a sentence is read, and the matrix grows row by row."""

from dataclasses import replace
from typing import Any

import torch

from chapter3_helpers.explorers.core.controls import Buttons, Seed, Settings, Steps, TextField
from chapter3_helpers.explorers.core.inputs import (
    cell_picks,
    read_sentence,
    read_tokens,
    row_picker,
    seeded,
    sentence_code,
    up_to,
)
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Facts, Matrix, Note, Panel
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.masking import causal_mask, mask_scores, mask_then_renormalise
from chapter3_helpers.softmax import softmax
from chapter3_helpers.tasks.pronoun_sentences import encode
from chapter3_helpers.tasks.pronouns import trained_reader
from chapter3_helpers.trainable_qkv import SelfAttention_v2

LEARNED, RANDOM = "learned in 03", "random"
FIRST, SECOND = "-inf, then softmax", "softmax, zero, renormalise"
MATRICES, NUMBER = "matrices", "one number"
PICK = {"q": "query", "k": "column", "show": NUMBER}
SENTENCE = "The dog left the milk in the glass because it was sour"


def _is_random(settings: Settings) -> bool:
    return settings["matrices"] == RANDOM


def _is_number(settings: Settings) -> bool:
    return settings["show"] == NUMBER and settings["way"] == FIRST


def _tokens(settings: Settings) -> tuple[str, ...]:
    typed = read_tokens(settings["text"])  # refuses what can't be drawn
    return typed if _is_random(settings) else encode(settings["text"])[0]


CONTROLS = (
    Buttons(
        "show",
        "show",
        MATRICES,
        "The weights and the scores, or the arithmetic of one of the weights",
        lambda settings: settings["way"] == FIRST,
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
    Buttons(
        "matrices",
        "weight matrices",
        LEARNED,
        "Those of the reader of notebook 03, or random ones, which take any words",
        options=(LEARNED, RANDOM),
        presented=False,
    ),
    Buttons(
        "way",
        "the mask by",
        FIRST,
        "Two ways to the same weights",
        options=(FIRST, SECOND),
        presented=False,
    ),
    Seed("seed", "seed", 789, "Another seed draws other matrices", _is_random),
    row_picker(
        4,
        _tokens,
        name="column",
        label="about",
        tooltip="Whose key the newest token's query meets; later ones are hidden from it",
        enabled=lambda settings: settings["way"] == FIRST,
        presented=False,
    ),
    cell_picks(lambda settings: range(settings["tokens_read"]))[0],
)


def masking_state(settings: Settings) -> dict[str, Any]:
    """Return tokens, masked scores and weights (T, T) of what was read; weights of it all, and
    queries, keys and values (T, D)."""
    read_tokens(settings["text"])  # refuses what can't be drawn
    read = settings["tokens_read"]
    if _is_random(settings):
        tokens, x = read_sentence(settings["text"])
        with seeded(settings["seed"]):
            attention = SelfAttention_v2(3, 2)
    else:
        tokens, x = encode(settings["text"])
        attention = trained_reader().model
    with torch.no_grad():
        queries, keys, values = attention.W_query(x), attention.W_key(x), attention.W_value(x)
    scores = queries @ keys.T / attention.head_dim**0.5  # (T, T)
    return {
        "tokens": tokens[:read],
        "sentence": tokens,
        "projected": (queries, keys, values),
        "masked_scores": mask_scores(scores[:read, :read]),
        "weights": _mask(scores[:read, :read], settings["way"]),
        "whole": _mask(scores, settings["way"]),
    }


def _mask(scores: torch.Tensor, way: str) -> torch.Tensor:
    if way == FIRST:
        return softmax(mask_scores(scores), dim=-1)
    return mask_then_renormalise(softmax(scores, dim=-1))


def masking_panels(settings: Settings) -> list[Panel]:
    """Return weights and masked scores of what was read, the newest row marked; or the path from
    one score to its weight."""
    state = masking_state(settings)
    tokens, weights = state["tokens"], state["weights"]
    read, length = len(tokens), len(state["whole"])
    change = (weights - state["whole"][:read, :read]).abs().max().item()
    newest = weights[-1]
    most = int(newest.argmax())
    note = (
        f"{read} of {length} tokens read. “{tokens[-1]}” looks most at “{tokens[most]}” "
        f"({newest[most]:.2f})."
    )
    if read > 1:
        note += (
            " The rows above it are already those of the whole sentence "
            f"(largest difference {change:.1g})."
        )
    pick = PICK if settings["way"] == FIRST else None
    hidden = causal_mask(read)
    matrix = Matrix("attention weights", weights, tokens, hidden=hidden, picked=read - 1, pick=pick)
    scores = Matrix(
        "masked scores, scaled",
        state["masked_scores"],
        tokens,
        signed=True,
        picked=read - 1,
        pick=pick,
    )
    if _is_number(settings):
        column = min(settings["column"], length - 1)
        row = read - 1 if settings.get("query") is None else settings.get("query")
        path = NumberPath(
            state["sentence"], row, column, *state["projected"], hidden=causal_mask(length)
        )
        at = {"picked": row, "picked_column": column if column < read else None}
        return [Note(note), replace(matrix, **at), path, replace(scores, **at)]
    return [
        Note(note),
        matrix,
        scores,
        Facts({"visible cells": f"{read * (read + 1) // 2} of {read * read}"}, "the triangle"),
    ]


def masking_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same weights."""
    read = settings["tokens_read"]
    if settings["way"] == FIRST:
        name, last = "mask_scores", "weights = torch.softmax(mask_scores(scores), dim=-1)"
    else:
        name = "mask_then_renormalise"
        last = "weights = mask_then_renormalise(torch.softmax(scores, dim=-1))"
    if _is_random(settings):
        imported, sentence = sentence_code(settings["text"])
        imports = [imported, "from chapter3_helpers.trainable_qkv import SelfAttention_v2"]
        model = [f"torch.manual_seed({settings['seed']})", "attention = SelfAttention_v2(3, 2)"]
    else:
        sentence = f"tokens, x = encode({settings['text']!r})"
        imports = [
            "from chapter3_helpers.tasks.pronoun_sentences import encode",
            "from chapter3_helpers.tasks.pronouns import trained_reader",
        ]
        model = ["attention = trained_reader().model"]
    return [
        "import torch",
        f"from chapter3_helpers.masking import {name}",
        *imports,
        "",
        sentence,
        f"tokens, x = tokens[:{read}], x[:{read}]",
        *model,
        "scores = attention.W_query(x) @ attention.W_key(x).T",
        "scores = scores.detach() / attention.head_dim**0.5",
        last,
    ]


masking_explorer = explorer_function("causal mask", CONTROLS, masking_panels, masking_code)
