"""All that ``attention_explorer`` computes for one choice of settings.

Every size is read from what the module computes, and of a class that a reader wrote it is found out
whether it scales and masks at all.
"""

from dataclasses import dataclass

import torch
from torch import nn

from chapter3_helpers.diagrams import Diagram, attention_diagram
from chapter3_helpers.dot_products import simple_self_attention
from chapter3_helpers.dropout import dropout_mask
from chapter3_helpers.explorers.core.controls import Settings
from chapter3_helpers.explorers.core.handmade_heads import place_and_kind, weights_by_head
from chapter3_helpers.explorers.core.inputs import read_sentence, read_tokens
from chapter3_helpers.explorers.core.mechanisms import (
    CLASSES,
    UNMASKED,
    Classes,
    build_module,
    by_hand,
)
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.fused_multihead import join_heads, split_heads
from chapter3_helpers.masking import causal_mask, mask_then_renormalise
from chapter3_helpers.softmax import softmax


def projections(module: nn.Module, x: torch.Tensor, num_heads: int) -> tuple[torch.Tensor, ...]:
    """Return queries, keys and values of every head, (H, T, D) each."""
    if hasattr(module, "heads"):
        heads = [projections(head, x, 1) for head in module.heads]
        return tuple(torch.cat(parts) for parts in zip(*heads, strict=True))
    if hasattr(module, "W_qkv"):
        wide = module.W_qkv(x).chunk(3, dim=-1)
    else:
        layers = module.W_query, module.W_key, module.W_value
        wide = [x @ W if isinstance(W, nn.Parameter) else W(x) for W in layers]
    return tuple(split_heads(part, num_heads) for part in wide)


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
    scaled: bool  # whether the scores are divided by sqrt(D)
    explained: bool = True  # whether all of the above is the way to the weights and the context


def attention_state(settings: Settings, classes: Classes = CLASSES) -> State:
    """Compute weights and context vectors for the settings of the explorer.

    Args:
        settings: the values of its controls.
        classes: the class of each mechanism. One that is not the package's may compute something
            else: whether it scales and masks is then found out from its weights.

    Raises:
        ValueError: the sentence is empty or too long to be drawn, or a reader's class fails.
    """
    if by_hand(settings):
        read_tokens(settings["text"])
        tokens, x = place_and_kind(settings["text"])
    else:
        tokens, x = read_sentence(settings["text"])
        x = settings["scale"] * x
    kind = classes.get(settings["mechanism"])
    if kind in (None, *CLASSES.values()):
        return _state(settings, tokens, x, classes)
    try:
        return _state(settings, tokens, x, classes)
    except Exception as error:  # it is the reader's to see, in place of the picture
        raise ValueError(f"{kind.__name__}: {type(error).__name__}: {error}") from error


@torch.no_grad()
def _state(settings: Settings, tokens: tuple[str, ...], x: torch.Tensor, classes: Classes) -> State:
    mechanism, p, T = settings["mechanism"], settings["dropout"], len(tokens)
    module = build_module(settings, x, classes)
    if module is None:
        undropped = simple_self_attention(x)[1].unsqueeze(0)
    else:
        undropped = weights_by_head(module, x)  # (H, T, T)
    projected = () if module is None else projections(module, x, len(undropped))
    queries, keys, values = projected or (x.unsqueeze(0),) * 3
    scores = queries @ keys.transpose(-2, -1)
    scaled, explained = module is not None, True
    hidden = None if mechanism in UNMASKED else causal_mask(T)
    own = module is not None and type(module) not in CLASSES.values()
    if own:
        scaled, hidden, explained = _found_out(scores, queries.shape[-1], undropped)
    if mechanism in UNMASKED and settings["causal"]:
        undropped, hidden = mask_then_renormalise(undropped), causal_mask(T)
    weights = undropped
    if mechanism not in UNMASKED and p > 0:
        weights = undropped * dropout_mask(tuple(undropped.shape), p, settings["seed"]) / (1 - p)
    mixed = weights @ values
    context = join_heads(mixed)  # (T, H * D)
    if hasattr(module, "out_proj"):
        context = module.out_proj(context)
    if own and weights is undropped and not (mechanism in UNMASKED and settings["causal"]):
        output = module(x)
        same = output.shape == context.shape
        explained &= same and torch.allclose(output, context, rtol=1e-3, atol=1e-4)
        context = output
    return State(
        *(tokens, x, projected, scores, undropped, weights, mixed, context),
        *(hidden, module, scaled, explained),
    )


def _found_out(
    scores: torch.Tensor, head_dim: int, weights: torch.Tensor
) -> tuple[bool, torch.Tensor | None, bool]:
    """Return whether weights come from scores that were scaled, what hides keys, and whether it is
    any of this that makes them."""
    future = causal_mask(scores.shape[-1])
    for scaled in (True, False):
        for hidden in (future, None):
            expected = scores / head_dim**0.5 if scaled else scores
            if hidden is not None:
                expected = expected.masked_fill(hidden, -torch.inf)
            if torch.allclose(softmax(expected), weights, rtol=1e-3, atol=1e-4):
                return scaled, hidden, True
    nothing = (weights == 0).all(dim=0)
    return True, nothing if nothing.any() else None, False


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
        if state.scaled:
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
        scaled=state.scaled,
        kept=~dropped_cells(state)[head] if dropped else None,
        p=settings["dropout"],
    )


def dropped_cells(state: State) -> torch.Tensor:
    """Return which weights dropout took away, (H, T, T)."""
    return (state.weights == 0) & (state.undropped > 0)
