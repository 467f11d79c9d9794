"""How can the comparison be learned? Query, key and value projections.

Source: section 3.4. Taught in ``03_trainable_qkv``.
"""

import torch
from torch import nn

from chapter3_helpers.softmax import softmax


class SelfAttention_v1(nn.Module):
    """Self-attention with three weight matrices held as raw parameters.

    New compared with ``simple_self_attention``: tokens are compared, and mixed, after learned
    projections, and the scores are divided by sqrt(d_out).

    ::

        x (T, d_in) --W_query--> queries (T, d_out) --+
                    --W_key----> keys    (T, d_out) --+-> weights (T, T) --+
                    --W_value--> values  (T, d_out) -----------------------+-> context (T, d_out)

    Args:
        d_in: numbers per token on the way in.
        d_out: numbers per token on the way out.

    >>> _ = torch.manual_seed(123)
    >>> attention = SelfAttention_v1(3, 2)
    >>> attention
    SelfAttention_v1()
    >>> attention(torch.eye(3)).shape
    torch.Size([3, 2])

    Source: section 3.4.2.
    """

    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d_in) to context vectors (..., T, d_out)."""
        weights = self.attention_weights(x)  # (..., T, T)
        return weights @ (x @ self.W_value)  # (..., T, T) @ (..., T, d_out)

    def attention_weights(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights (..., T, T) that ``forward`` mixes the values with."""
        queries = x @ self.W_query  # (..., T, d_out)
        keys = x @ self.W_key  # (..., T, d_out)
        scores = queries @ keys.transpose(-2, -1)  # (..., T, T)
        return softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


class SelfAttention_v2(nn.Module):
    """Self-attention with its projections as ``nn.Linear`` layers.

    New compared with ``SelfAttention_v1``: ``nn.Linear`` draws better initial weights (centred on
    zero, smaller for wider inputs), stores them transposed, and can add a bias.

    Args:
        d_in, d_out: as in ``SelfAttention_v1``.
        qkv_bias: whether the three projections add a learned bias.

    >>> _ = torch.manual_seed(123)
    >>> attention = SelfAttention_v2(3, 2)
    >>> attention.W_query.weight.shape  # stored transposed: (d_out, d_in)
    torch.Size([2, 3])

    Source: section 3.4.2.
    """

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d_in) to context vectors (..., T, d_out)."""
        weights = self.attention_weights(x)  # (..., T, T)
        return weights @ self.W_value(x)  # (..., T, T) @ (..., T, d_out)

    def attention_weights(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights (..., T, T) that ``forward`` mixes the values with."""
        queries = self.W_query(x)  # (..., T, d_out)
        keys = self.W_key(x)  # (..., T, d_out)
        scores = queries @ keys.transpose(-2, -1)  # (..., T, T)
        return softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
