"""What do several heads see? Several attention modules side by side.

Source: section 3.6.1. Taught in ``06_multihead_wrapper``.
"""

import torch
from torch import nn

from chapter3_helpers.causal_attention import CausalAttention


class MultiHeadAttentionWrapper(nn.Module):
    """Several causal attention heads, run one after another, their outputs side by side.

    New compared with ``CausalAttention``: ``num_heads`` of them, each with weights of its own.

    ::

        x (T, d_in) --head 0--> (T, d_out) --+
                    --head 1--> (T, d_out) --+-> context (T, num_heads * d_out)

    Args:
        d_in, context_length, dropout, qkv_bias: as in ``CausalAttention``.
        d_out: numbers per token on the way out of *each head*.
        num_heads: how many heads.

    Raises:
        ValueError: more than ``context_length`` tokens come in.

    >>> _ = torch.manual_seed(123)
    >>> heads = MultiHeadAttentionWrapper(3, 2, context_length=6, dropout=0.0, num_heads=2)
    >>> heads(torch.zeros(5, 3)).shape
    torch.Size([5, 4])

    Source: section 3.6.1.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d_in) to context vectors (..., T, num_heads * d_out)."""
        contexts = [head(x) for head in self.heads]  # num_heads times (..., T, d_out)
        return torch.cat(contexts, dim=-1)

    def attention_weights(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights (..., H, T, T) after softmax and before dropout."""
        weights = [head.attention_weights(x) for head in self.heads]  # num_heads times (..., T, T)
        return torch.stack(weights, dim=-3)
