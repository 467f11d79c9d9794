"""The mechanisms of ``attention_explorer``: which module each is, and how it is made.

A module is told by the layers that it has, so that a class which a reader wrote in a cell is shown
like those of the package.
"""

import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch
from torch import nn

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.explorers.core.controls import Settings
from chapter3_helpers.explorers.core.handmade_heads import (
    D_HEAD,
    D_IN,
    make_by_hand,
    place_and_kind,
)
from chapter3_helpers.explorers.core.inputs import seeded
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
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
