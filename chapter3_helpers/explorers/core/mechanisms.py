"""The mechanisms of ``attention_explorer``: which module each is, and all that it computes.

A module is told by the layers that it has, so that a class which a reader wrote in a cell is shown
like those of the package, and every size is read from what the module computes.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
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
    weights_by_head,
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
from chapter3_helpers.softmax import softmax
from chapter3_helpers.trainable_qkv import SelfAttention_v1, SelfAttention_v2

SIMPLE, V1, V2 = "simple (01, 02)", "v1 (03)", "v2 (03)"
BY_HAND, AT_RANDOM = "by hand", "at random"
CAUSAL, WRAPPER, SPLIT, FUSED = "causal (05)", "wrapper (06)", "split (07)", "fused (07)"
UNMASKED = (SIMPLE, V1, V2)  # these leave the mask to whoever uses them
Classes = Mapping[str, type[nn.Module]]  # the class of each mechanism but the first
CLASSES: Classes = {
    V1: SelfAttention_v1,
    V2: SelfAttention_v2,
    CAUSAL: CausalAttention,
    WRAPPER: MultiHeadAttentionWrapper,
    SPLIT: MultiHeadAttention,
    FUSED: FusedMultiHeadAttention,
}


def mechanism_of(attention_class: Any) -> str:
    """Return which mechanism a class is, by its layers and by what it is called with.

    Args:
        attention_class: a class of the package, or one that a reader wrote. It is called with
            d_in and d_out and, where its ``__init__`` names them, context_length, dropout and
            num_heads.

    Raises:
        TypeError: it is no such class.
    """
    wanted = "attention_class must be a class such as CausalAttention"
    if isinstance(attention_class, nn.Module):
        name = type(attention_class).__name__
        raise TypeError(f"{wanted}, got a module that was made from one: give {name} itself")
    if not (isinstance(attention_class, type) and issubclass(attention_class, nn.Module)):
        raise TypeError(f"{wanted}, got {attention_class!r}")
    name = attention_class.__name__
    if not hasattr(attention_class, "attention_weights"):
        raise TypeError(f"{wanted}, with a method attention_weights, got {name}, which has none")
    sizes = {"d_in": 3, "d_out": 2, "context_length": 4, "dropout": 0.0, "num_heads": 1}
    with seeded(0):
        module = attention_class(**_arguments(attention_class, sizes))
    if hasattr(module, "heads"):
        return WRAPPER
    if hasattr(module, "W_qkv"):
        return FUSED
    if not hasattr(module, "W_query"):
        found = ", ".join(child for child, _ in module.named_children()) or "no layers"
        raise TypeError(f"{wanted}, with W_query, W_qkv or heads, got {name} with {found}")
    if hasattr(module, "out_proj"):
        return SPLIT
    if isinstance(module.W_query, nn.Parameter):
        return V1
    return CAUSAL if "context_length" in inspect.signature(attention_class).parameters else V2


def _arguments(attention_class: type[nn.Module], sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some sizes that a class is called with, by name.

    Raises:
        TypeError: it needs an argument that is none of them.
    """
    parameters = inspect.signature(attention_class).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    strange = [name for name in needed if name not in sizes]
    if strange:
        raise TypeError(
            f"attention_class must be called with {', '.join(sizes)} or some of them, got "
            f"{attention_class.__name__}, which needs {', '.join(strange)}"
        )
    return {p.name: sizes[p.name] for p in parameters if p.name in sizes}


def by_hand(settings: Settings) -> bool:
    """Return whether the weight matrices are made by hand."""
    return settings["made"] == BY_HAND and settings["mechanism"] != SIMPLE


def module_arguments(
    settings: Settings, context_length: Any, classes: Classes = CLASSES
) -> dict[str, Any]:
    """Return what the module is made with; heads that are made by hand have two numbers each."""
    mechanism, heads = settings["mechanism"], settings["num_heads"]
    d_in, d_out = 3, settings["d_out"]
    if by_hand(settings):
        d_in, d_out = D_IN, D_HEAD * (heads if mechanism in (SPLIT, FUSED) else 1)
    sizes = {"d_in": d_in, "d_out": d_out, "context_length": context_length, "dropout": 0.0}
    return _arguments(classes[mechanism], {**sizes, "num_heads": heads})


@lru_cache(maxsize=8)  # another head or row needs no new matrices
def _made_by_hand(
    kind: type[nn.Module], arguments: tuple[tuple[str, Any], ...], text: str
) -> nn.Module:
    _, x = place_and_kind(text)
    with seeded(0):
        return make_by_hand(kind(**dict(arguments)), x)


def build_module(
    settings: Settings, x: torch.Tensor, classes: Classes = CLASSES
) -> nn.Module | None:
    """Make the module the settings ask for, by hand or with weights drawn from their seed."""
    if settings["mechanism"] == SIMPLE:
        return None
    kind = classes[settings["mechanism"]]
    arguments = module_arguments(settings, len(x), classes)
    if by_hand(settings):
        return _made_by_hand(kind, tuple(arguments.items()), settings["text"])
    with seeded(settings["seed"]):
        return kind(**arguments)


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
