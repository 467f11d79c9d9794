"""How do all heads run in one go? One projection, split into heads.

Source: sections 3.6.2 and 3.7. Taught in ``07_fused_multihead``.
"""

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.masking import mask_scores
from chapter3_helpers.softmax import softmax


def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Cut the last dimension into heads: (..., T, H * D) -> (..., H, T, D).

    The view cuts every token's vector; the transpose then puts the heads before the tokens. A
    view straight to (..., H, T, D) would hand one row of a head the numbers of another token.

    >>> split_heads(torch.arange(4.0).reshape(2, 2), num_heads=2)  # token 0: 0, 1; token 1: 2, 3
    tensor([[[0.], [2.]],
            [[1.], [3.]]])
    """
    x = x.view(*x.shape[:-1], num_heads, x.shape[-1] // num_heads)  # (..., T, H, D)
    return x.transpose(-3, -2)  # (..., H, T, D)


def join_heads(x: torch.Tensor) -> torch.Tensor:
    """Put the heads side by side again: (..., H, T, D) -> (..., T, H * D).

    >>> join_heads(split_heads(torch.arange(4.0).reshape(2, 2), num_heads=2))
    tensor([[0., 1.],
            [2., 3.]])
    """
    x = x.transpose(-3, -2).contiguous()  # (..., T, H, D)
    return x.view(*x.shape[:-2], x.shape[-2] * x.shape[-1])  # (..., T, H * D)


class MultiHeadAttention(nn.Module):
    """Causal multi-head attention: all heads in one batched matrix product.

    New compared with ``MultiHeadAttentionWrapper``: one projection as wide as all heads together is
    cut into heads by view and transpose, and ``out_proj`` mixes what the heads found.

    ::

        x (B, T, d_in) --W_query, W_key, W_value--> (B, T, d_out) each
            --split--> (B, H, T, D)   with d_out = H * D
            --softmax(queries @ keys^T / sqrt(D)) @ values--> (B, H, T, D)
            --join--> (B, T, d_out) --out_proj--> (B, T, d_out)

    Args:
        d_in: numbers per token on the way in.
        d_out: numbers per token on the way out, of *all heads together*.
        context_length: the most tokens it will read at once.
        dropout: the probability that an attention weight is dropped, in training only.
        num_heads: how many heads share ``d_out``.
        qkv_bias: whether queries, keys and values add a learned bias.

    Raises:
        ValueError: ``num_heads`` does not divide ``d_out``, or more than ``context_length`` tokens
            come in.

    >>> _ = torch.manual_seed(123)
    >>> attention = MultiHeadAttention(3, 4, context_length=6, dropout=0.0, num_heads=2)
    >>> attention(torch.zeros(5, 3)).shape
    torch.Size([5, 4])

    Source: section 3.6.2.
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
        if d_out % num_heads != 0:
            raise ValueError(f"d_out must be divisible by num_heads, got {d_out} and {num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d_in) to context vectors (..., T, d_out)."""
        weights = self.attention_weights(x)  # (..., H, T, T)
        weights = self.dropout(weights)
        values = split_heads(self.W_value(x), self.num_heads)  # (..., H, T, D)
        context = join_heads(weights @ values)  # (..., T, d_out)
        return self.out_proj(context)

    def attention_weights(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights (..., H, T, T) after softmax and before dropout."""
        if x.shape[-2] > self.context_length:
            raise ValueError(f"at most {self.context_length} tokens fit, got {x.shape[-2]}")
        queries = split_heads(self.W_query(x), self.num_heads)  # (..., H, T, D)
        keys = split_heads(self.W_key(x), self.num_heads)  # (..., H, T, D)
        scores = queries @ keys.transpose(-2, -1)  # (..., H, T, T)
        scores = mask_scores(scores)
        return softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


class FusedMultiHeadAttention(nn.Module):
    """Causal multi-head attention on torch's fused kernel.

    New compared with ``MultiHeadAttention``: queries, keys and values come out of one packed
    projection ``W_qkv``, and ``scaled_dot_product_attention`` masks, softmaxes and mixes without
    storing a (T, T) matrix (except in training with dropout on a CPU, where torch's kernel has
    no dropout). Same function, same number of parameters, same arguments.

    One thing differs. In a text of few tokens (up to 7 in float32, where we tried it), the kernel
    for CPUs loses NaN: a token whose scores are all NaN sees nothing, and its output is
    ``out_proj.bias``. ``attention_weights`` shows the NaN. It computes in the type of x, so in
    float16 a score beyond 65504 gives NaN; the kernel, with its sums in float32, gives none.

    Args:
        d_in, d_out, context_length, dropout, num_heads, qkv_bias: as in ``MultiHeadAttention``.

    Raises:
        ValueError: as ``MultiHeadAttention``.

    >>> _ = torch.manual_seed(123)
    >>> attention = FusedMultiHeadAttention(3, 4, context_length=6, dropout=0.0, num_heads=2)
    >>> attention.W_qkv.weight.shape  # three times (d_out, d_in): queries, keys, values
    torch.Size([12, 3])
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
        if d_out % num_heads != 0:
            raise ValueError(f"d_out must be divisible by num_heads, got {d_out} and {num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.context_length = context_length
        self.W_qkv = nn.Linear(d_in, 3 * d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d_in) to context vectors (..., T, d_out)."""
        batch = x.reshape(-1, *x.shape[-2:])  # (B, T, d_in), since torch's kernel wants a batch
        queries, keys, values = self._project(batch)
        dropout_p = self.dropout.p if self.dropout.training else 0.0
        context = functional.scaled_dot_product_attention(
            queries, keys, values, is_causal=True, dropout_p=dropout_p
        )  # (B, H, T, D)
        context = self.out_proj(join_heads(context))  # (B, T, d_out)
        return context.reshape(*x.shape[:-1], -1)  # (..., T, d_out)

    def attention_weights(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights (..., H, T, T), which the fused kernel uses but never stores."""
        queries, keys, _ = self._project(x)
        scores = queries @ keys.transpose(-2, -1)  # (..., H, T, T)
        scores = mask_scores(scores)
        return softmax(scores / keys.shape[-1] ** 0.5, dim=-1)

    def _project(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Compute queries, keys and values, (..., H, T, D) each, in one matrix product."""
        if x.shape[-2] > self.context_length:
            raise ValueError(f"at most {self.context_length} tokens fit, got {x.shape[-2]}")
        heads = split_heads(self.W_qkv(x), 3 * self.num_heads)  # (..., 3 * H, T, D)
        return heads.chunk(3, dim=-3)  # (..., H, T, D) each


def count_parameters(module: nn.Module) -> int:
    """Count the numbers in a module that training can change.

    >>> count_parameters(nn.Linear(3, 2))  # six weights and two biases
    8

    Source: exercise 3.3.
    """
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)
