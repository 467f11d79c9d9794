"""What holds for every attention module, whatever it computes inside."""

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.export import Dim

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.grouped_query import GroupedQueryAttention
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.positions import LearnedPositions
from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder
from chapter3_helpers.trainable_qkv import SelfAttention_v1, SelfAttention_v2
from chapter3_helpers.transformer_block import (
    GPT,
    FeedForward,
    MinimalLanguageModel,
    TransformerBlock,
)
from tests.devices import DEVICES

B, T, D_IN, D_OUT, CONTEXT, HEADS, D_MODEL = 2, 5, 7, 6, 11, 3, 24  # no two alike
CLASSES: dict[str, tuple[type[nn.Module], dict]] = {
    "v1": (SelfAttention_v1, {}),
    "v2": (SelfAttention_v2, {}),
    "causal": (CausalAttention, {"context_length": CONTEXT, "dropout": 0.0}),
    "wrapper": (
        MultiHeadAttentionWrapper,
        {"context_length": CONTEXT, "dropout": 0.0, "num_heads": HEADS},
    ),
    "split": (MultiHeadAttention, {"context_length": CONTEXT, "dropout": 0.0, "num_heads": HEADS}),
    "fused": (
        FusedMultiHeadAttention,
        {"context_length": CONTEXT, "dropout": 0.0, "num_heads": HEADS},
    ),
    "grouped": (
        GroupedQueryAttention,
        {"context_length": CONTEXT, "num_heads": 2 * HEADS, "num_kv_heads": HEADS},
    ),
}
LIMITED = [kind for kind in CLASSES if kind not in ("v1", "v2")]  # by context_length
every = pytest.mark.parametrize("kind", CLASSES)
with_layers = pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind != "v1"])
call = pytest.mark.parametrize("call", ["forward", "attention_weights"])


def make(kind: str, seed: int = 5, **changes) -> nn.Module:
    cls, options = CLASSES[kind]
    sizes = {"d_model": D_MODEL} if kind == "grouped" else {"d_in": D_IN, "d_out": D_OUT}
    torch.manual_seed(seed)
    return cls(**(sizes | options | changes))


def tokens(kind: str, *shape: int, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, d_in(kind), generator=generator)


def d_in(kind: str) -> int:
    return D_MODEL if kind == "grouped" else D_IN


def width(kind: str) -> int:
    return {"wrapper": D_OUT * HEADS, "grouped": D_MODEL}.get(kind, D_OUT)


def assert_same_function(left: nn.Module, right: nn.Module, x: torch.Tensor) -> None:
    assert torch.equal(left(x), right(x))
    assert torch.equal(left.attention_weights(x), right.attention_weights(x))


# mistakes that would give a wrong number without a word


@call
@pytest.mark.parametrize("kind", LIMITED)
def test_a_text_longer_than_context_length_is_refused(kind, call):
    read = getattr(make(kind), call)
    with pytest.raises(ValueError, match="at most 11 tokens fit, got 12"):
        read(tokens(kind, B, CONTEXT + 1))
    assert read(tokens(kind, CONTEXT)).isfinite().all()


@call
def test_each_head_of_a_wrapper_asks_for_itself(call):
    heads = make("wrapper")
    heads.heads[1] = make("causal", context_length=4)
    with pytest.raises(ValueError, match="at most 4 tokens fit, got 5"):
        getattr(heads, call)(tokens("wrapper", T))


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("split", {"d_out": 7}, "d_out must be divisible by num_heads, got 7 and 3"),
        ("fused", {"d_out": 7}, "d_out must be divisible by num_heads, got 7 and 3"),
        ("grouped", {"d_model": 26}, "d_model must be divisible by num_heads, got 26 and 6"),
        ("grouped", {"num_kv_heads": 4}, "num_heads must be divisible by num_kv_heads, got 6 and"),
        ("grouped", {"d_model": 18}, "head_dim must be even .*, got 3 and 10000.0"),
        ("grouped", {"theta": 0.0}, "theta positive and finite, got 4 and 0.0"),
    ],
)
def test_heads_that_cannot_share_or_turn_are_refused(kind, change, words):
    with pytest.raises(ValueError, match=words):
        make(kind, **change)


# what it reads


