"""The mechanisms of ``attention_explorer``: which module each is, and all that it computes."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.diagrams import Diagram, attention_diagram
from chapter3_helpers.dot_products import simple_self_attention
from chapter3_helpers.dropout import dropout_mask
from chapter3_helpers.explorers.core.controls import Settings
from chapter3_helpers.explorers.core.handmade_heads import (
    D_HEAD,
    D_IN,
    make_by_hand,
    place_and_kind,
)
from chapter3_helpers.explorers.core.inputs import read_sentence, read_tokens, seeded
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.fused_multihead import (
    FusedMultiHeadAttention,
    MultiHeadAttention,
    join_heads,
    split_heads,
)
from chapter3_helpers.masking import causal_mask, mask_then_renormalise
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.trainable_qkv import SelfAttention_v1, SelfAttention_v2

SIMPLE, V1, V2 = "simple (01, 02)", "v1 (03)", "v2 (03)"
BY_HAND, AT_RANDOM = "by hand", "at random"
CAUSAL, WRAPPER, SPLIT, FUSED = "causal (05)", "wrapper (06)", "split (07)", "fused (07)"
UNMASKED = (SIMPLE, V1, V2)  # these leave the mask to whoever uses them
CLASSES: dict[str, type[nn.Module]] = {
    V1: SelfAttention_v1,
    V2: SelfAttention_v2,
    CAUSAL: CausalAttention,
    WRAPPER: MultiHeadAttentionWrapper,
    SPLIT: MultiHeadAttention,
    FUSED: FusedMultiHeadAttention,
}


def by_hand(settings: Settings) -> bool:
    """Return whether the weight matrices are made by hand."""
    return settings["made"] == BY_HAND and settings["mechanism"] != SIMPLE


def module_arguments(settings: Settings, context_length: Any) -> list[Any]:
    """Return what the module is called with; heads that are made by hand have two numbers each."""
    mechanism, d_in, d_out = settings["mechanism"], 3, settings["d_out"]
    several = mechanism in (WRAPPER, SPLIT, FUSED)
    if by_hand(settings):
        together = several and mechanism != WRAPPER
        d_in, d_out = D_IN, D_HEAD * (settings["num_heads"] if together else 1)
    if mechanism in UNMASKED:
        return [d_in, d_out]
    heads = [settings["num_heads"]] if several else []
    return [d_in, d_out, context_length, 0.0, *heads]


def build_module(settings: Settings, x: torch.Tensor) -> nn.Module | None:
    """Make the module the settings ask for, by hand or with weights drawn from their seed."""
    if settings["mechanism"] == SIMPLE:
        return None
    with seeded(settings["seed"]):
        module = CLASSES[settings["mechanism"]](*module_arguments(settings, len(x)))
    return make_by_hand(module, x) if by_hand(settings) else module


def projections(module: nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return queries, keys and values of every head, (H, T, D) each."""
    if isinstance(module, SelfAttention_v1):
        weights = module.W_query, module.W_key, module.W_value
        return tuple((x @ weight).unsqueeze(0) for weight in weights)
    if isinstance(module, MultiHeadAttentionWrapper):
        heads = [projections(head, x) for head in module.heads]
        return tuple(torch.cat(parts) for parts in zip(*heads, strict=True))
    if isinstance(module, FusedMultiHeadAttention):
        wide = module.W_qkv(x).chunk(3, dim=-1)
    else:
        wide = module.W_query(x), module.W_key(x), module.W_value(x)
    return tuple(split_heads(part, module.num_heads) for part in wide)


@dataclass(frozen=True)
class State:
    """Everything that the explorer shows for one choice of settings."""

    tokens: tuple[str, ...]
    x: torch.Tensor  # (T, 3), or (T, 5) by hand
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
    if by_hand(settings):
        read_tokens(settings["text"])
        tokens, x = place_and_kind(settings["text"])
    else:
        tokens, x = read_sentence(settings["text"])
        x = settings["scale"] * x
    module = build_module(settings, x)
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


def attention_flow(state: State, head: int, row: int, alone: bool = False) -> Diagram:
    """Draw how the context vectors come about: one head step by step, several side by side; or one
    of several alone."""
    parts = dict(zip(("queries", "keys", "values"), state.projected, strict=False))
    parts |= {"weights": state.undropped, "context": state.mixed}
    if state.weights is not state.undropped:
        parts["dropped"] = state.weights
    if hasattr(state.module, "out_proj") and not alone:
        parts["output"] = state.context
    elif alone or len(state.weights) == 1:
        parts |= {"scores": state.scores}
        if state.projected:
            parts["scaled"] = state.scores / state.mixed.shape[-1] ** 0.5
        parts = {name: part[head] for name, part in parts.items()}
    return attention_diagram(
        x=state.x, hidden=state.hidden, tokens=state.tokens, query=row, head=head, **parts
    )


def number_path(settings: Settings, state: State, head: int, row: int, column: int) -> NumberPath:
    """Return the arithmetic of one weight of one head."""
    projected = [part[head] for part in state.projected] or [state.x] * 3
    dropped = state.weights is not state.undropped
    return NumberPath(
        state.tokens,
        row,
        column,
        *projected,
        hidden=state.hidden,
        scaled=state.module is not None,
        kept=~dropped_cells(state)[head] if dropped else None,
        p=settings["dropout"],
    )


def dropped_cells(state: State) -> torch.Tensor:
    """Return which weights dropout took away, (H, T, T)."""
    return (state.weights == 0) & (state.undropped > 0)
