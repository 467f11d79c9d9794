"""The mechanisms of ``attention_explorer``: which class each is, and how a module of it is made.

A reader's own class is recognised by its layers, so it is shown as those of the package are.
"""

import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch
from torch import nn

from chapter3_helpers._language import to_say
from chapter3_helpers._switches import as_torch_starts, seeded
from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.explorers.attention.handmade_heads import make_by_hand
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.read_attention import read_attention
from chapter3_helpers.trainable_qkv import SelfAttention_v1, SelfAttention_v2

SIMPLE, V1, V2, CAUSAL = to_say("simple (01, 02)"), "v1 (03)", "v2 (03)", to_say("causal (05)")
WRAPPER, SPLIT, FUSED = to_say("wrapper (06)"), to_say("split (07)"), to_say("fused (07)")
UNMASKED = (SIMPLE, V1, V2)  # these leave the mask to whoever uses them
HAVING_HEADS = (WRAPPER, SPLIT, FUSED)
CLASSES: Mapping[str, type[nn.Module]] = {
    V1: SelfAttention_v1,
    V2: SelfAttention_v2,
    CAUSAL: CausalAttention,
    WRAPPER: MultiHeadAttentionWrapper,
    SPLIT: MultiHeadAttention,
    FUSED: FusedMultiHeadAttention,
}
BY_HAND, AT_RANDOM = to_say("by hand"), to_say("at random")


@as_torch_starts()
def mechanism_of(attention_class: Any) -> str:
    """Return which mechanism a class is, by its layers and by what it is called with.

    Args:
        attention_class: a class of the package, or one that a reader wrote. It is called with
            d_in and d_out and, where its ``__init__`` names them, context_length, dropout and
            num_heads.

    Raises:
        TypeError: it is anything else.
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
    sizes = {"d_in": 3, "d_out": 2, "context_length": 4, "dropout": 0.0, "num_heads": 2}
    arguments = _arguments(attention_class, sizes)
    with seeded(0):
        layers = read_attention(attention_class(**arguments), "attention_class")
    first, *others = layers.queries
    if others:
        return WRAPPER
    if first.parts > 1:
        return FUSED
    if layers.out_proj:
        return SPLIT
    if isinstance(first.layer, nn.Parameter):
        return V1
    return CAUSAL if "context_length" in arguments else V2


def make_module(
    attention_class: type[nn.Module], x: torch.Tensor, made: str, seed: int, **sizes: int
) -> nn.Module:
    """Make a module that reads x (T, d_in), with weights made by hand or drawn from a seed; of
    ``sizes`` it is given ``d_out``, and ``num_heads`` where it has several."""
    every = {"d_in": x.shape[1], "context_length": len(x), "dropout": 0.0, **sizes}
    arguments = _arguments(attention_class, every)
    if made == BY_HAND:
        rows = tuple(map(tuple, x.tolist()))
        return _made_by_hand(attention_class, tuple(arguments.items()), rows)
    with seeded(seed):
        return attention_class(**arguments)


@lru_cache(maxsize=1)  # another row needs no new matrices; a former class is let go
def _made_by_hand(
    attention_class: type[nn.Module], arguments: tuple, rows: tuple[tuple[float, ...], ...]
) -> nn.Module:
    with seeded(0):
        return make_by_hand(attention_class(**dict(arguments)), torch.tensor(rows))


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