@every
def test_reads_one_sentence_or_a_batch_of_them(kind):
    module, x = make(kind), tokens(kind, B, T)
    context, weights = module(x), module.attention_weights(x)
    heads = {"wrapper": (HEADS,), "split": (HEADS,), "fused": (HEADS,), "grouped": (2 * HEADS,)}
    assert context.shape == (B, T, width(kind))
    assert weights.shape == (B, *heads.get(kind, ()), T, T)
    for b in range(B):
        torch.testing.assert_close(module(x[b]), context[b])
        torch.testing.assert_close(module.attention_weights(x[b]), weights[b])
    batches = torch.stack([x, x.flip(0), 2 * x])  # (3, B, T, d_in): any leading dimensions
    torch.testing.assert_close(module(batches)[1], context.flip(0))
    torch.testing.assert_close(module.attention_weights(batches)[1], weights.flip(0))
    assert module(tokens(kind, CONTEXT)).shape == (CONTEXT, width(kind))  # as many as it may read


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("kind", LIMITED)
def test_no_token_sees_a_later_one(kind, dtype):
    """To the last bit, and no gradient comes back from one; every earlier one counts."""
    module, x = make(kind).to(dtype), tokens(kind, B, T).to(dtype).requires_grad_()
    before = module(x)
    for t in range(T):
        altered = x.detach().clone()
        altered[:, t] = 100 * tokens(kind, B, seed=2)
        after = module(altered)
        assert torch.equal(after[:, :t], before[:, :t])
        assert (after[:, t:] != before[:, t:]).any(dim=-1).all()
        (slopes,) = torch.autograd.grad(before[:, t].sum(), x, retain_graph=True)
        assert not slopes[:, t + 1 :].any()
        assert slopes[:, : t + 1].any(dim=-1).all()


@every
def test_autocast_mixes_dtypes(kind):
    module, x = make(kind), tokens(kind, T)
    expected = module(x).detach()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(module(x.bfloat16()).float(), expected, rtol=0.05, atol=0.05)


# formats, devices, compilers


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 0.05), (torch.float16, 0.01)])
@pytest.mark.parametrize("device", DEVICES)
@every
def test_works_in_every_precision_and_place(kind, device, dtype, tolerance):
    exact, x = make(kind).double(), tokens(kind, B, T).double()
    module = copy.deepcopy(exact).to(device, dtype)
    for name in ("forward", "attention_weights"):
        rough = getattr(module, name)(x.to(device, dtype))
        assert (rough.dtype, rough.device.type) == (dtype, device)
        expected = getattr(exact, name)(x)
        torch.testing.assert_close(rough.cpu().double(), expected, atol=tolerance, rtol=tolerance)
    module(x.to(device, dtype)).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())


def test_weights_in_float16_are_finite_where_the_kernel_is():
    """These scores pass 65504, the largest number of float16; the kernel sums in float32."""
    module = make("grouped", num_heads=12, d_model=768).half().requires_grad_(False)
    x = (300 * torch.randn(1, 8, 768)).half()
    assert module(x).isfinite().all()
    weights = module.attention_weights(x).float()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(1, 12, 8), atol=2e-3, rtol=0)


@every
def test_compiles_in_one_piece(kind):
    module = make(kind)

    def both(x):
        return module(x), module.attention_weights(x)

    compiled = torch.compile(both, backend="eager", fullgraph=True)
    for length in (T, T + 1):
        x = tokens(kind, B, length)
        torch.testing.assert_close(compiled(x), both(x))


@every
def test_exports_for_every_length(kind):
    module, x = make(kind), tokens(kind, B, T)
    lengths = {0: Dim("B"), 1: Dim("T", max=CONTEXT)}
    exported = torch.export.export(module, (x,), dynamic_shapes=(lengths,))
    for batch, length in ((1, 2), (3, HEADS), (5, CONTEXT)):
        x = tokens(kind, batch, length)
        torch.testing.assert_close(exported.module()(x), module(x))


# weights that come from elsewhere


QKV = ["W_query", "W_key", "W_value"]
SAVED = {
    "v1": QKV,
    "v2": [f"{name}.weight" for name in QKV],
    "causal": [f"{name}.weight" for name in QKV],
    "wrapper": [f"heads.{h}.{name}.weight" for h in range(HEADS) for name in QKV],
    "split": [*(f"{name}.weight" for name in QKV), "out_proj.weight", "out_proj.bias"],
    "fused": ["W_qkv.weight", "out_proj.weight", "out_proj.bias"],
    "grouped": [*(f"{name}.weight" for name in QKV), "out_proj.weight", "out_proj.bias"],
}


