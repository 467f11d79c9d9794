"""How does a real model generate cheaply? Grouped queries and a key/value cache.

Source: the worked walk through query, key and value shapes. Taught in
``11_grouped_query_kv_cache``.
"""

from collections.abc import Callable
from typing import Self

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers._checks.numbers import check_flag, check_size, check_sizes
from chapter3_helpers._checks.tensors import check_input, check_tensor
from chapter3_helpers.fused_multihead import join_heads, split_heads
from chapter3_helpers.masking import mask_scores
from chapter3_helpers.positions import apply_rotary, rotary_frequencies
from chapter3_helpers.softmax import softmax
from chapter3_helpers.torch_releases import is_exporting


def repeat_kv(x: torch.Tensor, n: int) -> torch.Tensor:
    """Repeat every key or value head n times, once for each query head that shares it.

    Copies of a head stand next to one another: query head h reads head h // n of ``x``. This
    spells out what sharing means; ``GroupedQueryAttention`` itself repeats nothing in memory.

    Args:
        x: keys or values (..., K, T, D), with K key/value heads.
        n: how many query heads share one of them.

    Returns:
        Tensor (..., K * n, T, D).

    Raises:
        TypeError, ValueError: ``x`` is no floating-point tensor of three or four dimensions, or
            ``n`` not an integer of at least 1.

    >>> repeat_kv(torch.tensor([[[1.0]], [[2.0]]]), n=2).flatten()
    tensor([1., 1., 2., 2.])

    Source: the worked walk. Taught in ``11_grouped_query_kv_cache``.
    """
    check_tensor("x", x, dims=(3, 4), form="(K, T, D) or (B, K, T, D)")
    check_size("n", n)
    return x.repeat_interleave(n, dim=-3)


def kv_cache_bytes(
    num_tokens: int,
    num_kv_heads: int,
    head_dim: int,
    num_layers: int = 1,
    batch_size: int = 1,
    bytes_per_number: int = 4,
) -> int:
    """Count the bytes that the keys and values of ``num_tokens`` tokens take.

    The number of query heads is not among the arguments: queries are never cached.

    Raises:
        TypeError, ValueError: an argument is not an integer of at least 1.

    >>> kv_cache_bytes(50, num_kv_heads=8, head_dim=64)  # 2 * 50 * 8 * 64 numbers of 4 bytes
    204800

    Taught in ``11_grouped_query_kv_cache``.
    """
    check_sizes(
        num_tokens=num_tokens,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        num_layers=num_layers,
        batch_size=batch_size,
        bytes_per_number=bytes_per_number,
    )
    numbers = num_layers * batch_size * num_tokens * num_kv_heads * head_dim
    return 2 * numbers * bytes_per_number  # 2: a key and a value


