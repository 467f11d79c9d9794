"""How do all heads run in one go? One projection, split into heads.

Source: sections 3.6.2 and 3.7. Taught in ``07_fused_multihead``.
"""

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers._checks.modules import AttentionModule
from chapter3_helpers._checks.numbers import (
    check_dropout,
    check_flag,
    check_heads,
    check_size,
    check_sizes,
)
from chapter3_helpers._checks.tensors import check_input, check_tensor
from chapter3_helpers.masking import mask_scores
from chapter3_helpers.softmax import softmax


def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Cut the last dimension into heads: (..., T, H * D) -> (..., H, T, D).

    The view cuts every token's vector; the transpose then puts the heads before the tokens. A
    view straight to (..., H, T, D) would hand one row of a head the numbers of another token.

    Raises:
        TypeError, ValueError: ``x`` is not a floating-point tensor of shape (T, H * D) or
            (B, T, H * D), or ``num_heads`` does not divide its last dimension.

    >>> split_heads(torch.arange(4.0).reshape(2, 2), num_heads=2)  # token 0: 0, 1; token 1: 2, 3
    tensor([[[0.], [2.]],
            [[1.], [3.]]])
    """
    check_tensor("x", x, dims=(2, 3), form="(T, H * D) or (B, T, H * D)")
    check_heads(x.shape[-1], num_heads)
    *leading, T, width = x.shape
    return x.view(*leading, T, num_heads, width // num_heads).transpose(-3, -2)


def join_heads(x: torch.Tensor) -> torch.Tensor:
    """Put the heads side by side again: (..., H, T, D) -> (..., T, H * D).

    Raises:
        TypeError, ValueError: ``x`` is not a floating-point tensor of shape (H, T, D) or
            (B, H, T, D).

    >>> join_heads(split_heads(torch.arange(4.0).reshape(2, 2), num_heads=2))
    tensor([[0., 1.],
            [2., 3.]])
    """
    check_tensor("x", x, dims=(3, 4), form="(H, T, D) or (B, H, T, D)")
    return x.transpose(-3, -2).flatten(start_dim=-2)


class MultiHeadAttention(AttentionModule):
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
        qkv_bias: whether the three projections add a learned bias.

    Raises:
        TypeError, ValueError: a size is not an integer of at least 1, ``num_heads`` does not
            divide ``d_out``, ``dropout`` is outside [0, 1), or ``qkv_bias`` is not a bool.

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
        self.d_in, self.d_out, self.context_length = check_sizes(
            d_in=d_in, d_out=d_out, context_length=context_length
        )
        self.num_heads = check_size("num_heads", num_heads)
        check_heads(self.d_out, self.num_heads)
        self.head_dim = self.d_out // self.num_heads
        check_flag("qkv_bias", qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(check_dropout(dropout))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d_in) to context vectors (..., T, d_out)."""
        weights = self.dropout(self.attention_weights(x))
        values = split_heads(self.W_value(x), self.num_heads)  # (..., H, T, D)
        return self.out_proj(join_heads(weights @ values))

    def attention_weights(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights (..., H, T, T) after softmax and before dropout."""
        check_input(x, self)
        queries = split_heads(self.W_query(x), self.num_heads)  # (..., H, T, D)
        keys = split_heads(self.W_key(x), self.num_heads)  # (..., H, T, D)
        scores = mask_scores(queries @ keys.transpose(-2, -1))  # (..., H, T, T)
        return softmax(scores / self.head_dim**0.5, dim=-1)


class FusedMultiHeadAttention(AttentionModule):
    """Causal multi-head attention on torch's fused kernel.

    New compared with ``MultiHeadAttention``: queries, keys and values come out of one packed
    projection ``W_qkv``, and ``scaled_dot_product_attention`` masks, softmaxes and mixes without
    storing a (T, T) matrix (except in training with dropout on a CPU, where torch's kernel has
    no dropout). Same function, same number of parameters, same arguments.

    Args:
        d_in: numbers per token on the way in.
        d_out: numbers per token on the way out, of all heads together.
        context_length: the most tokens it will read at once.
        dropout: the probability that an attention weight is dropped, in training only.
        num_heads: how many heads share ``d_out``.
        qkv_bias: whether the packed projection adds a learned bias.

    Raises:
        TypeError, ValueError: as ``MultiHeadAttention``.

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
        self.d_in, self.d_out, self.context_length = check_sizes(
            d_in=d_in, d_out=d_out, context_length=context_length
        )
        self.num_heads = check_size("num_heads", num_heads)
        check_heads(self.d_out, self.num_heads)
        self.head_dim = self.d_out // self.num_heads
        check_flag("qkv_bias", qkv_bias)
        self.W_qkv = nn.Linear(d_in, 3 * self.d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(check_dropout(dropout))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d_in) to context vectors (..., T, d_out)."""
        check_input(x, self)
        batch = x if x.dim() == 3 else x[None]  # torch's fused kernel wants a batch dimension
        queries, keys, values = self._project(batch)
        context = functional.scaled_dot_product_attention(
            queries,
            keys,
            values,
            is_causal=True,
            dropout_p=self.dropout.p if self.dropout.training else 0.0,
        )  # (B, H, T, D)
        context = self.out_proj(context.transpose(1, 2).flatten(start_dim=2))  # (B, T, d_out)
        return context if x.dim() == 3 else context[0]

    def attention_weights(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights (..., H, T, T) that the fused kernel uses but never stores."""
        check_input(x, self)
        queries, keys, _ = self._project(x)
        return kernel_weights(queries, keys)

    def _project(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Compute queries, keys and values, (..., H, T, D) each, in one matrix product."""
        packed = self.W_qkv(x).view(*x.shape[:-1], 3, self.num_heads, self.head_dim)
        by_head = packed.transpose(-4, -2)  # (..., T, 3, H, D) -> (..., H, 3, T, D)
        return by_head.unbind(-3)  # 3 times (..., H, T, D)


def kernel_weights(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Return the causal weights that torch's fused kernel uses but never stores.

    The kernel returns values mixed by the weights; mixed in the same way, the identity is the
    weights themselves. So they hold wherever the kernel does, float16's overflows included.

    Args:
        queries: (..., T, D), of the T newest tokens.
        keys: (..., S, D), of all S tokens, which are the T themselves unless keys are cached.

    Returns:
        Weights (..., T, S).

    >>> kernel_weights(torch.zeros(2, 1), torch.zeros(2, 1))
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    """
    *leading, T, D = queries.shape
    S = keys.shape[-2]
    visible = torch.ones(T, S, dtype=torch.bool, device=queries.device).tril(S - T)
    # With five dimensions there is one kernel only: torch.export would else fix T, for T = D is
    # not computed by the same kernel as other lengths.
    queries, keys = queries.reshape(1, 1, -1, T, D), keys.reshape(1, 1, -1, S, D)
    identity = torch.eye(S, dtype=keys.dtype, device=keys.device).expand(*keys.shape[:3], S, S)
    weights = functional.scaled_dot_product_attention(queries, keys, identity, attn_mask=visible)
    return weights.view(*leading, T, S)


def count_parameters(module: nn.Module) -> int:
    """Count the numbers in a module that training can change.

    Raises:
        TypeError: ``module`` is not an ``nn.Module``.

    >>> count_parameters(nn.Linear(3, 2))  # six weights and two biases
    8

    Source: exercise 3.3.
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must be a torch.nn.Module, got {type(module).__name__}")
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)
