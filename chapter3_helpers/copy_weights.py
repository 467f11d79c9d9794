"""Carry the weights of one attention module into another that computes the same function.

Two implementations are one function if, with equal weights, they give equal outputs and equal
gradients. Every module here keeps the same projections, only in other places: transposed, head by
head, or packed into one matrix. ``find_projections`` says where; a module of a new kind needs a
function registered there, and nothing else.

Taught in ``07_fused_multihead``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

import torch
from torch import nn

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.grouped_query import GroupedQueryAttention
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.trainable_qkv import SelfAttention_v1, SelfAttention_v2


@dataclass(frozen=True)
class Part:
    """Some rows of a projection: views into a module's parameters, so writing here writes there.

    Args:
        weight: (rows, width of the input), as ``nn.Linear`` stores it.
        bias: (rows,), or None where the module has none.
    """

    weight: torch.Tensor
    bias: torch.Tensor | None = None


@dataclass(frozen=True)
class Projections:
    """Where an attention module keeps its projections.

    Args:
        query, key, value: the parts that, stacked, make (num_heads * head_dim, d_in): one part,
            one a head, or any other cut. A part that serves several heads is named once for
            each.
        num_heads: how many heads there are.
        out: the output projection, (num_heads * head_dim,) squared, or None: heads side by side.
        theta: the base of the rotary angles, or None: no positions but the mask's.
    """

    query: Sequence[Part]
    key: Sequence[Part]
    value: Sequence[Part]
    num_heads: int
    out: Part | None = None
    theta: float | None = None

    @property
    def sizes(self) -> str:
        """Say what has to agree between source and target."""
        d_in = self.query[0].weight.shape[1]
        head_dim = sum(part.weight.shape[0] for part in self.query) // self.num_heads
        turned = "" if self.theta is None else f", turned by rotary positions of theta={self.theta}"
        return f"d_in={d_in}, num_heads={self.num_heads} and head_dim={head_dim}{turned}"


def copy_weights(source: nn.Module, target: nn.Module) -> None:
    """Write the weights of ``source`` into ``target``, so that both compute the same function.

    The target keeps its dtype and device. A mask is no weight: from ``SelfAttention_v2`` to
    ``CausalAttention`` the projections are carried, and the target still hides the future.
    What one side lacks is made up for where that is exact: a missing bias is zero, a missing
    ``out_proj`` the identity without bias. Rotary positions are no weights either, so both sides
    must have the same; ``GroupedQueryAttention(..., rotary=False)`` takes ``MultiHeadAttention``'s
    weights, and gives them back wherever heads that share keys agree.

    Args:
        source: any attention module of this package, or ``torch.nn.MultiheadAttention``.
        target: likewise, with the same d_in, num_heads and head_dim. It is changed in place, or,
            where an error is raised, not at all.

    Raises:
        TypeError: a module is of none of these kinds.
        ValueError: the sizes differ, or ``target`` has no place for a bias or an ``out_proj``
            that ``source`` makes use of, or computes its weights from others (``weight_norm``).

    >>> from chapter3_helpers.sentence import example_inputs
    >>> split = MultiHeadAttention(3, 4, context_length=6, dropout=0.0, num_heads=2)
    >>> fused = FusedMultiHeadAttention(3, 4, context_length=6, dropout=0.0, num_heads=2)
    >>> copy_weights(split, fused)
    >>> torch.allclose(split(example_inputs()), fused(example_inputs()), atol=1e-6)
    True

    Source: exercise 3.1, for every class. Taught in ``07_fused_multihead``.
    """
    found, place = find_projections(source, "source"), find_projections(target, "target")
    if found.sizes != place.sizes:
        raise ValueError(f"target must have {found.sizes} as source has, got {place.sizes}")
    with torch.no_grad():
        writes = [
            *_fill("query", found.query, place.query),
            *_fill("key", found.key, place.key),
            *_fill("value", found.value, place.value),
            *_fill_out(found, place),
        ]
        _check_shared(writes)
        _check_parameters(target, [place_in_target for place_in_target, _ in writes])
        for place_in_target, values in writes:  # from here on nothing can fail
            place_in_target.copy_(values)


@singledispatch
def find_projections(module: nn.Module, name: str) -> Projections:
    """Say where a module keeps its projections; ``name`` is what an error calls the module.

    A new kind of module is made known with ``@find_projections.register``.
    """
    raise TypeError(
        f"{name} must be an attention module of this package or torch.nn.MultiheadAttention, "
        f"got {module.__name__ if isinstance(module, type) else type(module).__name__}"
    )


@find_projections.register
def _(module: SelfAttention_v1, name: str) -> Projections:
    matrices = (module.W_query, module.W_key, module.W_value)
    return Projections(*([Part(W.detach().T)] for W in matrices), num_heads=1)


@find_projections.register(SelfAttention_v2)
@find_projections.register(CausalAttention)
def _(module: SelfAttention_v2 | CausalAttention, name: str) -> Projections:
    layers = (module.W_query, module.W_key, module.W_value)
    return Projections(*([_part(layer)] for layer in layers), num_heads=1)


@find_projections.register
def _(module: MultiHeadAttentionWrapper, name: str) -> Projections:
    return Projections(
        query=[_part(head.W_query) for head in module.heads],
        key=[_part(head.W_key) for head in module.heads],
        value=[_part(head.W_value) for head in module.heads],
        num_heads=module.num_heads,
    )


@find_projections.register
def _(module: MultiHeadAttention, name: str) -> Projections:
    layers = (module.W_query, module.W_key, module.W_value)
    return Projections(
        *([_part(layer)] for layer in layers),
        num_heads=module.num_heads,
        out=_part(module.out_proj),
    )


@find_projections.register
def _(module: FusedMultiHeadAttention, name: str) -> Projections:
    return _packed(module.W_qkv.weight, module.W_qkv.bias, module)


@find_projections.register
def _(module: GroupedQueryAttention, name: str) -> Projections:
    sharing = module.num_heads // module.num_kv_heads
    keys, values = (
        [
            Part(weight)
            for weight in layer.weight.detach().split(module.head_dim)  # one a key/value head
            for _ in range(sharing)
        ]
        for layer in (module.W_key, module.W_value)
    )
    return Projections(
        [_part(module.W_query)],
        keys,
        values,
        num_heads=module.num_heads,
        out=_part(module.out_proj),
        theta=module.theta,
    )


@find_projections.register
def _(module: nn.MultiheadAttention, name: str) -> Projections:
    if module.in_proj_weight is None:
        raise ValueError(
            f"{name} must have kdim and vdim equal to embed_dim={module.embed_dim}, "
            f"got kdim={module.kdim} and vdim={module.vdim}"
        )
    if module.bias_k is not None or module.add_zero_attn:
        raise ValueError(
            f"{name} must have neither add_bias_kv nor add_zero_attn, got "
            f"add_bias_kv={module.bias_k is not None} and add_zero_attn={module.add_zero_attn}"
        )
    return _packed(module.in_proj_weight, module.in_proj_bias, module)


def _part(layer: nn.Linear) -> Part:
    return Part(layer.weight.detach(), None if layer.bias is None else layer.bias.detach())


def _packed(weight: torch.Tensor, bias: torch.Tensor | None, module: nn.Module) -> Projections:
    """Cut a packed projection (3 * H * D, d_in) into queries, keys and values."""
    weights = weight.detach().chunk(3)
    biases = [None] * 3 if bias is None else bias.detach().chunk(3)
    return Projections(
        *([Part(*pair)] for pair in zip(weights, biases, strict=True)),
        num_heads=module.num_heads,
        out=_part(module.out_proj),
    )


def _fill(
    name: str, found: Sequence[Part], places: Sequence[Part]
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Pair every place of a projection in the target with the values to be written there."""
    weight = torch.cat([part.weight for part in found])
    bias = torch.cat([_bias(part) for part in found])
    rows = [part.weight.shape[0] for part in places]
    writes = []
    for part, part_weight, part_bias in zip(
        places, weight.split(rows), bias.split(rows), strict=True
    ):
        writes.append((part.weight, part_weight))
        if part.bias is not None:
            writes.append((part.bias, part_bias))
        elif part_bias.any():
            raise ValueError(
                f"target must have a bias for {name}, since that of source reaches "
                f"{part_bias.abs().max():.3g}, got none"
            )
    return writes