@every
def test_only_the_projections_are_saved_and_loaded_or_copied_it_is_the_same(kind):
    module, x = make(kind), tokens(kind, B, T)
    assert list(module.state_dict()) == SAVED[kind]
    longer = {} if kind in ("v1", "v2") else {"context_length": 2 * CONTEXT}
    other = make(kind, seed=9, **longer)
    assert not torch.equal(other(x), module(x))
    other.load_state_dict(module.state_dict())
    for same in (other, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert_same_function(same, module, x)


@pytest.mark.parametrize("assign", [False, True])
@every
def test_made_on_the_meta_device_and_then_filled_it_is_the_same(kind, assign):
    """What lay in memory before, or lies nowhere yet, must not decide what a token sees."""
    module, x = make(kind), tokens(kind, T)
    with torch.device("meta"):
        filled = make(kind)
    assert filled(x.to("meta")).shape == (T, width(kind))
    if not assign:
        filled.to_empty(device="cpu")
        for tensor in (*filled.parameters(), *filled.buffers()):
            tensor.detach().zero_()  # as memory often is
    filled.load_state_dict(module.state_dict(), assign=assign)
    assert_same_function(filled, module, x)


@pytest.mark.parametrize("kind", ["causal", "wrapper", "split"])
def test_strict_false_loads_what_the_chapters_classes_saved(kind):
    """They save their mask, (context_length, context_length), beside the projections."""
    inner, x = make(kind), tokens(kind, B, T)
    model, other = nn.Sequential(nn.Linear(3, D_IN), inner), nn.Sequential(nn.Linear(3, D_IN))
    other.append(make(kind, context_length=CONTEXT + 1))
    saved = dict(model.state_dict())
    places = [f"1.heads.{h}." for h in range(HEADS)] if kind == "wrapper" else ["1."]
    saved |= {f"{place}mask": torch.ones(CONTEXT, CONTEXT).triu(1) for place in places}
    missing, unexpected = other.load_state_dict(saved, strict=False)
    assert (missing, unexpected) == ([], [f"{place}mask" for place in places])
    assert_same_function(other[1], inner, x)


# projections that have been replaced


class LowRank(nn.Module):
    """A frozen layer, and a small change to it that is learned: what LoRA does to a projection."""

    def __init__(self, layer: nn.Linear, rank: int = 2):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Linear(layer.in_features, rank, bias=False)
        self.up = nn.Linear(rank, layer.out_features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        change = self.up(self.down(x.to(self.down.weight.dtype)))
        return self.layer(x) + change.to(x.dtype)


class Packed(nn.Module):
    """A layer that shows neither parameters nor a ``weight``, as quantized ones do."""

    def __init__(self, layer: nn.Linear):
        super().__init__()
        self.packed = [layer]  # in a list, where nn.Module does not find it

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.packed[0](x)


def replace_layers(module: nn.Module, new: Callable[[nn.Linear], nn.Module]) -> nn.Module:
    """Put ``new(layer)`` in the place of every linear layer."""
    for name, child in list(module.named_children()):
        if isinstance(child, nn.Linear):
            setattr(module, name, new(child))
        else:
            replace_layers(child, new)
    return module


@pytest.mark.parametrize("new", [LowRank, nn.Sequential, Packed], ids=lambda new: new.__name__)
@with_layers
def test_every_projection_may_be_replaced(kind, new):
    module, x = make(kind), tokens(kind, B, T)
    replaced = replace_layers(copy.deepcopy(module), new)
    for layer in replaced.modules():
        if isinstance(layer, LowRank):
            nn.init.zeros_(layer.up.weight)  # no change yet
    assert_same_function(replaced, module, x)


# the other classes of the lessons


OTHERS = {
    "encoder and decoder": lambda: EncoderDecoder(10),
    "looking back": lambda: BahdanauDecoder(10),
    "positions": lambda: LearnedPositions(CONTEXT, D_IN),
    "feed forward": lambda: FeedForward(D_IN),
    "block": lambda: TransformerBlock(6, 2, CONTEXT),
    "one block": lambda: MinimalLanguageModel(13, 6, CONTEXT, 2),
    "model": lambda: GPT(13, 6, CONTEXT, 2, 2),
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_other_classes_keep_torchs_promises_too(make):
    """Half and double precision, saved weights, a copy, a compiled graph, and gradients for all."""
    torch.manual_seed(1)
    module, twin, x = make(), make(), torch.randint(13, (B, T))
    if isinstance(module, LearnedPositions | FeedForward | TransformerBlock):
        d = 6 if isinstance(module, TransformerBlock) else D_IN
        x = torch.randn(B, T, d)
    expected = module(x)
    for dtype, tolerance in ((torch.float64, 1e-5), (torch.bfloat16, 0.05)):
        rough = copy.deepcopy(module).to(dtype)(x.to(dtype) if x.is_floating_point() else x)
        assert rough.dtype == dtype
        torch.testing.assert_close(rough.float(), expected, atol=tolerance, rtol=tolerance)
    assert not torch.equal(twin(x), expected)
    twin.load_state_dict(module.state_dict())
    for other in (twin, pickle.loads(pickle.dumps(module))):
        assert torch.equal(other(x), expected)
    whole = not isinstance(module, EncoderDecoder)  # nn.GRU itself is left out of the graph
    with torch.no_grad():
        compiled = torch.compile(module, backend="eager", fullgraph=whole)(x)
    torch.testing.assert_close(compiled, expected)
    torch.testing.assert_close(module(x[:1]), expected[:1])  # no sentence disturbs another
    expected.square().sum().backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad.abs().sum() > 0, name
