"""Grouped-query attention with a key/value cache: ``12_grouped_query_kv_cache``."""

import copy
import gc
import math
import pickle

import pytest
import torch
from torch.nn import functional

from chapter3_helpers import grouped_query
from chapter3_helpers.grouped_query import (
    GroupedQueryAttention,
    KeyValueCache,
    LayerCache,
    grouped_attention,
    kv_cache_bytes,
    repeat_kv,
)
from chapter3_helpers.positions import rotary_frequencies
from tests.devices import DEVICES

# No two sizes are equal, so that no two dimensions can be confused.
B, T, H, D, CONTEXT = 3, 7, 6, 10, 13
KV_HEADS = (1, 2, 3, 6)
PIECES = ((1,) * T, (T,), (4, 1, 1, 1), (1, 6), (2, 5), (3, 3, 1), (5, 2))


def make(num_kv_heads=2, **arguments):
    """Build a module with weights large enough that attention is far from uniform."""
    torch.manual_seed(123)
    module = GroupedQueryAttention(
        H * D, H, num_kv_heads, **{"context_length": CONTEXT} | arguments
    )
    with torch.no_grad():
        module.W_query.weight *= 5
    return module


def tokens(*shape, seed=7, dtype=torch.float32):
    return torch.randn(*shape, H * D, generator=torch.Generator().manual_seed(seed)).to(dtype)


def in_pieces(module, x, sizes, cache=None):
    """Feed x piece by piece, into a new cache unless one is given, and join what comes out."""
    cache = module.new_cache(len(x) if x.dim() == 3 else 1) if cache is None else cache
    return torch.cat([module(piece, cache) for piece in x.split(sizes, dim=-2)], dim=-2)


def filled(module, x):
    """A cache that holds x."""
    cache = module.new_cache(len(x))
    module(x, cache)
    return cache


