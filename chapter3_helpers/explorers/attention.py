"""The big explorer: every mechanism of the chapter, on one sentence.

Its home is ``07_fused_multihead``, where the ladder of mechanisms is complete.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from chapter3_helpers.diagrams import Diagram, attention_diagram
from chapter3_helpers.diagrams.attention import MOST_LANES
from chapter3_helpers.dot_products import simple_self_attention
from chapter3_helpers.dropout import dropout_mask
from chapter3_helpers.explorers.controls import Pick, Settings, Slider, Steps, Switch
from chapter3_helpers.explorers.drawings import Flow
from chapter3_helpers.explorers.inputs import (
    SENTENCE,
    divisors,
    read_sentence,
    row_picker,
    sentence_code,
)
from chapter3_helpers.explorers.mechanisms import (
    CAUSAL,
    CLASSES,
    FUSED,
    SIMPLE,
    SPLIT,
    UNMASKED,
    WRAPPER,
    build_module,
    projections,
)
from chapter3_helpers.explorers.panels import Bars, Facts, Heads, Matrix, Panel, four_decimals
from chapter3_helpers.explorers.widget import explorer_function
from chapter3_helpers.fused_multihead import count_parameters, join_heads
from chapter3_helpers.masking import causal_mask, mask_then_renormalise

MOST_HEADS = 24


def has_weights(settings: Settings) -> bool:
    return settings["mechanism"] != SIMPLE


def has_heads(settings: Settings) -> bool:
    return settings["mechanism"] in (WRAPPER, SPLIT, FUSED)


def head_options(settings: Settings) -> list[int]:
    """Return the numbers of heads that the mechanism allows: divisors of d_out if they share it."""
    if settings["mechanism"] == WRAPPER:
        return list(range(1, MOST_HEADS + 1))
    return divisors(settings["d_out"]) if has_heads(settings) else [1]


CONTROLS = (
    Pick("mechanism", "mechanism", SPLIT, "Which attention", options=(SIMPLE, *CLASSES)),
    SENTENCE,
    Slider("seed", "seed", 123, "Another seed draws other weights", has_weights, low=0, high=999),
    Slider(
        "d_out",
        "d_out",
        2,
        "Numbers per context vector: of each head (wrapper), or of all heads together",
        has_weights,
        low=1,
        high=24,
    ),
    Steps(
        "num_heads",
        "heads",
        2,
        "How many heads; where they share d_out, only its divisors",
        has_heads,
        options=head_options,
    ),
    Slider(
        "dropout",
        "dropout",
        0.0,
        "Share of the weights dropped, as in training; the mask is drawn natively",
        lambda settings: settings["mechanism"] not in UNMASKED,
        low=0.0,
        high=0.9,
        step=0.1,
    ),
    Switch(
        "causal",
        "hide the future",
        True,
        "The causal mask; built in from 05 on",
        lambda settings: settings["mechanism"] in UNMASKED,
    ),
    Steps(
        "head",
        "large: head",
        0,
        "Which head to show in large",
        has_heads,
        options=lambda settings: range(settings["num_heads"]),
    ),
    row_picker(default=1),
)


@dataclass(frozen=True)
class State:
    """Everything that the explorer shows for one choice of settings."""

    tokens: tuple[str, ...]
    x: torch.Tensor  # (T, 3)
    projected: tuple[torch.Tensor, ...]  # queries, keys and values, (H, T, D) each, if any
    scores: torch.Tensor  # (H, T, T)
    undropped: torch.Tensor  # (H, T, T), the weights after softmax and mask
    weights: torch.Tensor  # (H, T, T), after dropout too
    mixed: torch.Tensor  # (H, T, D), the values that each head mixes
    context: torch.Tensor  # (T, width), what comes out
    hidden: torch.Tensor | None  # (T, T)
    module: nn.Module | None


def attention_state(settings: Settings) -> State:
    """Compute weights and context vectors for the settings of the explorer.

    Raises:
        ValueError: the sentence is empty or too long to be drawn.
    """
    mechanism, seed, p = settings["mechanism"], settings["seed"], settings["dropout"]
    tokens, x = read_sentence(settings["text"])
    module = build_module(settings, len(tokens))
    with torch.no_grad():
        projected = () if module is None else projections(module, x)
        queries, keys, values = projected or (x.unsqueeze(0),) * 3
        undropped = simple_self_attention(x)[1] if module is None else module.attention_weights(x)
        undropped = undropped.reshape(-1, len(tokens), len(tokens))  # (H, T, T)
        hidden = causal_mask(len(tokens))
        if mechanism in UNMASKED and settings["causal"]:
            undropped = mask_then_renormalise(undropped)
        elif mechanism in UNMASKED:
            hidden = None
        weights = undropped
        if mechanism not in UNMASKED and p > 0:
            weights = undropped * dropout_mask(tuple(undropped.shape), p, seed) / (1 - p)
        mixed = weights @ values
        context = join_heads(mixed)  # (T, H * D)
        if hasattr(module, "out_proj"):
            context = module.out_proj(context)
    scores = queries @ keys.transpose(-2, -1)
    return State(tokens, x, projected, scores, undropped, weights, mixed, context, hidden, module)


def attention_flow(state: State, head: int, row: int) -> Diagram:
    """Draw how the context vectors come about: one head step by step, several side by side."""
    parts = dict(zip(("queries", "keys", "values"), state.projected, strict=False))
    parts |= {"weights": state.undropped, "context": state.mixed}
    if state.weights is not state.undropped:
        parts["dropped"] = state.weights
    if hasattr(state.module, "out_proj"):
        parts["output"] = state.context
    elif len(state.weights) == 1:
        parts |= {"scores": state.scores}
        if state.projected:
            parts["scaled"] = state.scores / state.mixed.shape[-1] ** 0.5
        parts = {name: part[0] for name, part in parts.items()}
    return attention_diagram(
        x=state.x, hidden=state.hidden, tokens=state.tokens, query=row, head=head, **parts
    )


def attention_panels(settings: Settings) -> list[Panel]:
    """Return what is shown: how it comes about, the picked head and row in large, the numbers."""
    state = attention_state(settings)
    head = min(settings["head"], len(state.weights) - 1)
    row = min(settings["row"], len(state.tokens) - 1)
    picked, token = state.weights[head], state.tokens[row]
    visible = picked[row]
    if state.hidden is not None:
        visible = visible.masked_fill(state.hidden[row], torch.nan)
    module = state.module
    facts = {
        "x": tuple(state.x.shape),
        "weights": tuple(state.weights.shape),
        "context": tuple(state.context.shape),
        "parameters": 0 if module is None else f"{count_parameters(module):,}",
        "row sums": four_decimals(picked.sum(dim=-1)),
    }
    panels: list[Panel] = [
        Flow(attention_flow(state, head, row)),
        Matrix(f"weights of head {head}", picked, state.tokens, hidden=state.hidden, picked=row),
        Bars(f"what “{token}” attends to", state.tokens, visible),
        Facts(facts, "shapes and sums"),
    ]
    if len(state.weights) > MOST_LANES:
        panels.insert(1, Heads("all heads, one scale", state.weights, state.hidden, picked=head))
    return panels


def attention_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the weights without the explorer."""
    mechanism, seed, p = settings["mechanism"], settings["seed"], settings["dropout"]
    sentence_import, sentence = sentence_code(settings["text"])
    imports, lines = [sentence_import], [sentence]
    if mechanism == SIMPLE:
        imports.append("from chapter3_helpers.dot_products import simple_self_attention")
        lines.append("_, weights = simple_self_attention(x)")
    else:
        kind = CLASSES[mechanism]
        arguments: list[Any] = [3, settings["d_out"]]
        if mechanism not in UNMASKED:
            arguments += ["len(x)", 0.0]
        if mechanism in (WRAPPER, SPLIT, FUSED):
            arguments.append(settings["num_heads"])
        imports.append(f"from {kind.__module__} import {kind.__name__}")
        lines += [
            f"torch.manual_seed({seed})",
            f"attention = {kind.__name__}({', '.join(map(str, arguments))})",
            "weights = attention.attention_weights(x).detach()",
        ]
    if mechanism in UNMASKED and settings["causal"]:
        imports.append("from chapter3_helpers.masking import mask_then_renormalise")
        lines.append("weights = mask_then_renormalise(weights)")
    elif mechanism not in UNMASKED and p > 0:
        imports.append("from chapter3_helpers.dropout import dropout_mask")
        heads = 1 if mechanism == CAUSAL else settings["num_heads"]
        lines += [
            f"kept = dropout_mask(({heads}, len(x), len(x)), {p:g}, {seed})",
            f"weights = weights * kept / (1 - {p:g})",
        ]
    return ["import torch", *sorted(imports), "", *lines]


attention_explorer = explorer_function("attention", CONTROLS, attention_panels, attention_code)
