"""How does a real model generate cheaply? Grouped queries and a key/value cache.

Source: the worked walk through query, key and value shapes; Ainslie et al., "GQA" (2023). Taught
in ``12_grouped_query_kv_cache``.
"""

import weakref

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.fused_multihead import join_heads, split_heads
from chapter3_helpers.positions import apply_rotary, rotary_frequencies


def repeat_kv(x: torch.Tensor, n: int) -> torch.Tensor:
    """Repeat every key or value head n times: (..., G, T, D) -> (..., G * n, T, D).

    Copies stand next to one another: query head h reads head h // n of ``x``.

    >>> repeat_kv(torch.tensor([[[1.0]], [[2.0]]]), n=2).flatten()
    tensor([1., 1., 2., 2.])
    """
    return x.repeat_interleave(n, dim=-3)


def kv_cache_bytes(
    num_tokens: int,
    num_kv_heads: int,
    head_dim: int,
    num_layers: int = 1,
    batch_size: int = 1,
    bytes_per_number: int = 4,
) -> int:
    """Count the bytes that the keys and values of so many tokens take; queries are not cached.

    >>> kv_cache_bytes(50, num_kv_heads=8, head_dim=64)  # 2 * 50 * 8 * 64 numbers of 4 bytes
    204800
    """
    keys = num_tokens * num_kv_heads * head_dim * num_layers * batch_size  # and as many values
    return 2 * keys * bytes_per_number


