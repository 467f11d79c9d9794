"""The mechanisms of ``attention_explorer``: which module each is, and what it projects x to."""

import torch
from torch import nn

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.explorers.controls import Settings
from chapter3_helpers.explorers.inputs import seeded
from chapter3_helpers.fused_multihead import (
    FusedMultiHeadAttention,
    MultiHeadAttention,
    split_heads,
)
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.trainable_qkv import SelfAttention_v1, SelfAttention_v2

SIMPLE, V1, V2 = "simple (01, 02)", "v1 (03)", "v2 (03)"
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


def build_module(settings: Settings, context_length: int) -> nn.Module | None:
    """Make the module the settings ask for, with weights drawn from their seed."""
    mechanism, d_out = settings["mechanism"], settings["d_out"]
    if mechanism == SIMPLE:
        return None
    with seeded(settings["seed"]):
        if mechanism in UNMASKED:
            return CLASSES[mechanism](3, d_out)
        heads = () if mechanism == CAUSAL else (settings["num_heads"],)
        return CLASSES[mechanism](3, d_out, context_length, 0.0, *heads)


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