def by_hand(module, x, past=None, theta=10000.0):
    """Compute forward from the formulas alone; ``past`` holds constant tokens before x."""
    past = x[..., :0, :] if past is None else past
    full, G = torch.cat([past, x], dim=-2), module.num_kv_heads

    def heads(layer, count):
        projected = torch.cat([layer(past).detach(), layer(x)], dim=-2)
        return projected.unflatten(-1, (count, D)).transpose(-3, -2)

    def turn(vectors):
        angles = torch.arange(full.shape[-2])[:, None] * theta ** (-torch.arange(0, D, 2) / D)
        even, odd = vectors[..., 0::2], vectors[..., 1::2]
        pair = (even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos())
        return torch.stack(pair, dim=-1).flatten(-2)

    queries = turn(heads(module.W_query, H))
    keys = turn(heads(module.W_key, G)).repeat_interleave(H // G, dim=-3)
    values = heads(module.W_value, G).repeat_interleave(H // G, dim=-3)
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(D)
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    context = scores.masked_fill(later, -torch.inf).softmax(-1) @ values
    return module.out_proj(context.transpose(-3, -2).flatten(-2))[..., -x.shape[-2] :, :]


def spy_on_attention(monkeypatch):
    """Collect the queries, keys and values that torch's attention is called with."""
    calls = []
    attention = functional.scaled_dot_product_attention

    def spy(*tensors, **options):
        calls.append(tensors)
        return attention(*tensors, **options)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", spy)
    return calls


def state_of(cache):
    """What a refused call must leave as it was, the place in memory included."""
    kept = cache.all_keys, cache.all_values
    return cache.length, *[
        (all_of.data_ptr(), all_of[:, :, : cache.length].tolist()) for all_of in kept
    ]


# ---- what it computes


@pytest.mark.parametrize("num_kv_heads", KV_HEADS)
@pytest.mark.parametrize("theta", [10000.0, 17.0])
@torch.no_grad()
def test_equals_the_formulas(num_kv_heads, theta):
    module, x = make(num_kv_heads, theta=theta), tokens(B, T)
    expected = by_hand(module, x, theta=theta)
    torch.testing.assert_close(module(x), expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(in_pieces(module, x, (3, 1, 3)), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("num_kv_heads", KV_HEADS)
@pytest.mark.parametrize("sizes", PIECES, ids=str)
@torch.no_grad()
def test_in_pieces_equals_all_at_once(num_kv_heads, sizes, device):
    module, x = make(num_kv_heads).to(device), tokens(B, T).to(device)
    cache = module.new_cache(B)
    torch.testing.assert_close(in_pieces(module, x, sizes, cache), module(x), atol=1e-5, rtol=1e-5)
    assert len(cache) == T


@pytest.mark.parametrize(("threads", "rows"), [(1, H // 2), (6, H // 2), (7, 1), (1000, 1)])
@torch.no_grad()
def test_new_queries_see_the_keys_up_to_their_own_position(threads, rows, monkeypatch):
    """While threads are few, a group's queries for one token are rows: a key is read once."""
    calls = spy_on_attention(monkeypatch)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    S, G = 11, 2
    generator = torch.Generator().manual_seed(5)
    keys, values = torch.randn(2, B, G, S, D, generator=generator)
    for new in (1, 4, S):
        queries = torch.randn(B, H, new, D, generator=generator)
        context = grouped_attention(queries, keys, values)
        for i in range(new):
            for h in range(H):
                seen = S - new + i + 1
                key, value = keys[:, h // 3, :seen], values[:, h // 3, :seen]
                scores = (key @ queries[:, h, i, :, None]).squeeze(-1) / math.sqrt(D)
                expected = (scores.softmax(-1)[:, None] @ value).squeeze(1)
                torch.testing.assert_close(context[:, h, i], expected)
    assert [queries.shape[-2] for queries, _, _ in calls] == [rows, 4, S]


@pytest.mark.parametrize("shape", [(), (5,), (2, 4), (1, 2, 4)], ids=str)
@torch.no_grad()
def test_a_cache_counts_the_texts_in_all_leading_dimensions(shape):
    module, x = make(), tokens(*shape, T)
    cache = module.new_cache(math.prod(shape))
    pieces = in_pieces(module, x, (4, 3), cache)
    torch.testing.assert_close(pieces, module(x), atol=1e-5, rtol=1e-5)
    cache.truncate(4)
    weights = module.attention_weights(x[..., 4:, :], cache)
    torch.testing.assert_close(weights, module.attention_weights(x)[..., 4:, :])


# ---- the weights


@pytest.mark.parametrize("shape", [(T,), (B, T)], ids=str)
@torch.no_grad()
def test_attention_weights_mix_the_values_as_forward_does(shape):
    module, x = make(num_kv_heads=3), tokens(*shape)
    weights = module.attention_weights(x)
    assert weights.shape == (*shape[:-1], H, T, T)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(*shape[:-1], H, T))
    assert torch.equal(weights, weights.tril())
    values = module.W_value(x).unflatten(-1, (3, D)).transpose(-3, -2)
    context = (weights @ repeat_kv(values, 2)).transpose(-3, -2).flatten(-2)
    torch.testing.assert_close(module(x), module.out_proj(context), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("past", [0, 1, 4, 6])
@torch.no_grad()
def test_weights_of_new_tokens_reach_back_into_the_cache_and_leave_it_alone(past):
    module, x = make(), tokens(B, T)
    cache = module.new_cache(B)
    if past:
        module(x[:, :past], cache)
    before = state_of(cache)
    weights = module.attention_weights(x[:, past:], cache)
    expected = module.attention_weights(x)[:, :, past:]
    torch.testing.assert_close(weights, expected, atol=1e-5, rtol=0)
    assert state_of(cache) == before


# ---- gradients


def gradients(output, *sources):
    torch.manual_seed(3)
    return torch.autograd.grad((output * torch.randn_like(output)).sum(), sources)


@pytest.mark.parametrize(("num_kv_heads", "new"), [(1, T), (3, T), (2, 1), (2, 3)])
def test_gradients_reach_new_tokens_and_take_cached_ones_as_constant(num_kv_heads, new):
    module, x = make(num_kv_heads), tokens(B, T)
    past, recent = x[:, : T - new], x[:, T - new :].clone().requires_grad_()
    cache = filled(module, past) if new < T else None
    sources = (recent, *module.parameters())
    found = gradients(module(recent, cache), *sources)
    expected = gradients(by_hand(module, recent, past), *sources)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("trained", ["W_query", "W_key", "W_value"])
def test_later_tokens_do_not_spoil_an_earlier_graph(trained):
    module, x = make().requires_grad_(False), tokens(B, T)
    weight = getattr(module, trained).weight.requires_grad_()
    cache = filled(module, x[:, :4])
    (expected,) = torch.autograd.grad(module(x[:, 4:5], cache).sum(), weight)
    cache.truncate(4)
    output = module(x[:, 4:5], cache)
    module(x[:, 5:], cache)
    cache.truncate(2)
    module(x[:, 5:], cache)  # writes over what the output has seen
    assert torch.equal(*torch.autograd.grad(output.sum(), weight), expected)


# ---- the cache


@torch.no_grad()
def test_without_a_cache_nothing_is_kept_and_a_new_one_takes_no_memory():
    module, x = make(context_length=10**12), tokens(B, T)  # far more than any memory holds
    before = len(pickle.dumps(module))
    module(x)
    module.attention_weights(x)
    assert len(pickle.dumps(module)) == before
    cache = module.new_cache(B)
    assert len(cache) == 0
    assert cache.keys.shape == cache.values.shape == (B, 2, 0, D)


@torch.no_grad()
def test_no_token_is_moved_copied_or_turned_again(monkeypatch):
    module, x = make(), tokens(B, T)
    cache = filled(module, x[:, :1])
    home, turned = (cache.keys.data_ptr(), cache.values.data_ptr()), []
    calls = spy_on_attention(monkeypatch)

    def spy(head_dim, T, theta, start):
        turned.append((T, start))
        return rotary_frequencies(head_dim, T, theta, start)

    monkeypatch.setattr(grouped_query, "rotary_frequencies", spy)
    module(x[:, 1:2], cache)
    module(x[:, 2:], cache)
    seen = [(keys.data_ptr(), values.data_ptr(), keys.shape) for _, keys, values in calls]
    assert seen == [(*home, (B, 2, 2, D)), (*home, (B, 2, T, D))]
    assert (cache.keys.data_ptr(), cache.values.data_ptr()) == home
    assert turned == [(1, 1), (T - 2, 2)]  # no table of angles is computed, or kept
    assert not any(
        isinstance(kept, torch.Tensor) and kept.is_complex() for kept in vars(cache).values()
    )


@torch.no_grad()
def test_truncate_goes_back_and_forgets_what_came_after():
    module, x, other = make(), tokens(B, T), tokens(B, 2, seed=11)
    for length in (0, 1, 3, T):
        cache = filled(module, x)
        cache.truncate(length)
        assert len(cache) == length
        expected = module(torch.cat([x[:, :length], other], dim=1))[:, length:]
        torch.testing.assert_close(module(other, cache), expected, atol=1e-5, rtol=1e-5)
        assert len(cache) == length + 2
    for length in (T + 3, -1):
        with pytest.raises(ValueError, match=f"length must be from 0 to 9, got {length}"):
            cache.truncate(length)


@pytest.mark.parametrize(
    ("held", "x", "changes", "message"),
    [
        (0, tokens(B + 1, 1), {}, "cache must be like .*batch_size=4, .*batch_size=3, "),
        (6, tokens(1), {}, "cache must be like .*batch_size=1, .*batch_size=3, "),
        (6, tokens(B, 1), {"num_kv_heads": 3}, "num_kv_heads=3, .*num_kv_heads=2"),
        (6, tokens(B, 1), {"context_length": 14}, "14 tokens, .* got .* of 13 tokens"),
        (6, torch.zeros(B, 1, 48), {"d_model": 48}, "head_dim=8.*, head_dim=10"),
        (6, tokens(B, 1), {}, r"cache must be this layer's own, .* attention.new_cache\(\)"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
@torch.no_grad()
def test_a_refused_call_leaves_the_cache_as_it_was(held, x, changes, message):
    module, good = make(), tokens(B, T)
    cache = module.new_cache(B)
    if held:
        module(good[:, :held], cache)
    sizes = {"d_model": H * D, "num_heads": H, "num_kv_heads": 2, "context_length": CONTEXT}
    other = GroupedQueryAttention(**sizes | changes)
    before = state_of(cache)
    for call in (other, other.attention_weights):
        with pytest.raises(ValueError, match=message):
            call(x, cache)
    assert state_of(cache) == before
    whole = module(good)
    torch.testing.assert_close(module(good[:, held:], cache), whole[:, held:], atol=1e-5, rtol=1e-5)


FITS = (B, 2, 3, D)


@pytest.mark.parametrize(
    ("kind", "grad"), [(KeyValueCache, False), (LayerCache, False), (LayerCache, True)]
)
@pytest.mark.parametrize("held", [0, 5])
@pytest.mark.parametrize(
    ("keys", "values"),
    [
        ((B, 2, CONTEXT + 1, D), (B, 2, CONTEXT + 1, D)),
        ((1, 2, 3, D), (1, 2, 3, D)),  # these and the next would be repeated without a word
        ((B, 1, 3, D), (B, 1, 3, D)),
        ((B, 2, 3, 1), (B, 2, 3, 1)),
        (FITS, (B, 2, 1, D)),
        ((2, 3, D), (2, 3, D)),
        (FITS, (B, 2, 4, D)),
    ],
)
def test_append_refuses_what_does_not_fit_and_nothing_changes(keys, values, held, grad, kind):
    cache = kind(B, 2, CONTEXT, D)
    torch.manual_seed(2)
    earlier, new = torch.randn(2, B, 2, 5, D), torch.randn(2, *FITS)
    with torch.set_grad_enabled(grad):
        cache.append(*earlier[:, :, :, :held])
        before = state_of(cache)
        words = r"must be \(3, 2, T, 10\) with T up to (13|8), got \(.* and \("
        with pytest.raises(ValueError, match=words):
            cache.append(torch.ones(keys), torch.ones(values))
        assert state_of(cache) == before
        for found, old, added in zip(cache.append(*new), earlier, new, strict=True):
            assert torch.equal(found, torch.cat([old[:, :, :held], added], dim=2))


@torch.no_grad()
def test_one_cache_for_two_layers_is_refused_also_as_a_copy_or_made_by_hand():
    """A copy or a cache made by hand belongs to the first layer that adds to it."""
    module, x = make(), tokens(B, T)
    other, whole = copy.deepcopy(module), module(x)
    cache = filled(module, x[:, :4])
    for copied in (*(copy.deepcopy(cache) for _ in range(2)), pickle.loads(pickle.dumps(cache))):
        torch.testing.assert_close(module(x[:, 4:], copied), whole[:, 4:], atol=1e-5, rtol=1e-5)
        assert len(cache) == 4
        with pytest.raises(ValueError, match="this layer's own"):
            other(x[:, :1], copied)
        assert len(copied) == T
    by_hand = LayerCache(B, 2, CONTEXT, D)
    with pytest.raises(ValueError, match="must be like"):
        module(x[:1], by_hand)
    with pytest.raises(ValueError, match="tokens fit"):
        module(tokens(B, CONTEXT + 1), by_hand)
    module.attention_weights(x, by_hand)
    pieces = in_pieces(other, x, (3, 4), by_hand)
    torch.testing.assert_close(pieces, whole, atol=1e-5, rtol=1e-5)
    with pytest.raises(ValueError, match="this layer's own"):
        module(x, by_hand)


@pytest.mark.parametrize("order", [1, -1])
@torch.no_grad()
def test_layers_copied_together_with_their_caches_go_on(order):
    x = tokens(B, T)
    layers = [make(num_kv_heads=heads) for heads in (2, 3)]
    caches = [filled(layer, x[:, :4]) for layer in layers]
    both = [layers, caches][::order]
    for copied in (copy.deepcopy(both), pickle.loads(pickle.dumps(both))):
        for layer, same, cache in zip(layers, *copied[::order], strict=True):
            expected = layer(x)[:, 4:]
            torch.testing.assert_close(same(x[:, 4:], cache), expected, atol=1e-5, rtol=1e-5)
    assert [len(cache) for cache in caches] == [4, 4]


def test_a_cache_does_not_keep_its_layer_alive():
    cache = make().new_cache(B)
    gc.collect()
    assert cache.layer() is None
    with pytest.raises(ValueError, match="this layer's own"):
        make()(tokens(B, T), cache)


@pytest.mark.parametrize("cache", [[], [None], KeyValueCache(B, 2, CONTEXT, D), (torch.ones(1),)])
def test_what_is_no_cache_of_a_layer_is_refused_in_words(cache):
    for call in (make(), make().attention_weights):
        with pytest.raises(TypeError, match=r"cache must be from attention.new_cache\(\), got \w"):
            call(tokens(B, T), cache)


@torch.no_grad()
@pytest.mark.parametrize("rotary", [True, False])
def test_a_cache_never_overflows(rotary):
    module, x = make(rotary=rotary), tokens(B, CONTEXT + 1)
    cache = filled(module, x[:, :-2])
    before = state_of(cache)
    for call in (module, module.attention_weights):
        with pytest.raises(ValueError, match="at most 13 tokens fit, got 14"):
            call(x[:, -2:], cache)
    assert state_of(cache) == before


@torch.no_grad()
def test_another_dtype_half_way_is_refused_and_after_truncate_taken():
    module, x = make(), tokens(B, T)
    cache = filled(module, x[:, :1])
    before = state_of(cache)
    rough = torch.autocast("cpu", dtype=torch.bfloat16)
    with rough, pytest.raises(ValueError, match=r"cache must hold torch.bfloat16 .*got .*float32"):
        module(x[:, 1:], cache)
    with pytest.raises(ValueError, match=r"cache must hold torch.float64 on cpu, .*got .*float32"):
        module.double().attention_weights(x[:, 1:].double(), cache)
    assert state_of(cache) == before
    cache.truncate(0)
    module(x.double(), cache)
    assert cache.keys.dtype == cache.values.dtype == torch.float64


@pytest.mark.parametrize("num_kv_heads", KV_HEADS)
@torch.no_grad()
def test_bytes_by_formula_are_the_bytes_held(num_kv_heads):
    module = make(num_kv_heads).to(torch.bfloat16)
    cache = filled(module, tokens(B, T, dtype=torch.bfloat16))
    sizes = dict(num_kv_heads=num_kv_heads, head_dim=D, batch_size=B, bytes_per_number=2)
    assert kv_cache_bytes(T, **sizes) == cache.keys.nbytes + cache.values.nbytes
    room = cache.keys.untyped_storage().nbytes() + cache.values.untyped_storage().nbytes()
    assert kv_cache_bytes(CONTEXT, **sizes) == room


# ---- life as a module, beside what test_modules holds of all


def test_where_nothing_else_is_said():
    """As many key/value heads as heads, 2048 tokens; without rotary an odd head_dim will do."""
    attention = GroupedQueryAttention(15, 5, rotary=False)
    assert attention(torch.zeros(2, 15)).shape == (2, 15)
    said = "LayerCache(0 of 2048 tokens, batch_size=1, num_kv_heads=5, head_dim=3)"
    assert repr(attention.new_cache()) == said


@torch.no_grad()
def test_compiles_without_a_new_graph_for_every_token_or_length():
    module, x = make(), tokens(B, CONTEXT)
    whole, cache = module(x), module.new_cache(B)
    compiled = torch.compile(module, backend="eager", fullgraph=True)  # gives up after 8 graphs
    pieces = in_pieces(compiled, x, (2,) + (1,) * 7 + (4,), cache)
    torch.testing.assert_close(pieces, whole, atol=1e-5, rtol=1e-5)
    assert len(cache) == CONTEXT
    for length in (5, 6, 7, 9):  # from the second on the length is a symbol
        torch.testing.assert_close(compiled(x[:, :length]), whole[:, :length])
