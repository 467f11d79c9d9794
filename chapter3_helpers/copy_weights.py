"""Carry the weights of one attention module into another that computes the same function.

Two implementations are one function if, with equal weights, they give equal outputs and equal
gradients. Every module here keeps the same projections, only in other places: transposed, head by
head, or packed into one matrix. ``read_attention`` finds them. Taught in ``07_fused_multihead``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from chapter3_helpers.read_attention import Projection, described, read_attention, uncompiled

# For each layer of a projection its weight (rows, d_in) and bias (rows,), if any: views into the
# module's parameters, so that writing there writes into the module.
Places = list[list[torch.Tensor]]


@torch.no_grad()
def copy_weights(source: nn.Module, target: nn.Module) -> None:
    """Write the weights of ``source`` into ``target``, so that both compute the same function.

    The target keeps its dtype and device. What one side lacks is filled in where that is exact:
    a missing bias is zero, a missing ``out_proj`` the identity without bias, and heads that share
    their keys take those of heads that agree. Masks and rotary positions are not weights: from
    ``SelfAttention_v2`` to ``CausalAttention`` the projections are carried, and the target still
    hides the future; but rotary positions must be the same on both sides.

    Args:
        source: any attention module with the layers of one of this package, or
            ``torch.nn.MultiheadAttention``. One with several heads side by side in its layers
            says how many in ``num_heads``.
        target: likewise, with the same d_in, num_heads and head_dim. It is changed in place, or,
            where an error is raised, not at all.

    Raises:
        TypeError: a module is of none of these kinds.
        ValueError: the sizes differ, or ``target`` has no place for something that ``source``
            makes use of, or weights are out of reach: on the meta device, in a layer other than
            ``nn.Linear``, or, in the target, computed from others.

    >>> from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
    >>> from chapter3_helpers.sentence import example_inputs
    >>> split = MultiHeadAttention(3, 4, context_length=6, dropout=0.0, num_heads=2)
    >>> fused = FusedMultiHeadAttention(3, 4, context_length=6, dropout=0.0, num_heads=2)
    >>> copy_weights(split, fused)
    >>> torch.allclose(split(example_inputs()), fused(example_inputs()), atol=1e-6)
    True

    Source: exercise 3.1, for every class.
    """
    sizes, source_places = _read(source, "source")
    target_sizes, places = _read(target, "target")
    if sizes != target_sizes:
        raise ValueError(f"target must have {sizes} as source has, got {target_sizes}")
    H, D = sizes.num_heads, sizes.head_dim
    identity = torch.eye(H * D, H * D + 1)  # with zero bias
    writes = []
    for name in places:
        matrix = _matrix(source_places[name]) if source_places[name] else identity
        if name in ("key", "value"):
            heads = matrix.unflatten(0, (-1, D))  # (G, D, d_in + 1)
            heads = heads.repeat_interleave(H // len(heads), dim=0)  # one for each query head
            groups = heads.unflatten(0, (_rows(places[name]) // D, -1))
            matrix = groups[:, 0].flatten(0, 1)
            if not _same(groups[:, 1:], groups[:, :1]):
                raise ValueError(
                    "source must have equal weights where target shares one between heads, got "
                    f"{name} weights that differ"
                )
        if not places[name] and not matrix.cpu().equal(identity.to(matrix.dtype)):
            difference = (matrix.cpu() - identity).abs().max()
            raise ValueError(
                "source must have an out_proj that is the identity with zero bias, since target "
                f"has none, got one that differs from it by up to {difference:.3g}"
            )
        writes += _pairs(name, places[name], matrix)
    before = [place.clone() for place, _ in writes]
    for place, values in writes:
        place.copy_(values)
    if not all(_same(place, values.to(place)) for place, values in writes):
        for (place, _), old in zip(writes, before, strict=True):
            place.copy_(old)
        raise ValueError(
            "target must have a place for each of source's weights, got one that several of its "
            "projections share, for which source has weights that differ"
        )


def _same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether both hold the same numbers; NaN is the same as NaN."""
    return torch.allclose(left, right.expand_as(left), rtol=0, atol=0, equal_nan=True)


@dataclass(frozen=True)
class _Sizes:
    """What has to agree between source and target."""

    d_in: int
    num_heads: int
    head_dim: int
    theta: float | None

    def __str__(self) -> str:
        rotary = "" if self.theta is None else f", with rotary positions of theta={self.theta}"
        return f"d_in={self.d_in}, num_heads={self.num_heads} and head_dim={self.head_dim}{rotary}"


def _read(module: nn.Module, name: str) -> tuple[_Sizes, dict[str, Places]]:
    """Return the sizes and the places of every projection; those of ``out_proj`` may be none."""
    module = uncompiled(module)
    if isinstance(module, nn.MultiheadAttention) and (
        module.in_proj_weight is None or module.bias_k is not None or module.add_zero_attn
    ):
        raise ValueError(
            f"{name} must have kdim and vdim equal to embed_dim={module.embed_dim} and "
            f"neither add_bias_kv nor add_zero_attn, got kdim={module.kdim}, "
            f"vdim={module.vdim}, add_bias_kv={module.bias_k is not None} and "
            f"add_zero_attn={module.add_zero_attn}"
        )
    layers = read_attention(module, name)
    out_proj = [] if layers.out_proj is None else [Projection(layers.out_proj)]
    projections = {"query": layers.queries, "key": layers.keys, "value": layers.values}
    places = {
        projection: [_reach(layer, name) for layer in found]
        for projection, found in (projections | {"out_proj": out_proj}).items()
    }
    H, width = layers.num_heads, _rows(places["query"])
    for projection in ("key", "value"):
        rows = _rows(places[projection])
        if rows == 0 or width % rows or H % (width // rows):
            raise ValueError(
                f"{name} must have {projection} heads that its {H} query heads can share, got "
                f"{rows} numbers for each {projection} and {width} for each query"
            )
    theta = None if layers.theta is None else float(layers.theta)
    return _Sizes(places["query"][0][0].shape[1], H, width // H, theta), places


def _reach(projection: Projection, name: str) -> list[torch.Tensor]:
    """Return views of a projection's weights; ``name`` is that of the module in messages."""
    own = projection.tensors()
    if not own:
        raise ValueError(
            f"{name} must have torch.nn.Linear for its projections, got "
            f"{described(projection.layer)}. Copy before layers are replaced"
        )
    for tensor in own:
        if tensor.is_meta:
            raise ValueError(f"{name} must have its weights in memory, got them on the meta device")
        if name == "target" and not isinstance(tensor, nn.Parameter):
            raise ValueError(
                "target must keep its weights as parameters, got one that computes them from others"
            )
    return projection.views()


def _rows(places: Places) -> int:
    return sum(len(weight) for weight, *_ in places)


def _matrix(places: Places) -> torch.Tensor:
    """Put the layers of a projection together, (rows, d_in + 1): the last column is the bias."""
    layers = [(w, *bias) if bias else (w, w.new_zeros(len(w))) for w, *bias in places]
    return torch.cat([torch.column_stack(layer) for layer in layers])


def _pairs(
    name: str, places: Places, matrix: torch.Tensor
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Pair every place in the target with the values to be written there."""
    for weight, *bias in places:
        values, matrix = matrix[: len(weight)], matrix[len(weight) :]
        yield weight, values[:, :-1]
        if bias:
            yield bias[0], values[:, -1]
        elif values[:, -1].any():
            raise ValueError(
                f"target must have a bias for {name}, since that of source reaches "
                f"{values[:, -1].abs().max():.3g}, got none"
            )
