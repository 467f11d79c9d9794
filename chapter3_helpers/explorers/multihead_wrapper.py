"""The explorer of ``06_multihead_wrapper``: d_out per head, and the number of heads."""

from typing import Any

import torch

from chapter3_helpers._figures.colours import KEY_LABEL
from chapter3_helpers.explorers.controls import Settings, Slider
from chapter3_helpers.explorers.inputs import (
    SENTENCE,
    read_sentence,
    row_picker,
    seeded,
    sentence_code,
)
from chapter3_helpers.explorers.panels import Facts, Heads, Matrix, Note, Panel
from chapter3_helpers.explorers.widget import explorer_function
from chapter3_helpers.fused_multihead import count_parameters
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper

CONTROLS = (
    SENTENCE,
    Slider("d_out", "d_out per head", 2, "Numbers that each head returns", low=1, high=8),
    Slider("num_heads", "heads", 4, "How many heads stand side by side", low=1, high=12),
    Slider("seed", "seed", 123, "Another seed draws other weight matrices", low=0, high=999),
    row_picker(default=1),
)


def multihead_wrapper_state(settings: Settings) -> dict[str, Any]:
    """Return the tokens, the weights (H, T, T), the context (T, H * d_out) and the module."""
    tokens, x = read_sentence(settings["text"])
    with seeded(settings["seed"]):
        module = MultiHeadAttentionWrapper(3, settings["d_out"], len(x), 0.0, settings["num_heads"])
    with torch.no_grad():
        weights, context = module.attention_weights(x), module(x)
    return {"tokens": tokens, "weights": weights, "context": context, "module": module}


def multihead_wrapper_panels(settings: Settings) -> list[Panel]:
    """Return every head, what they give one query, and the context vectors side by side."""
    state = multihead_wrapper_state(settings)
    tokens, weights = state["tokens"], state["weights"]
    heads, d_out = settings["num_heads"], settings["d_out"]
    row = min(settings["row"], len(tokens) - 1)
    names = [f"head {head}" for head in range(heads)]
    columns = [f"{head}.{number}" for head in range(heads) for number in range(d_out)]
    facts = {
        "context": f"({len(tokens)}, {heads} · {d_out}) = {tuple(state['context'].shape)}",
        "parameters": f"{heads} · 3 · 3 · {d_out} = {count_parameters(state['module'])}",
    }
    of_row = weights[:, row].masked_fill(causal_mask(len(tokens))[row], -torch.inf)
    return [
        Note(_note(weights, tokens, row)),
        Heads("what every head sees, one scale", weights, causal_mask(len(tokens))),
        Matrix(
            f"what “{tokens[row]}” attends to, head by head",
            of_row,
            names,
            tokens,
            corner=("head", KEY_LABEL),
        ),
        Matrix(
            "context vectors: heads side by side (head.number)",
            state["context"],
            tokens,
            columns,
            signed=True,
            picked=row,
            corner=("token", "head.number"),
        ),
        Facts(facts, "shape and cost"),
    ]


def _note(weights: torch.Tensor, tokens: tuple[str, ...], row: int) -> str:
    if row == 0:
        return f"“{tokens[0]}” comes first and sees only itself, in every head."
    favourites = {tokens[int(key)] for key in weights[:, row].argmax(dim=-1)}
    listed = ", ".join(f"“{token}”" for token in tokens if token in favourites)
    return f"Asked by “{tokens[row]}”, the heads give their largest weight to: {listed}."


def multihead_wrapper_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same weights and context vectors."""
    imported, sentence = sentence_code(settings["text"])
    arguments = f"3, {settings['d_out']}, len(x), 0.0, {settings['num_heads']}"
    return [
        "import torch",
        "from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper",
        imported,
        "",
        sentence,
        f"torch.manual_seed({settings['seed']})",
        f"attention = MultiHeadAttentionWrapper({arguments})",
        "weights = attention.attention_weights(x).detach()",
        "context = attention(x).detach()",
    ]


multihead_wrapper_explorer = explorer_function(
    "several heads", CONTROLS, multihead_wrapper_panels, multihead_wrapper_code
)
