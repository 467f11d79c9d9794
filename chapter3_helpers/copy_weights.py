"""Carry the weights of one attention module into another that computes the same function.

Two implementations are one function if, with equal weights, they give equal outputs and equal
gradients. Every module here keeps the same projections, only in other places: transposed, head by
head, or packed into one matrix. A module is told by the layers that it has, so a class that a
reader wrote in a notebook is as good as one of the package. Taught in ``07_fused_multihead``.
"""

from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional

# A part of a projection: weight (rows, width), as nn.Linear stores it, and bias (rows,) or None.
# Both are views into a module's parameters, so writing there writes into the module.
Part = tuple[torch.Tensor, torch.Tensor | None]


@torch.no_grad()
def copy_weights(source: nn.Module, target: nn.Module) -> None:
    """Write the weights of ``source`` into ``target``, so that both compute the same function.

    The target keeps its dtype and device. What one side lacks is made up for where that is exact:
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
    found, places = _projections(source, "source"), _projections(target, "target")
    sizes, target_sizes = _sizes(source, found), _sizes(target, places)
    if sizes != target_sizes:
        raise ValueError(f"target must have {sizes} as source has, got {target_sizes}")
    width = sum(len(weight) for weight, _ in found["query"])  # num_heads * head_dim
    identity = functional.pad(torch.eye(width), (0, 1))
    writes: dict[tuple, tuple[torch.Tensor, torch.Tensor]] = {}
    for name, parts in places.items():
        matrix = _matrix(found[name]) if found[name] else identity
        difference = (matrix.cpu() - identity).abs().max() if not parts else 0
        if difference != 0:  # NaN is not 0 either
            raise ValueError(
                "source must have an out_proj that is the identity with zero bias, since target "
                f"has none, got one that differs from it by up to {difference:.3g}"
            )
        for view, values in _pairs(name, parts, matrix):
            place = (view.data_ptr(), view.shape, view.stride())
            _, first = writes.setdefault(place, (view, values))
            if not torch.allclose(first, values, rtol=0, atol=0, equal_nan=True):
                raise ValueError(
                    "source must have equal weights where target shares one between heads or "
                    f"projections, got {name} weights that differ"
                )
    for view, values in writes.values():  # from here on nothing can fail
        view.copy_(values)


def _projections(module: nn.Module, name: str) -> dict[str, list[Part]]:
    """Say where a module keeps its projections; the list of ``out_proj`` may be empty."""

    def reach(weight: torch.Tensor, bias: torch.Tensor | None = None) -> Part:
        if weight.is_meta:
            raise ValueError(f"{name} must have its weights in memory, got them on the meta device")
        if name == "target" and not isinstance(weight, nn.Parameter):
            raise ValueError(
                "target must keep its weights as parameters, got one that computes them from others"
            )
        return weight.detach(), None if bias is None else bias.detach()

    def layer(linear: nn.Module) -> Part:
        if not isinstance(linear, nn.Linear):
            kind = type(linear).__name__
            raise ValueError(f"{name} must have nn.Linear for its projections, got {kind}")
        return reach(linear.weight, linear.bias)

    def layers(*modules: nn.Module) -> list[list[Part]]:
        return [[layer(getattr(m, W)) for m in modules] for W in ("W_query", "W_key", "W_value")]

    if isinstance(module, nn.MultiheadAttention):
        if module.in_proj_weight is None or module.bias_k is not None or module.add_zero_attn:
            raise ValueError(
                f"{name} must have kdim and vdim equal to embed_dim={module.embed_dim} and "
                f"neither add_bias_kv nor add_zero_attn, got kdim={module.kdim}, "
                f"vdim={module.vdim}, add_bias_kv={module.bias_k is not None} and "
                f"add_zero_attn={module.add_zero_attn}"
            )
        packed = reach(module.in_proj_weight, module.in_proj_bias)
        qkv = [[part] for part in _cut(packed, 3)]
    elif hasattr(module, "W_qkv"):
        qkv = [[part] for part in _cut(layer(module.W_qkv), 3)]
    elif hasattr(module, "heads"):
        qkv = layers(*module.heads)
    elif isinstance(getattr(module, "W_query", None), torch.Tensor):  # no layers: transposed
        qkv = [[(reach(W)[0].T, None)] for W in (module.W_query, module.W_key, module.W_value)]
    elif hasattr(module, "W_query") and not isinstance(module, type):
        qkv = layers(module)
        qkv[1:] = [_shared(parts, rows=len(qkv[0][0][0]), module=module) for parts in qkv[1:]]
    else:
        kind = module if isinstance(module, type) else type(module)
        raise TypeError(
            f"{name} must be an attention module of this package or "
            f"torch.nn.MultiheadAttention, got {kind.__name__}"
        )
    out_proj = [layer(module.out_proj)] if hasattr(module, "out_proj") else []
    return dict(zip(("query", "key", "value", "out_proj"), [*qkv, out_proj], strict=True))


def _cut(part: Part, pieces: int) -> list[Part]:
    """Cut a part into pieces with the same number of rows."""
    weight, bias = part
    biases = [None] * pieces if bias is None else bias.chunk(pieces)
    return list(zip(weight.chunk(pieces), biases, strict=True))


def _shared(parts: list[Part], rows: int, module: nn.Module) -> list[Part]:
    """Name a key or value head once for each query head that it serves, if it serves several."""
    (part,) = parts
    if len(part[0]) == rows:
        return parts
    serves = rows // len(part[0])
    return [head for head in _cut(part, _num_heads(module) // serves) for _ in range(serves)]


def _num_heads(module: nn.Module) -> int:
    return len(module.heads) if hasattr(module, "heads") else getattr(module, "num_heads", 1)


def _sizes(module: nn.Module, parts: dict[str, list[Part]]) -> str:
    """Say what has to agree between source and target."""
    num_heads, d_in = _num_heads(module), parts["query"][0][0].shape[1]
    head_dim = sum(len(weight) for weight, _ in parts["query"]) // num_heads
    theta = getattr(module, "theta", None)
    rotary = "" if theta is None else f", with rotary positions of theta={theta}"
    return f"d_in={d_in}, num_heads={num_heads} and head_dim={head_dim}{rotary}"


def _matrix(parts: list[Part]) -> torch.Tensor:
    """Put the parts of a projection together, (rows, width + 1): the last column is the bias."""
    columns = [(w, w.new_zeros(len(w)) if bias is None else bias) for w, bias in parts]
    return torch.cat([torch.column_stack(pair) for pair in columns])


def _pairs(
    name: str, parts: list[Part], matrix: torch.Tensor
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Pair every place in the target with the values to be written there."""
    for weight, bias in parts:
        values, matrix = matrix[: len(weight)], matrix[len(weight) :]
        yield weight, values[:, :-1]
        if bias is not None:
            yield bias, values[:, -1]
        elif values[:, -1].any():
            raise ValueError(
                f"target must have a bias for {name}, since that of source reaches "
                f"{values[:, -1].abs().max():.3g}, got none"
            )
