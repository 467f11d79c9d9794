"""The implementations that are compared: one function, one set of weights, many ways."""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from chapter3_helpers.copy_weights import copy_weights
from chapter3_helpers.fused_multihead import (
    FusedMultiHeadAttention,
    MultiHeadAttention,
    join_heads,
)
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.performance import Sizes, accelerate
from chapter3_helpers.softmax import softmax


@dataclass(frozen=True)
class Variant:
    """One way to compute attention.

    Args:
        name: what the table calls it.
        call: tokens (B, T, d) -> context vectors (B, T, d).
        module: whose parameters get gradients.
        stored: how many square matrices (B, H, T, T) it holds at one moment of a forward pass.
    """

    name: str
    call: Callable[[torch.Tensor], torch.Tensor]
    module: nn.Module
    stored: float = 0.0


class PackedMultiHeadAttention(FusedMultiHeadAttention):
    """One packed projection as in ``FusedMultiHeadAttention``, but the softmax written out."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (B, T, d) to context vectors (B, T, d)."""
        queries, keys, values = self._project(x)
        scores = queries @ keys.transpose(-2, -1)  # (B, H, T, T)
        scores = scores.masked_fill(causal_mask(x.shape[-2], x.device), -torch.inf)
        return self.out_proj(join_heads(softmax(scores / self.head_dim**0.5, dim=-1) @ values))


@torch.random.fork_rng(devices=[])
def make_variants(sizes: Sizes, device: torch.device | str = "cpu") -> list[Variant]:
    """Make every variant with the weights of one ``MultiHeadAttention``."""
    d, T, H = sizes.width, sizes.tokens, sizes.heads
    split = shared_weights(sizes).eval()
    fused, packed = (
        cls(d, d, T, 0.0, H).eval() for cls in (FusedMultiHeadAttention, PackedMultiHeadAttention)
    )
    for module in (fused, packed):
        copy_weights(split, module)
    wrapper, accelerated = _with_output(split), accelerate(copy.deepcopy(fused))
    for module in (wrapper, split, packed, fused, accelerated):
        module.to(device)
    return [
        Variant("wrapper", wrapper, wrapper, stored=4 / H),
        Variant("split", split, split, stored=4),
        Variant("packed", packed, packed, stored=4),
        Variant("fused", fused, fused),
        Variant("accelerated", accelerated, accelerated),
        _pytorch(sizes, device, "torch"),
        _pytorch(sizes, device, "torch+weights", stored=4),
    ]


def _with_output(split: MultiHeadAttention) -> nn.Sequential:
    """Make separate heads with an ``out_proj`` behind them, for which they have no place."""
    sizes = split.W_query.in_features, split.head_dim, split.context_length
    heads = MultiHeadAttentionWrapper(*sizes, dropout=0.0, num_heads=split.num_heads)
    without_output = copy.deepcopy(split)
    nn.init.eye_(without_output.out_proj.weight)
    nn.init.zeros_(without_output.out_proj.bias)
    copy_weights(without_output, heads)
    return nn.Sequential(heads, copy.deepcopy(split.out_proj))


def _pytorch(sizes: Sizes, device: torch.device | str, name: str, stored: float = 0.0) -> Variant:
    """Make PyTorch's own module; one that stores (B, H, T, T) returns the weights as well."""
    # not in eval(), where it takes a slower way on a CPU
    attention = nn.MultiheadAttention(sizes.width, sizes.heads, batch_first=True)
    copy_weights(shared_weights(sizes), attention)
    attention.to(device)
    options = {"attn_mask": causal_mask(sizes.tokens, device), "is_causal": True}

    def call(x: torch.Tensor) -> torch.Tensor:
        return attention(x, x, x, need_weights=stored > 0, **options)[0]

    return Variant(name, call, attention, stored)


@torch.random.fork_rng(devices=[])
def shared_weights(sizes: Sizes) -> MultiHeadAttention:
    """Return the module whose weights all variants share; no caller's random numbers change."""
    torch.default_generator.manual_seed(123)  # torch.manual_seed would seed a GPU's as well
    d = sizes.width
    return MultiHeadAttention(d, d, sizes.tokens, 0.0, sizes.heads)