class GroupedQueryAttention(nn.Module):
    """Causal attention whose query heads share key/value heads, with a cache for generation.

    New against ``MultiHeadAttention``: K key/value heads serve H query heads, H / K each; queries
    and keys are turned by their position; and keys and values are kept, so that the next call
    need only bring the tokens that are new.

    ::

        x (B, T, d) --W_query--> queries (B, H, T, D) --rotary---------------------+
                    --W_key----> keys    (B, K, T, D) --rotary--> cache (B, K, S, D) --> attention
                    --W_value--> values  (B, K, T, D) ----------> cache (B, K, S, D) --+
            with S = start_pos + T keys to look at; then join heads, out_proj --> (B, T, d)

    A call with ``start_pos=0`` starts anew. A later ``start_pos`` continues behind the tokens
    cached so far; an earlier one goes back and forgets what came after it. ``train()`` and
    ``eval()`` make no difference. Gradients flow through one call; what earlier calls left in the
    cache counts as constant.

    The cache has ``max_seq_len`` places for each sequence of the batch at hand. It is allocated
    when a batch of a new size begins, and never grows or moves, so that no token pays for a copy.
    (On Linux a CPU's memory is taken up only as tokens fill it.)

    Args:
        d_model: numbers per token, on the way in and out.
        num_heads: the number of query heads H, which divides ``d_model``.
        num_kv_heads: the number of key/value heads K, which divides ``num_heads``: 1 is
            multi-query attention, ``num_heads`` (the default) multi-head attention.
        max_batch_size: the most sequences it will read at once.
        max_seq_len: the most tokens a sequence may have, cached ones included.
        theta: the base of the rotary angles.
        rotary: whether queries and keys are turned; False leaves the order to the mask alone.

    Raises:
        TypeError, ValueError: a size is not an integer of at least 1, ``num_heads`` does not
            divide ``d_model``, ``num_kv_heads`` does not divide ``num_heads``, ``rotary`` is no
            bool, or, with rotary, head_dim is odd or ``theta`` no positive number.

    >>> _ = torch.manual_seed(123)
    >>> attention = GroupedQueryAttention(d_model=12, num_heads=6, num_kv_heads=2)
    >>> x = torch.rand(1, 5, 12)
    >>> with torch.no_grad():
    ...     whole = attention(x)
    ...     prompt, token = attention(x[:, :4]), attention(x[:, 4:], start_pos=4)
    >>> torch.allclose(torch.cat([prompt, token], dim=1), whole, atol=1e-6)
    True

    Source: the worked walk; Ainslie et al., "GQA" (2023). Taught in
    ``11_grouped_query_kv_cache``.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        max_batch_size: int = 32,
        max_seq_len: int = 2048,
        theta: float = 10000.0,
        rotary: bool = True,
    ):
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_sizes(
            d_model=d_model,
            num_heads=num_heads,
            num_kv_heads=num_kv_heads,
            max_batch_size=max_batch_size,
            max_seq_len=max_seq_len,
        )
        _check_divisible("d_model", d_model, "num_heads", num_heads)
        _check_divisible("num_heads", num_heads, "num_kv_heads", num_kv_heads)
        check_flag("rotary", rotary)
        self.d_in, self.d_out, self.context_length = d_model, d_model, max_seq_len
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.num_kv_heads, self.max_batch_size = num_kv_heads, max_batch_size
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(d_model, d_model)
        # No buffer: a buffer would become real, and so lose its angles, in .to(torch.bfloat16).
        self.frequencies = rotary_frequencies(self.head_dim, max_seq_len, theta) if rotary else None
        self.theta = float(theta) if rotary else None
        self.register_buffer("cached_keys", None, persistent=False)
        self.register_buffer("cached_values", None, persistent=False)
        self.cached_tokens = 0

    def forward(self, x: torch.Tensor, start_pos: int = 0) -> torch.Tensor:
        """Map new tokens (..., T, d_model) to context vectors (..., T, d_model) and cache them.

        Args:
            x: the tokens at positions start_pos, ..., start_pos + T - 1.
            start_pos: how many cached tokens come before them.

        Raises:
            TypeError, ValueError: ``x`` does not fit the module or the cache, or ``start_pos``
                leaves a gap behind the cached tokens or no room for T more. The cache stays as
                it was. (Compiled, it cannot look at the count, and a gap goes unnoticed. What
                ``torch.export`` makes of it has no cache, so there ``start_pos`` must be 0.)
        """
        self._check_call(x, start_pos)
        batch = x if x.dim() == 3 else x.unsqueeze(0)
        queries, keys, values = self._project(batch, start_pos)
        if not is_exporting():
            self._remember(keys, values, start_pos)
        if start_pos > 0:
            tracked = any(new.requires_grad for new in (queries, keys, values))
            keys = _behind_cached(self.cached_keys, keys, start_pos, tracked)  # (B, K, S, D)
            values = _behind_cached(self.cached_values, values, start_pos, tracked)
        context = grouped_attention(queries, keys, values)  # (B, H, T, D)
        return self.out_proj(join_heads(context)).reshape(x.shape)

    def attention_weights(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights (..., H, T, T) of a whole sequence; the cache is left alone."""
        check_input(x, self)
        queries, keys, _ = self._project(x, start_pos=0)
        keys = repeat_kv(keys, self.num_heads // self.num_kv_heads)  # (..., H, T, D)
        # divided first, as in the kernel: float16 ends at 65504, and long sums pass it
        scores = queries / self.head_dim**0.5 @ keys.transpose(-2, -1)  # (..., H, T, T)
        return softmax(mask_scores(scores), dim=-1)

    def reset_cache(self) -> None:
        """Forget all cached tokens and give their memory back."""
        self.cached_keys = self.cached_values = None
        self.cached_tokens = 0

    def _project(
        self, x: torch.Tensor, start_pos: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Compute queries (..., H, T, D), keys and values (..., K, T, D) of new tokens."""
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_kv_heads)
        values = split_heads(self.W_value(x), self.num_kv_heads)
        if self.frequencies is not None:  # the values are not turned
            frequencies = self.frequencies[start_pos : start_pos + x.shape[-2]]
            queries, keys = apply_rotary(queries, frequencies), apply_rotary(keys, frequencies)
        return queries, keys, values

    @torch.no_grad()
    def _remember(self, keys: torch.Tensor, values: torch.Tensor, start_pos: int) -> None:
        """Write new keys and values into the cache, from position start_pos on."""
        B, K, T, D = keys.shape
        cache = self.cached_keys
        found = (B, keys.dtype, keys.device)
        expected = (0, None, None) if cache is None else (len(cache), cache.dtype, cache.device)
        if found != expected:
            if start_pos > 0:
                raise ValueError(
                    "x must continue the cached {} sequence(s) in {} on {}, "
                    "got {} in {} on {}".format(*expected, *found)
                )
            with torch.inference_mode(False):  # so that later calls may write outside that mode
                self.cached_keys = keys.new_empty(B, K, self.context_length, D)
                self.cached_values = keys.new_empty(B, K, self.context_length, D)
        self.cached_keys[:, :, start_pos : start_pos + T] = keys
        self.cached_values[:, :, start_pos : start_pos + T] = values
        self.cached_tokens = start_pos + T

    def _check_call(self, x: torch.Tensor, start_pos: int) -> None:
        """Refuse what the module or its cache has no room for."""
        check_input(x, self)
        check_size("start_pos", start_pos, minimum=0)
        if start_pos > 0 and is_exporting():
            raise ValueError(f"start_pos must be 0 for torch.export, got {start_pos}")
        B, T = x.shape[0] if x.dim() == 3 else 1, x.shape[-2]
        if self.max_batch_size < B:
            raise ValueError(
                f"x must hold at most max_batch_size={self.max_batch_size} sequences, got {B}"
            )
        # compiled, reading a count that changes would mean a new compilation for every token
        if not torch.compiler.is_compiling() and start_pos > self.cached_tokens:
            raise ValueError(
                f"start_pos must be at most {self.cached_tokens}, the number of cached tokens, "
                f"got {start_pos}"
            )
        if start_pos + T > self.context_length:
            raise ValueError(
                f"start_pos + T must be at most max_seq_len={self.context_length}, the room in "
                f"the cache, got {start_pos} + {T}"
            )

    def _apply(self, fn: Callable, recurse: bool = True) -> Self:
        """Let the frequencies follow the module to a device, but never to a dtype."""
        super()._apply(fn, recurse)
        if self.frequencies is not None:
            self.frequencies = self.frequencies.to(self.W_query.weight.device)
        return self


def grouped_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """Let the T newest tokens look at S keys, their own among them, without repeating any.

    Query i of the T stands at position S - T + i and sees the keys up to there.

    Args:
        queries: (B, H, T, D).
        keys, values: (B, K, S, D), where K divides H and S is at least T.

    Returns:
        Context vectors (B, H, T, D).

    Taught in ``11_grouped_query_kv_cache``.
    """
    B, H, T, D = queries.shape
    K, S = keys.shape[1:3]
    # Nothing is hidden from a single token, so the H / K queries of a group may stand as the rows
    # of one matrix: a CPU then reads each key once for all of them, as a GPU's kernel does anyway.
    # It pays while every thread has one of the B * K matrices to work on.
    busy = torch.compiler.is_compiling() or torch.get_num_threads() <= B * K
    if T == 1 and queries.device.type == "cpu" and busy:
        grouped = queries.reshape(B, K, H // K, D)
        return functional.scaled_dot_product_attention(grouped, keys, values).reshape(B, H, T, D)
    masked = {}
    if T == S:
        masked["is_causal"] = True
    elif T > 1:
        positions = torch.arange(S, device=keys.device)
        masked["attn_mask"] = positions <= positions[S - T :, None]  # (T, S); True means visible
    return functional.scaled_dot_product_attention(queries, keys, values, enable_gqa=True, **masked)


def _behind_cached(
    cache: torch.Tensor, new: torch.Tensor, start_pos: int, tracked: bool
) -> torch.Tensor:
    """Return what is cached before start_pos and the new ones behind it, (B, K, S, D)."""
    if tracked:  # a copy, which passes gradients on to ``new``, and which no later token changes
        return torch.cat([cache[:, :, :start_pos], new], dim=-2)
    return cache[:, :, : start_pos + new.shape[-2]]  # a view: ``new`` has been written already


def _check_divisible(name: str, size: int, parts_name: str, parts: int) -> None:
    """Refuse a size that can't be shared equally."""
    if size % parts:
        raise ValueError(
            f"{name} must be divisible by {parts_name}, got {name}={size} and {parts_name}={parts}"
        )
