"""The explorer of ``04_masking``: a sentence is read, and the matrix grows row by row."""

from typing import Any

import torch

from chapter3_helpers.explorers.controls import Pick, Settings, Slider, Steps
from chapter3_helpers.explorers.inputs import (
    SENTENCE,
    read_sentence,
    read_tokens,
    seeded,
    sentence_code,
    up_to,
)
from chapter3_helpers.explorers.panels import Facts, Matrix, Note, Panel, four_decimals
from chapter3_helpers.explorers.widget import explorer_function
from chapter3_helpers.masking import causal_mask, mask_scores, mask_then_renormalise
from chapter3_helpers.softmax import softmax
from chapter3_helpers.trainable_qkv import SelfAttention_v2

FIRST, SECOND = "-inf, then softmax", "softmax, zero, renormalise"


CONTROLS = (
    SENTENCE,
    Steps(
        "tokens_read",
        "tokens read",
        4,
        "How far the sentence has been read",
        options=up_to(lambda settings: read_tokens(settings["text"])),
    ),
    Pick("way", "the mask by", FIRST, "Two ways to the same weights", options=(FIRST, SECOND)),
    Slider("seed", "seed", 789, "Another seed draws other weight matrices", low=0, high=999),
)


def masking_state(settings: Settings) -> dict[str, Any]:
    """Return tokens, masked scores and weights (T, T) of what was read; weights of it all."""
    tokens, x = read_sentence(settings["text"])
    read = settings["tokens_read"]
    with seeded(settings["seed"]):
        attention = SelfAttention_v2(3, 2)
    with torch.no_grad():
        scores = attention.W_query(x) @ attention.W_key(x).T / 2**0.5  # (T, T)
    return {
        "tokens": tokens[:read],
        "masked_scores": mask_scores(scores[:read, :read]),
        "weights": _mask(scores[:read, :read], settings["way"]),
        "whole": _mask(scores, settings["way"]),
    }


def _mask(scores: torch.Tensor, way: str) -> torch.Tensor:
    if way == FIRST:
        return softmax(mask_scores(scores), dim=-1)
    return mask_then_renormalise(softmax(scores, dim=-1))


def masking_panels(settings: Settings) -> list[Panel]:
    """Return masked scores and weights of what was read, the newest row marked."""
    state = masking_state(settings)
    tokens, weights = state["tokens"], state["weights"]
    read, length = len(tokens), len(state["whole"])
    change = (weights - state["whole"][:read, :read]).abs().max().item()
    note = (
        f"{read} of {length} tokens read. What stands in these {read} rows is what the whole "
        f"sentence gives them: the largest difference is {change:.1g}."
    )
    facts = {
        "visible cells": f"{read * (read + 1) // 2} of {read * read}",
        "row sums": four_decimals(weights.sum(dim=-1)),
    }
    hidden = causal_mask(read)
    return [
        Note(note),
        Matrix(
            "masked scores, scaled", state["masked_scores"], tokens, signed=True, picked=read - 1
        ),
        Matrix("attention weights", weights, tokens, hidden=hidden, picked=read - 1),
        Facts(facts, "the triangle"),
    ]


def masking_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same weights."""
    imported, sentence = sentence_code(settings["text"])
    read = settings["tokens_read"]
    if settings["way"] == FIRST:
        name, last = "mask_scores", "weights = torch.softmax(mask_scores(scores), dim=-1)"
    else:
        name = "mask_then_renormalise"
        last = "weights = mask_then_renormalise(torch.softmax(scores, dim=-1))"
    return [
        "import torch",
        f"from chapter3_helpers.masking import {name}",
        imported,
        "from chapter3_helpers.trainable_qkv import SelfAttention_v2",
        "",
        sentence,
        f"tokens, x = tokens[:{read}], x[:{read}]",
        f"torch.manual_seed({settings['seed']})",
        "attention = SelfAttention_v2(3, 2)",
        "scores = (attention.W_query(x) @ attention.W_key(x).T / 2**0.5).detach()",
        last,
    ]


masking_explorer = explorer_function("causal mask", CONTROLS, masking_panels, masking_code)
