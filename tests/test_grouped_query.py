"""Grouped-query attention with a key/value cache: ``11_grouped_query_kv_cache``."""

import copy
import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.fused_multihead import MultiHeadAttention
from chapter3_helpers.grouped_query import (
    GroupedQueryAttention,
    grouped_attention,
    kv_cache_bytes,
    repeat_kv,
)

# No two sizes are equal, so that no two dimensions can be confused.
B, T, H, D = 3, 7, 6, 10
KV_HEADS = (1, 2, 3, 6)
CHUNKS = ((1,) * T, (T,), (4, 1, 1, 1), (1, 6), (2, 5), (3, 3, 1), (5, 2))


def make(num_kv_heads=2, **arguments):
    """Build a module with weights large enough that attention is far from uniform."""
    torch.manual_seed(123)
    module = GroupedQueryAttention(H * D, H, num_kv_heads, max_seq_len=13, **arguments)
    with torch.no_grad():
        module.W_query.weight *= 5
    return module


def tokens(*shape, seed=7, dtype=torch.float32):
    return torch.randn(*shape, H * D, generator=torch.Generator().manual_seed(seed)).to(dtype)


def in_chunks(module, x, sizes):
    """Feed x piece by piece and join what comes out."""
    pieces, start_pos = [], 0
    for piece in x.split(sizes, dim=-2):
        pieces.append(module(piece, start_pos=start_pos))
        start_pos += piece.shape[-2]
    return torch.cat(pieces, dim=-2)


