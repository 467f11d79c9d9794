"""What an attention module is made of: where its projections are, and how many heads share them.

A module is recognised by the layers that it has. So a class that a reader wrote in a notebook is as
good as one of the package. ``copy_weights`` and the explorers ask here.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from chapter3_helpers.fused_multihead import split_heads


@dataclass(frozen=True)
class Projection:
    """One projection, or one part of a packed one: x (..., d_in) -> (..., width).

    Attributes:
        layer: ``nn.Linear``, a module that has taken its place, the matrix (d_in, width) of
            ``SelfAttention_v1``, or ``nn.MultiheadAttention``, which packs all three.
        part, parts: which part of the numbers that the layer makes, and of how many.
    """

    layer: Any
    part: int = 0
    parts: int = 1

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Project tokens (..., d_in)."""
        wide = x @ self.layer if isinstance(self.layer, torch.Tensor) else self.layer(x)
        return wide.chunk(self.parts, dim=-1)[self.part]

    def tensors(self) -> list[torch.Tensor]:
        """Return the layer's own weight and bias, of all its parts; [] of an unknown layer."""
        layer = uncompiled(self.layer)
        if isinstance(layer, nn.MultiheadAttention):
            packed = [layer.in_proj_weight, layer.in_proj_bias]
        elif isinstance(layer, nn.Linear):
            packed = [layer.weight, layer.bias]
        else:
            packed = [layer] if isinstance(layer, torch.Tensor) else []
        return [tensor for tensor in packed if tensor is not None]

    def views(self) -> list[torch.Tensor]:
        """Return this part of the weight, (width, d_in), and of the bias (width,), if any."""
        if isinstance(self.layer, torch.Tensor):  # a matrix (d_in, width)
            return [self.layer.T]
        return [tensor.chunk(self.parts)[self.part] for tensor in self.tensors()]


@dataclass(frozen=True)
class AttentionLayers:
    """The layers of an attention module.

    Attributes:
        queries, keys, values: a projection each, or one for each head that has layers of its own.
        out_proj: the layer that mixes the heads, if there is one.
        num_heads: of the queries. Fewer keys and values are shared by neighbouring heads.
        theta: the base of the rotary angles, if there are any.
    """

    queries: list[Projection]
    keys: list[Projection]
    values: list[Projection]
    out_proj: nn.Module | None
    num_heads: int
    theta: float | None

    def project(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return queries (..., H, T, D), keys and values (..., G, T, D) of x (..., T, d_in)."""
        queries, keys, values = (
            torch.cat([projection(x) for projection in projections], dim=-1)  # (..., T, width)
            for projections in (self.queries, self.keys, self.values)
        )
        head_dim = queries.shape[-1] // self.num_heads
        G = keys.shape[-1] // head_dim
        return split_heads(queries, self.num_heads), split_heads(keys, G), split_heads(values, G)


def read_attention(module: nn.Module, name: str = "module") -> AttentionLayers:
    """Find the projections of an attention module.

    Args:
        module: one with ``W_query``, ``W_key`` and ``W_value``, with ``W_qkv``, with several of
            these in ``heads``, or ``torch.nn.MultiheadAttention``. If its layers hold several heads
            side by side, ``num_heads`` says how many.
        name: what an error calls it.

    One that ``torch.compile`` has wrapped is read as the module inside.

    Raises:
        TypeError: it is anything else.

    >>> from chapter3_helpers.fused_multihead import MultiHeadAttention
    >>> layers = read_attention(MultiHeadAttention(3, 4, 6, dropout=0.0, num_heads=2))
    >>> layers.num_heads, len(layers.queries), layers.out_proj
    (2, 1, Linear(in_features=4, out_features=4, bias=True))
    """
    module = uncompiled(module)
    heads = list(module.heads) if isinstance(getattr(module, "heads", None), nn.ModuleList) else []
    projections = ("W_query", "W_key", "W_value")
    if isinstance(module, nn.MultiheadAttention):
        parts = [[Projection(module, part, 3)] for part in range(3)]
    elif isinstance(getattr(module, "W_qkv", None), nn.Module):
        parts = [[Projection(module.W_qkv, part, 3)] for part in range(3)]
    elif isinstance(module, nn.Module) and all(
        hasattr(one, W) for one in heads or [module] for W in projections
    ):
        parts = [[Projection(getattr(one, W)) for one in heads or [module]] for W in projections]
    else:
        raise TypeError(
            f"{name} must be a module with W_query, W_key and W_value, or with W_qkv, or with an "
            "nn.ModuleList of such modules in heads, or a torch.nn.MultiheadAttention, got "
            f"{described(module)}"
        )
    return AttentionLayers(
        *parts,
        out_proj=getattr(module, "out_proj", None),
        num_heads=len(heads) or getattr(module, "num_heads", 1),
        theta=getattr(module, "theta", None),
    )


def uncompiled(layer: Any) -> Any:
    """Return the module that ``torch.compile`` has wrapped, or what was given, if it is none."""
    return getattr(layer, "_orig_mod", layer)


def described(value: Any) -> str:
    """Name the kind of a value with where it comes from: more than one class is called Linear."""
    if isinstance(value, type):
        return f"the class {value.__name__} itself, not a module made from it"
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