def grouped_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """Let the T newest tokens look at S keys, their own among them, without repeating any.

    From queries (B, H, T, D), keys and values (B, G, S, D) it makes context vectors (B, H, T, D).
    On a CPU one token goes another way by the number of threads, and last digits may differ.
    """
    B, H, T, D = queries.shape
    G, S = keys.shape[1:3]
    # Nothing is hidden from one token, so the H / G queries of a group can be rows of one matrix: a
    # CPU then reads each key once, which pays while every thread has one of the B * G matrices.
    busy = torch.compiler.is_compiling() or torch.get_num_threads() <= B * G
    if T == 1 and queries.device.type == "cpu" and busy:
        grouped = queries.reshape(B, G, H // G, D)
        return functional.scaled_dot_product_attention(grouped, keys, values).reshape(B, H, T, D)
    masked: dict = {"is_causal": True} if T == S else {}
    if 1 < T < S:  # query i stands at position S - T + i; here True means visible
        masked["attn_mask"] = queries.new_ones(T, S, dtype=torch.bool).tril(S - T)
    return functional.scaled_dot_product_attention(queries, keys, values, enable_gqa=True, **masked)


class KeyValueCache:
    """What a cache keeps and appends: the keys and values of the S tokens so far.

    There is room for ``context_length`` tokens from the first append on, so that none is moved
    later. (On Linux, a CPU's memory is used as tokens fill it.)
    """

    def __init__(self, batch_size: int, num_kv_heads: int, context_length: int, head_dim: int):
        self.shape = (batch_size, num_kv_heads, context_length, head_dim)
        self.length = 0

    def append(self, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the keys and values (B, G, T, D) of T tokens; return those of all S, as views.

        Raises:
            ValueError: there is no room for T more, or the shapes are others. Then the cache stays
                as it was.
        """
        B, G, room, D = self.shape
        T, past = keys.shape[-2], self.length
        if past + T > room or not keys.shape == values.shape == (B, G, T, D):
            raise ValueError(
                f"keys and values must be ({B}, {G}, T, {D}) with T up to {room - past}, "
                f"got {tuple(keys.shape)} and {tuple(values.shape)}"
            )
        if past == 0:
            self.all_keys = keys.new_empty(self.shape)
            self.all_values = values.new_empty(self.shape)
        self.all_keys[:, :, past : past + T] = keys
        self.all_values[:, :, past : past + T] = values
        self.length = past + T
        return self.all_keys[:, :, : self.length], self.all_values[:, :, : self.length]


class LayerCache(KeyValueCache):
    """The cache of one layer, which ``attention.new_cache()`` makes; ``len(cache)`` is S.

    Beside what a ``KeyValueCache`` does, it refuses keys of another layer, forgets, and takes part
    in training. ``cache.keys`` and ``cache.values`` are views (B, G, S, D) of what is kept. The
    first keys settle dtype and device.

    A copy, as by ``copy.deepcopy`` or ``pickle``, has forgotten its layer. It belongs to the first
    layer that adds to it, and so does a cache that is made without a layer.

    Activation checkpointing (``torch.utils.checkpoint``) calls a layer a second time, which would
    append the same tokens once more: train without a cache.
    """

    def __init__(
        self,
        batch_size: int,
        num_kv_heads: int,
        context_length: int,
        head_dim: int,
        layer: "GroupedQueryAttention | None" = None,
    ):
        super().__init__(batch_size, num_kv_heads, context_length, head_dim)
        self.layer = None if layer is None else weakref.ref(layer)  # does not keep it alive
        self.all_keys = self.all_values = torch.empty(batch_size, num_kv_heads, 0, head_dim)

    def __getstate__(self) -> dict:
        return self.__dict__ | {"layer": None}  # of a copy

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        B, G, S, D = self.shape
        sizes = f"batch_size={B}, num_kv_heads={G}, head_dim={D}"
        return f"LayerCache({len(self)} of {S} tokens, {sizes})"

    @property
    def keys(self) -> torch.Tensor:
        return self.all_keys[:, :, : self.length]

    @property
    def values(self) -> torch.Tensor:
        return self.all_values[:, :, : self.length]

    def truncate(self, length: int) -> None:
        """Forget all tokens but the first ``length``, from 0 to ``len(cache)``."""
        if not 0 <= length <= len(self):
            raise ValueError(f"length must be from 0 to {len(self)}, got {length}")
        self.length = length

    def check(self, keys: torch.Tensor, layer: "GroupedQueryAttention") -> None:
        """Refuse keys (B, G, T, D) of a layer, before they are turned, that cannot follow these."""
        B, G, _, D = keys.shape
        if self.shape != (B, G, layer.context_length, D):
            wanted = LayerCache(B, G, layer.context_length, D)
            raise ValueError(f"cache must be like {wanted}, got {self}")
        if self.layer is not None and self.layer() is not layer:
            raise ValueError(
                f"cache must be this layer's own, got another's, {self}: "
                "make one for each layer, with attention.new_cache()"
            )
        held = self.all_keys
        if len(self) > 0 and (held.dtype, held.device) != (keys.dtype, keys.device):
            raise ValueError(
                f"cache must hold {keys.dtype} on {keys.device}, as the new keys are, "
                f"got {held.dtype} on {held.device}"
            )

    def append(self, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the keys and values of new tokens, (B, G, T, D); return all that are then held.

        Later tokens are written into what is held. So copies are returned, unless gradients are
        turned off, as by ``torch.no_grad``. Gradients reach the new keys and values; earlier ones
        are constant.
        """
        if not torch.is_grad_enabled():
            return super().append(keys, values)
        past = len(self)
        held = super().append(keys.detach(), values.detach())
        earlier = held[0][:, :, :past], held[1][:, :, :past]
        return torch.cat([earlier[0], keys], dim=-2), torch.cat([earlier[1], values], dim=-2)


class GroupedQueryAttention(nn.Module):
    """Causal attention whose query heads share key/value heads, with a cache for generation.

    New compared with ``MultiHeadAttention``: G key/value heads serve H query heads, H / G each;
    queries and keys are turned by their position; and keys and values can be kept in a cache, so
    that the next call need only bring the tokens that are new. The notebook writes in steps what
    is left to torch's function here.

    ::

        x (B, T, d) --W_query--> queries (B, H, T, D) --rotary---------------------+
                    --W_key----> keys    (B, G, T, D) --rotary--> cache (B, G, S, D) --> attention
                    --W_value--> values  (B, G, T, D) ----------> cache (B, G, S, D) --+
            with S = len(cache) + T keys to look at; then join heads, out_proj --> (B, T, d)

    The module itself keeps nothing but weights. What a cache holds is constant to autograd. As in
    ``FusedMultiHeadAttention``, a token whose scores are all NaN may come out as if it saw nothing.

    Args:
        d_model: numbers per token, on the way in and out.
        num_heads: the number of query heads H, which divides ``d_model``.
        num_kv_heads: the number of key/value heads G, which divides ``num_heads``: 1 is
            multi-query attention, ``num_heads`` (the default) multi-head attention.
        context_length: the most tokens a sequence may have, cached ones included.
        theta: the base of the rotary angles.
        rotary: whether queries and keys are turned, for which head_dim must be even.

    Raises:
        ValueError: one of these sizes does not divide the other, head_dim is odd or ``theta`` not a
            positive, finite number, though keys are turned; more than ``context_length`` tokens
            come in; or a cache is another layer's, for other sizes or of another dtype.
        TypeError: the cache is none that ``new_cache`` makes.

    >>> attention = GroupedQueryAttention(d_model=12, num_heads=6, num_kv_heads=2)
    >>> x, cache = torch.rand(1, 5, 12), attention.new_cache()
    >>> prompt, token = attention(x[:, :4], cache), attention(x[:, 4:], cache)
    >>> torch.allclose(torch.cat([prompt, token], dim=1), attention(x), atol=1e-6)
    True
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        context_length: int = 2048,
        theta: float = 10000.0,
        rotary: bool = True,
    ):
        super().__init__()
        H, G = num_heads, num_heads if num_kv_heads is None else num_kv_heads
        if d_model % H != 0:
            raise ValueError(f"d_model must be divisible by num_heads, got {d_model} and {H}")
        if H % G != 0:
            raise ValueError(f"num_heads must be divisible by num_kv_heads, got {H} and {G}")
        self.num_heads, self.num_kv_heads, self.head_dim = H, G, d_model // H
        self.context_length = context_length
        self.theta = theta if rotary else None
        if rotary:
            rotary_frequencies(self.head_dim, 0, theta)  # refuses what it could not turn by
        kv_width = self.num_kv_heads * self.head_dim
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, kv_width, bias=False)
        self.W_value = nn.Linear(d_model, kv_width, bias=False)
        self.out_proj = nn.Linear(d_model, d_model)

    def new_cache(self, batch_size: int = 1) -> LayerCache:
        """Make an empty cache for ``batch_size`` sequences of up to ``context_length`` tokens."""
        sizes = self.num_kv_heads, self.context_length, self.head_dim
        return LayerCache(batch_size, *sizes, layer=self)

    def forward(self, x: torch.Tensor, cache: LayerCache | None = None) -> torch.Tensor:
        """Map tokens (..., T, d_model) to context vectors (..., T, d_model).

        With a cache, ``x`` continues after the tokens in there and is added to them. The cache's
        ``batch_size`` is the number of texts in ``x``. A cache that is refused stays as it was.
        """
        queries, keys, values = self._project(x, cache)
        if cache is not None:
            keys, values = cache.append(keys, values)  # (B, G, S, D): the earlier ones, too
            if cache.layer is None:  # now that nothing was refused
                cache.layer = weakref.ref(self)
        context = grouped_attention(queries, keys, values)  # (B, H, T, D)
        return self.out_proj(join_heads(context)).reshape(x.shape)

    def attention_weights(self, x: torch.Tensor, cache: LayerCache | None = None) -> torch.Tensor:
        """Return the weights (..., H, T, S) of such a call, which leaves the cache as it is."""
        queries, keys, _ = self._project(x, cache)
        if cache is not None:
            keys = torch.cat([cache.keys.to(keys), keys], dim=-2)  # (B, G, S, D)
        keys = repeat_kv(keys, self.num_heads // self.num_kv_heads)  # (B, H, S, D)
        T, S = queries.shape[-2], keys.shape[-2]
        visible = torch.ones(T, S, dtype=torch.bool, device=x.device).tril(S - T)
        # torch's function mixes values by weights: the identity in their place gives the weights,
        # which are finite in float16, too, where a score would be beyond its largest number
        identity = torch.eye(S, dtype=keys.dtype, device=x.device).expand(*keys.shape[:-1], S)
        weights = functional.scaled_dot_product_attention(queries, keys, identity, visible)
        return weights.reshape(*x.shape[:-2], *weights.shape[1:])  # (..., H, T, S)

    def _project(self, x: torch.Tensor, cache: LayerCache | None) -> tuple[torch.Tensor, ...]:
        """Compute queries (B, H, T, D), keys and values (B, G, T, D) of new tokens."""
        if not isinstance(cache, LayerCache | None):
            raise TypeError(f"cache must be from attention.new_cache(), got {type(cache).__name__}")
        batch = x.reshape(-1, *x.shape[-2:])  # (B, T, d_model)
        queries = split_heads(self.W_query(batch), self.num_heads)
        keys = split_heads(self.W_key(batch), self.num_kv_heads)
        values = split_heads(self.W_value(batch), self.num_kv_heads)
        if cache is not None:
            cache.check(keys, self)
        T, past = x.shape[-2], 0 if cache is None else len(cache)
        if past + T > self.context_length:
            raise ValueError(f"at most {self.context_length} tokens fit, got {past + T}")
        if self.theta is not None:  # the values are not turned
            frequencies = rotary_frequencies(self.head_dim, T, self.theta, past).to(keys.device)
            queries, keys = apply_rotary(queries, frequencies), apply_rotary(keys, frequencies)
        return queries, keys, values
