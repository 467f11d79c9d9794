"""What class does it all make? Projections, causal mask and dropout in one module.

Source: section 3.5.3. Taught in ``05_dropout``.
"""

import torch
from torch import nn

from chapter3_helpers.masking import mask_scores
from chapter3_helpers.softmax import softmax


class CausalAttention(nn.Module):
    """Self-attention that hides the future and, in training, drops some of its weights.

    New compared with ``SelfAttention_v2``: the scores of later tokens are hidden, and dropout
    acts on the attention weights. The mask follows from the number of tokens, so nothing of it
    is kept that could be saved, moved or lost.

    Args:
        d_in: numbers per token on the way in.
        d_out: numbers per token on the way out.
        context_length: the most tokens it will read at once.
        dropout: the probability that an attention weight is dropped, in training only.
        qkv_bias: whether the three projections add a learned bias.

    Raises:
        ValueError: more than ``context_length`` tokens come in.

    >>> _ = torch.manual_seed(123)
    >>> attention = CausalAttention(3, 2, context_length=4, dropout=0.0)
    >>> attention.attention_weights(torch.zeros(2, 3)).detach()  # no token sees a later one
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])

    Source: section 3.5.3.
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False
    ):
        super().__init__()
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d_in) to context vectors (..., T, d_out)."""
        weights = self.attention_weights(x)  # (..., T, T)
        weights = self.dropout(weights)
        return weights @ self.W_value(x)  # (..., T, T) @ (..., T, d_out)

    def attention_weights(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights (..., T, T) after softmax and before dropout."""
        if x.shape[-2] > self.context_length:
            raise ValueError(f"at most {self.context_length} tokens fit, got {x.shape[-2]}")
        queries = self.W_query(x)  # (..., T, d_out)
        keys = self.W_key(x)  # (..., T, d_out)
        scores = queries @ keys.transpose(-2, -1)  # (..., T, T)
        scores = mask_scores(scores)
        return softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