def _fill_out(found: Projections, place: Projections) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Do the same for the output projection, which either side may lack."""
    if found.out is not None and place.out is not None:
        return _fill("out_proj", [found.out], [place.out])
    if place.out is not None:
        identity = torch.eye(len(place.out.weight))
        return _fill("out_proj", [Part(identity)], [place.out])
    if found.out is not None:
        weight, bias = found.out.weight, _bias(found.out)
        change = torch.cat([weight - torch.eye(len(weight)).to(weight), bias[:, None]], dim=1)
        if change.any():
            raise ValueError(
                "source must have an out_proj that is the identity with zero bias, since target "
                f"has none, got one that differs from it by up to {change.abs().max():.3g}"
            )
    return []


def _bias(part: Part) -> torch.Tensor:
    """Return the bias of a part, zeros where it has none."""
    return part.weight.new_zeros(part.weight.shape[0]) if part.bias is None else part.bias


def _check_parameters(target: nn.Module, places: Sequence[torch.Tensor]) -> None:
    """Refuse to write into a weight that is computed: it would be forgotten at once."""
    kept = {parameter.untyped_storage().data_ptr() for parameter in target.parameters()}
    if not all(place.untyped_storage().data_ptr() in kept for place in places):
        raise ValueError(
            "target must keep its weights as parameters, got one that computes them from others"
        )


def _check_shared(writes: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> None:
    """Refuse to write different values to one place, as heads that share a projection would."""
    first: dict[tuple, torch.Tensor] = {}
    for place, values in writes:
        earlier = first.setdefault((place.data_ptr(), place.shape, place.stride()), values)
        if earlier is not values and not torch.equal(earlier, values):
            raise ValueError(
                "source must have equal weights where target shares one between heads or "
                "projections, got weights that differ by up to "
                f"{(earlier - values).abs().max():.3g}"
            )