def by_hand(module, x, theta=10000.0):
    """Compute one sequence (T, d) token by token, head by head, in plain Python numbers."""
    T, K = x.shape[0], module.num_kv_heads
    queries, keys, values = (
        (x.double() @ layer.weight.double().T).tolist()
        for layer in (module.W_query, module.W_key, module.W_value)
    )

    def head(vectors, position, index):
        return vectors[position][index * D : (index + 1) * D]

    def turned(vector, position):
        out = []
        for pair in range(D // 2):
            angle = position * theta ** (-2 * pair / D)
            a, b = vector[2 * pair], vector[2 * pair + 1]
            out += [a * math.cos(angle) - b * math.sin(angle)]
            out += [a * math.sin(angle) + b * math.cos(angle)]
        return out

    context = []
    for i in range(T):
        row = []
        for h in range(H):
            query = turned(head(queries, i, h), i)
            shared = h // (H // K)
            exponentials = []
            for j in range(i + 1):
                key = turned(head(keys, j, shared), j)
                score = sum(a * b for a, b in zip(query, key, strict=True))
                exponentials.append(math.exp(score / math.sqrt(D)))
            for d in range(D):
                total = sum(
                    exponentials[j] * head(values, j, shared)[d] for j in range(i + 1)
                ) / sum(exponentials)
                row.append(total)
        context.append(row)
    return functional.linear(
        torch.tensor(context, dtype=torch.float64),
        module.out_proj.weight.double(),
        module.out_proj.bias.double(),
    )


def cache_state(module):
    """What a failed call must leave as it was."""
    return (
        module.cached_tokens,
        module.cached_keys[:, :, : module.cached_tokens].clone(),
        module.cached_values[:, :, : module.cached_tokens].clone(),
    )


# ---- what it computes


@pytest.mark.parametrize("num_kv_heads", KV_HEADS)
@pytest.mark.parametrize("theta", [10000.0, 17.0])
@torch.no_grad()
def test_equals_plain_python(num_kv_heads, theta):
    module, x = make(num_kv_heads, theta=theta), tokens(T)
    expected = by_hand(module, x, theta)
    torch.testing.assert_close(module(x).double(), expected, atol=1e-5, rtol=1e-5)
    pieces = in_chunks(module, x, (3, 1, 3))
    torch.testing.assert_close(pieces.double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("num_kv_heads", KV_HEADS)
@pytest.mark.parametrize("sizes", CHUNKS, ids=str)
@torch.no_grad()
def test_in_pieces_equals_all_at_once(num_kv_heads, sizes):
    module, x = make(num_kv_heads), tokens(B, T)
    whole = module(x)
    module.reset_cache()
    torch.testing.assert_close(in_chunks(module, x, sizes), whole, atol=1e-5, rtol=1e-5)
    # start_pos=0 starts anew, without a reset and after another batch
    module(tokens(B + 1, 2, seed=8))
    torch.testing.assert_close(in_chunks(module, x, sizes), whole, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_values_are_not_turned():
    # With queries of zero all weights are equal: context i is the mean of the values up to i.
    module, x = make(num_kv_heads=3), tokens(T)
    nn.init.zeros_(module.W_query.weight)
    nn.init.eye_(module.out_proj.weight)
    nn.init.zeros_(module.out_proj.bias)
    values = module.W_value(x)  # (T, 3 * D)
    means = values.cumsum(dim=0) / torch.arange(1, T + 1)[:, None]
    for h in range(H):
        expected = means[:, (h // 2) * D : (h // 2 + 1) * D]
        torch.testing.assert_close(module(x)[:, h * D : (h + 1) * D], expected)


@pytest.mark.parametrize("threads", [1, 1000])  # a single token takes one way or the other
@torch.no_grad()
def test_new_queries_see_the_keys_up_to_their_own_position(threads, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    S, K = 11, 2
    generator = torch.Generator().manual_seed(5)
    keys, values = torch.randn(2, B, K, S, D, generator=generator)
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


@pytest.mark.parametrize("num_kv_heads", KV_HEADS)
@torch.no_grad()
def test_without_rotary_equals_multi_head_attention_with_repeated_weights(num_kv_heads):
    module, x = make(num_kv_heads, rotary=False), tokens(B, T)
    multi_head = MultiHeadAttention(H * D, H * D, context_length=T, dropout=0.0, num_heads=H)
    multi_head.W_query.load_state_dict(module.W_query.state_dict())
    multi_head.out_proj.load_state_dict(module.out_proj.state_dict())
    for name in ("W_key", "W_value"):
        rows = getattr(module, name).weight.view(num_kv_heads, D, H * D)
        repeated = torch.stack([rows[h * num_kv_heads // H] for h in range(H)])
        getattr(multi_head, name).weight.copy_(repeated.view(H * D, H * D))
    torch.testing.assert_close(module(x), multi_head(x), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(module.attention_weights(x), multi_head.attention_weights(x))


def test_num_kv_heads_defaults_to_num_heads():
    assert GroupedQueryAttention(12, 3, rotary=True).num_kv_heads == 3


@pytest.mark.parametrize("sizes", [(T,), (4, 3), (4, 1, 1, 1)], ids=str)
@torch.no_grad()
def test_no_future_token_changes_an_earlier_output(sizes):
    module, x = make(), tokens(B, T)
    changed = x.clone()
    changed[:, 5] += 100
    before, after = in_chunks(module, x, sizes), in_chunks(module, changed, sizes)
    assert torch.equal(before[:, :5], after[:, :5])
    assert not torch.isclose(before[:, 5:], after[:, 5:]).all(dim=-1).any()


@torch.no_grad()
def test_an_unbatched_sequence_is_a_batch_of_one():
    module, x = make(), tokens(T)
    whole = module(x)
    assert whole.shape == (T, H * D)
    torch.testing.assert_close(module(x[None])[0], whole)
    torch.testing.assert_close(in_chunks(module, x, (4, 3)), whole, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_training_and_evaluation_agree():
    module, x = make(), tokens(B, T)
    assert torch.equal(module.train()(x), module.eval()(x))


# ---- the weights


@pytest.mark.parametrize("shape", [(T,), (B, T)], ids=str)
@torch.no_grad()
def test_attention_weights_mix_the_values_as_forward_does(shape):
    module, x = make(num_kv_heads=3), tokens(*shape)
    weights = module.attention_weights(x)
    assert module.cached_tokens == 0
    assert module.cached_keys is None
    assert weights.shape == (*shape[:-1], H, T, T)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(*shape[:-1], H, T))
    assert torch.equal(weights, weights.tril())
    values = module.W_value(x).unflatten(-1, (3, D)).transpose(-3, -2)
    context = (weights @ repeat_kv(values, 2)).transpose(-3, -2).flatten(-2)
    torch.testing.assert_close(module(x), module.out_proj(context), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_attention_weights_leave_a_filled_cache_alone():
    module, x = make(), tokens(B, T)
    whole = module(x)
    module(x[:, :4])
    module.attention_weights(tokens(2, 9, seed=9))
    torch.testing.assert_close(module(x[:, 4:], start_pos=4), whole[:, 4:], atol=1e-5, rtol=1e-5)


# ---- gradients


def explicit_forward(module, x, past=None):
    """Compute forward without the cache or torch's attention; ``past`` holds constant tokens."""
    full = x if past is None else torch.cat([past, x], dim=-2)
    new = x.shape[-2]
    K = module.num_kv_heads

    def heads(layer, count):
        projected = layer(x)
        if past is not None:
            projected = torch.cat([layer(past).detach(), projected], dim=-2)
        return projected.unflatten(-1, (count, D)).transpose(-3, -2)

    def turn(vectors):
        angles = torch.arange(full.shape[-2])[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
        even, odd = vectors[..., 0::2], vectors[..., 1::2]
        pair = (
            even * angles.cos() - odd * angles.sin(),
            even * angles.sin() + odd * angles.cos(),
        )
        return torch.stack(pair, dim=-1).flatten(-2)

    queries = turn(heads(module.W_query, H))
    keys = repeat_kv(turn(heads(module.W_key, K)), H // K)
    values = repeat_kv(heads(module.W_value, K), H // K)
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(D)
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    context = scores.masked_fill(later, -torch.inf).softmax(-1) @ values
    return module.out_proj(context.transpose(-3, -2).flatten(-2))[..., -new:, :]


def gradients(output, *sources):
    torch.manual_seed(3)
    return torch.autograd.grad((output * torch.randn_like(output)).sum(), sources)


@pytest.mark.parametrize("num_kv_heads", KV_HEADS)
def test_gradients_of_a_whole_sequence(num_kv_heads):
    module, x = make(num_kv_heads), tokens(B, T).requires_grad_()
    sources = (x, *module.parameters())
    found = gradients(module(x), *sources)
    expected = gradients(explicit_forward(module, x), *sources)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("new", [1, 3])
def test_gradients_reach_new_tokens_and_take_cached_ones_as_constant(new):
    module, x = make(), tokens(B, T)
    past, recent = x[:, :-new].requires_grad_(), x[:, -new:].detach().requires_grad_()
    module(past)
    output = module(recent, start_pos=T - new)
    sources = (recent, *module.parameters())
    expected = gradients(explicit_forward(module, recent, past.detach()), *sources)
    for one, other in zip(gradients(output, *sources), expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_later_calls_do_not_spoil_an_earlier_graph():
    module, x = make(), tokens(B, T)
    for name in ("W_key", "W_value"):
        getattr(module, name).requires_grad_(False)  # the cache itself needs no gradient
    outputs = [module(x[:, :4])]
    outputs += [module(x[:, i : i + 1], start_pos=i) for i in range(4, T)]
    module(x)  # writes over everything
    torch.cat(outputs, dim=1).sum().backward()
    assert module.W_query.weight.grad.abs().sum() > 0


def test_the_cache_holds_no_graph():
    module, x = make(), tokens(B, T)
    module(x[:, :4].requires_grad_())
    module(x[:, 4:], start_pos=4)
    for cache in (module.cached_keys, module.cached_values):
        assert not cache.requires_grad
        assert cache.grad_fn is None


def test_the_cache_passes_between_inference_mode_and_training():
    module, x = make(), tokens(B, T)
    whole = module(x).detach()
    module.reset_cache()
    with torch.inference_mode():
        module(x[:, :2])
    with torch.no_grad():
        module(x[:, 2:4], start_pos=2)
    output = module(x[:, 4:], start_pos=4)
    torch.testing.assert_close(output.detach(), whole[:, 4:], atol=1e-5, rtol=1e-5)
    output.sum().backward()


# ---- the cache


@torch.no_grad()
def test_a_token_copies_nothing_of_the_cache(monkeypatch):
    module, x = make(), tokens(B, T)
    module(x[:, :4])
    home = module.cached_keys.data_ptr(), module.cached_values.data_ptr()
    seen = []
    attention = functional.scaled_dot_product_attention

    def spy(queries, keys, values, **options):
        seen.append((keys.data_ptr(), values.data_ptr(), keys.shape))
        return attention(queries, keys, values, **options)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", spy)
    module(x[:, 4:5], start_pos=4)
    module(x[:, 5:], start_pos=5)
    assert (module.cached_keys.data_ptr(), module.cached_values.data_ptr()) == home
    assert seen == [(*home, (B, 2, 5, D)), (*home, (B, 2, 7, D))]


@torch.no_grad()
def test_going_back_forgets_what_came_after():
    module, x = make(), tokens(B, T)
    other = tokens(B, 2, seed=11)
    expected = module(torch.cat([x[:, :3], other], dim=1))[:, 3:]
    module(x)
    torch.testing.assert_close(module(other, start_pos=3), expected, atol=1e-5, rtol=1e-5)
    assert module.cached_tokens == 5
    with pytest.raises(ValueError, match=r"start_pos must be at most 5.*got 7"):
        module(other, start_pos=7)


@torch.no_grad()
def test_the_last_place_can_be_filled():
    module = make(max_batch_size=B)
    x = tokens(B, 13)
    whole = module(x)
    last = in_chunks(module, x, (12, 1))[:, -1]
    torch.testing.assert_close(last, whole[:, -1], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("x", "start_pos", "error", "message"),
    [
        (tokens(B, 9), 5, ValueError, r"start_pos \+ T must be at most max_seq_len=13.*got 5 \+ 9"),
        (tokens(B, 1), 6, ValueError, "start_pos must be at most 5, the number .*, got 6"),
        (tokens(B, 1), -1, ValueError, "start_pos must be at least 0, got -1"),
        (tokens(B, 1), 5.0, TypeError, "start_pos must be an integer, got 5.0"),
        (tokens(B, 1), True, TypeError, "start_pos must be an integer, got True"),
        (tokens(B + 1, 1), 5, ValueError, r"x must continue the cached 3 sequence\(s\) .*got 4 in"),
        (tokens(1), 5, ValueError, r"x must continue the cached 3 sequence\(s\) .*got 1 in"),
        (tokens(6, 1), 0, ValueError, "x must hold at most max_batch_size=5 sequences, got 6"),
        (tokens(B, 14), 0, ValueError, "x must hold at most context_length=13 tokens, got 14"),
        (tokens(B, 1)[..., 1:], 5, ValueError, "last dimension of x must be d_in=60, got 59"),
        (tokens(B, 1).long(), 5, ValueError, "x must be a floating-point tensor, got torch.int64"),
        (tokens(B, 0), 5, ValueError, "x must not be empty"),
        (tokens(1, B, 1), 5, ValueError, r"x must have shape \(T, d_in\) or \(B, T, d_in\)"),
        ([[1.0]], 5, TypeError, "x must be a torch.Tensor, got list"),
    ],
    ids=lambda value: None if isinstance(value, torch.Tensor) else str(value)[:30],
)
@torch.no_grad()
def test_a_refused_call_leaves_the_cache_as_it_was(x, start_pos, error, message):
    module, good = make(max_batch_size=5), tokens(B, 6)
    whole = module(good)
    module(good[:, :5])
    before = cache_state(module)
    with pytest.raises(error, match=message):
        module(x, start_pos=start_pos)
    for old, new in zip(before, cache_state(module), strict=True):
        assert torch.equal(torch.as_tensor(old), torch.as_tensor(new))
    torch.testing.assert_close(module(good[:, 5:], 5), whole[:, 5:], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_change_of_dtype_half_way_is_refused():
    module, x = make(), tokens(B, T)
    module(x[:, :4])
    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        pytest.raises(
            ValueError, match=r"continue the cached 3 .*float32.*got 3 in torch.bfloat16 on cpu"
        ),
    ):
        module(x[:, 4:], start_pos=4)
    assert module.cached_tokens == 4


@torch.no_grad()
def test_reset_gives_the_memory_back():
    module, x = make(), tokens(B, T)
    module(x)
    module.reset_cache()
    assert module.cached_tokens == 0
    assert module.cached_keys is None
    assert module.cached_values is None
    with pytest.raises(ValueError, match="start_pos must be at most 0"):
        module(x[:, :1], start_pos=1)


@torch.no_grad()
def test_two_modules_share_no_cache():
    module, x = make(), tokens(B, T)
    module(x[:, :4])
    twin = copy.deepcopy(module)
    expected = module(x[:, 4:], start_pos=4)
    twin(tokens(B, 2, seed=12), start_pos=4)
    assert twin.cached_tokens == 6
    assert module.cached_tokens == T
    torch.testing.assert_close(twin(x[:, 4:], start_pos=4), expected)


@pytest.mark.parametrize("num_kv_heads", KV_HEADS)
@torch.no_grad()
def test_bytes_by_formula_are_the_bytes_held(num_kv_heads):
    module = make(num_kv_heads).to(torch.bfloat16)
    module(tokens(B, T, dtype=torch.bfloat16))
    used = module.cached_keys[:, :, : module.cached_tokens]
    sizes = dict(num_kv_heads=num_kv_heads, head_dim=D, batch_size=B, bytes_per_number=2)
    assert kv_cache_bytes(T, **sizes) == 2 * used.numel() * used.element_size()
    assert kv_cache_bytes(13, **sizes) == module.cached_keys.nbytes + module.cached_values.nbytes


def test_bytes_of_a_large_model():
    # 32 layers, 32 heads of 128, 32768 tokens, 2 bytes: 2 * 2^5 * 2^5 * 2^7 * 2^15 * 2 = 2^34
    sizes = dict(head_dim=128, num_layers=32, bytes_per_number=2)
    assert kv_cache_bytes(32768, 32, **sizes) == 2**34  # 17.18 GB
    assert kv_cache_bytes(32768, 8, **sizes) == 2**32  # 4.29 GB


# ---- life as a module


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.bfloat16, 0.05), (torch.float16, 0.01)]
)
@torch.no_grad()
def test_other_dtypes(dtype, tolerance):
    single, x = make(), tokens(B, T)
    module = copy.deepcopy(single).to(dtype)
    assert module.frequencies.is_complex()
    whole = module(x.to(dtype))
    assert whole.dtype == module.cached_keys.dtype == dtype
    pieces = in_chunks(module, x.to(dtype), (4, 1, 2))
    torch.testing.assert_close(pieces, whole, atol=tolerance, rtol=tolerance)
    torch.testing.assert_close(whole.float(), single(x), atol=0.1, rtol=0.1)


@torch.no_grad()
def test_the_cache_follows_the_module_to_a_dtype_and_a_device():
    module, x = make(), tokens(B, T)
    whole = module(x)
    module(x[:, :4])
    module.double()
    continued = module(x[:, 4:].double(), start_pos=4)
    torch.testing.assert_close(continued.float(), whole[:, 4:], atol=1e-5, rtol=1e-5)
    module.to("meta")
    assert {module.cached_keys.device.type, module.frequencies.device.type} == {"meta"}


def test_state_dict_holds_weights_alone():
    module, x = make(), tokens(B, T)
    with torch.no_grad():
        expected = module(x)
        state = module.state_dict()
        names = ("W_query.weight", "W_key.weight", "W_value.weight")
        assert tuple(state) == (*names, "out_proj.weight", "out_proj.bias")
        other = GroupedQueryAttention(H * D, H, 2, max_seq_len=T)
        other.load_state_dict(state)
        assert torch.equal(other(x), expected)


def test_layers_are_created_in_the_published_order():
    torch.manual_seed(5)
    module = GroupedQueryAttention(12, 3, 1)
    torch.manual_seed(5)
    for name, width, bias in (
        ("W_query", 12, False),
        ("W_key", 4, False),
        ("W_value", 4, False),
        ("out_proj", 12, True),
    ):
        layer, twin = getattr(module, name), nn.Linear(12, width, bias=bias)
        assert torch.equal(layer.weight, twin.weight)
        assert (layer.bias is not None) == bias


def test_sizes_are_attributes():
    module = GroupedQueryAttention(60, 6, 3, max_batch_size=5, max_seq_len=11)
    sizes = (module.d_in, module.d_out, module.num_heads, module.num_kv_heads, module.head_dim)
    assert sizes == (60, 60, 6, 3, 10)
    assert (module.context_length, module.max_batch_size) == (11, 5)


@torch.no_grad()
def test_compiles_without_a_new_graph_for_every_token():
    module, x = make(), tokens(B, 13)
    whole = module(x)
    module.reset_cache()
    compiled = torch.compile(module, backend="eager", fullgraph=True)  # gives up after 8 graphs
    pieces = in_chunks(compiled, x, (2,) + (1,) * 11)
    torch.testing.assert_close(pieces, whole, atol=1e-5, rtol=1e-5)
    assert module.cached_tokens == 13


def test_compiles_for_prompts_of_many_lengths():
    module = make()
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    for T in (5, 6, 7, 9):  # from the second on the length is a symbol
        x = tokens(B, T)
        torch.testing.assert_close(compiled(x), module(x), atol=1e-5, rtol=1e-5)


def test_exports_for_whole_sequences_of_any_length():
    module = make().requires_grad_(False)
    lengths = ({1: torch.export.Dim("T", min=2, max=13)},)
    exported = torch.export.export(module, (tokens(B, 5),), dynamic_shapes=lengths).module()
    assert module.cached_keys is module.cached_values is None
    for T in (2, 7, 13):
        x = tokens(B, T)
        torch.testing.assert_close(exported(x), module(x))
    cached = module.cached_keys.clone()
    with pytest.raises(ValueError, match=r"start_pos must be 0 for torch\.export, got 2"):
        torch.export.export(module, (tokens(B, 5), 2))
    assert torch.equal(module.cached_keys, cached)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((10, 4), ValueError, "d_model must be divisible by num_heads.*d_model=10.*num_heads=4"),
        ((12, 6, 4), ValueError, "num_heads must be divisible by num_kv_heads.*=6.*=4"),
        ((12, 3, 6), ValueError, "num_heads must be divisible by num_kv_heads"),
        ((15, 5), ValueError, "head_dim must be even.*got 3"),
        ((12, 3, 0), ValueError, "num_kv_heads must be at least 1, got 0"),
        ((0, 3), ValueError, "d_model must be at least 1"),
        ((12, 3.0), TypeError, "num_heads must be an integer, got 3.0"),
        ((12, 3, 1, 0), ValueError, "max_batch_size must be at least 1"),
        ((12, 3, 1, 1, 0), ValueError, "max_seq_len must be at least 1"),
        ((12, 3, 1, 1, 1, -2.0), ValueError, "theta must be above 0"),
        ((12, 3, 1, 1, 1, 10.0, 1), TypeError, "rotary must be True or False, got 1"),
    ],
    ids=str,
)
def test_refused_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        GroupedQueryAttention(*arguments)


def test_an_odd_head_dim_is_fine_without_rotary():
    assert GroupedQueryAttention(15, 5, rotary=False)(torch.zeros(2, 15)).shape == (2, 15)


# ---- repeat_kv


def test_repeat_kv_puts_copies_side_by_side():
    x = tokens(B, 2).view(B, 2, H, D)[:, :, :5]  # (B, 2, 5, D)
    repeated = repeat_kv(x, 3)
    assert repeated.shape == (B, 6, 5, D)
    for h in range(6):
        assert torch.equal(repeated[:, h], x[:, h // 3])
    assert torch.equal(repeat_kv(x[0], 3), repeated[0])


@pytest.mark.parametrize(
    ("x", "n", "error", "message"),
    [
        (torch.ones(2, 3), 2, ValueError, r"x must have shape \(K, T, D\) or \(B, K, T, D\)"),
        (torch.ones(2, 3, 4), 0, ValueError, "n must be at least 1, got 0"),
        (torch.ones(2, 3, 4), 2.0, TypeError, "n must be an integer"),
        ([1.0], 2, TypeError, "x must be a torch.Tensor"),
    ],
    ids=lambda value: None if isinstance(value, torch.Tensor) else str(value)[:30],
)
def test_repeat_kv_refuses(x, n, error, message):
    with pytest.raises(error, match=message):
        repeat_kv(x, n)


def test_kv_cache_bytes_refuses():
    with pytest.raises(ValueError, match="num_layers must be at least 1, got 0"):
        kv_cache_bytes(5, 2, 4, num_layers=0)
    with pytest.raises(TypeError, match="bytes_per_number must be an integer"):
        kv_cache_bytes(5, 2, 4, bytes_per_number=0.5)


def test_weights_in_float16_are_finite_where_the_kernel_is():
    """Undivided, these scores would pass 65504, the largest number of float16."""
    torch.manual_seed(1)
    attention = GroupedQueryAttention(768, 12, 4).half().requires_grad_(False)
    x = (100 * torch.randn(1, 8, 768)).half()
    assert attention(x).isfinite().all()
    weights = attention.attention_weights(x).float()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(1, 12, 8), atol=2e-3, rtol=0)
