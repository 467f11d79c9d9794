"""What holds for every attention module, whatever it computes inside."""

import copy
import pickle
import sys
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.trainable_qkv import SelfAttention_v1, SelfAttention_v2
from tests.devices import DEVICES

B, T, D_IN, D_OUT, CONTEXT, HEADS = 2, 5, 7, 6, 11, 3  # no two alike
CLASSES: dict[str, tuple[type[nn.Module], dict]] = {
    "v1": (SelfAttention_v1, {}),
    "v2": (SelfAttention_v2, {}),
    "causal": (CausalAttention, {"context_length": CONTEXT, "dropout": 0.0}),
    "wrapper": (
        MultiHeadAttentionWrapper,
        {"context_length": CONTEXT, "dropout": 0.0, "num_heads": HEADS},
    ),
    "split": (
        MultiHeadAttention,
        {"context_length": CONTEXT, "dropout": 0.0, "num_heads": HEADS},
    ),
    "fused": (
        FusedMultiHeadAttention,
        {"context_length": CONTEXT, "dropout": 0.0, "num_heads": HEADS},
    ),
}
every = pytest.mark.parametrize("kind", CLASSES)
with_layers = pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind != "v1"])
call = pytest.mark.parametrize("call", ["forward", "attention_weights"])


def make(kind: str, **changes) -> nn.Module:
    cls, options = CLASSES[kind]
    torch.manual_seed(5)
    return cls(**({"d_in": D_IN, "d_out": D_OUT} | options | changes))


def tokens(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def width(kind: str) -> int:
    return D_OUT * HEADS if kind == "wrapper" else D_OUT


def assert_same_function(left: nn.Module, right: nn.Module, x: torch.Tensor) -> None:
    assert torch.equal(left(x), right(x))
    assert torch.equal(left.attention_weights(x), right.attention_weights(x))


# sizes


@every
def test_sizes_are_attributes_and_printed(kind):
    module = make(kind)
    heads = HEADS if kind in ("wrapper", "split", "fused") else 1
    head_dim = D_OUT // heads if kind in ("split", "fused") else D_OUT
    context_length = None if kind in ("v1", "v2") else CONTEXT
    sizes = (module.d_in, module.d_out, module.num_heads, module.head_dim, module.context_length)
    assert sizes == (D_IN, D_OUT, heads, head_dim, context_length)
    said = f"d_in={D_IN}, d_out={D_OUT}"
    said += f", context_length={CONTEXT}" if context_length else ""
    said += f", num_heads={heads}" if heads > 1 else ""
    assert module.extra_repr() == said
    assert said in repr(module)


@every
def test_numpys_numbers_give_what_pythons_give(kind):
    numbers = {"d_in": np.uint8(7), "d_out": np.uint8(102)}  # 3 * 102 overflows in uint8
    for name, value in CLASSES[kind][1].items():
        numbers[name] = np.float32(value) if isinstance(value, float) else np.uint8(value)
    ours, theirs = make(kind, d_out=102), make(kind, **numbers)
    assert_same_function(ours, theirs, tokens(T, D_IN))
    assert all(type(getattr(theirs, name)) is int for name in ("d_in", "d_out", "head_dim"))


BAD_ARGUMENTS = [
    ("d_in", 0, ValueError, "d_in must be at least 1, got 0"),
    ("d_out", -2, ValueError, "d_out must be at least 1, got -2"),
    ("d_out", "3", TypeError, r"d_out must be an integer, got '3' \(str\)"),
    ("context_length", 0, ValueError, "context_length must be at least 1, got 0"),
    ("context_length", 11.0, TypeError, r"context_length must be an integer, got 11.0 \(float\)"),
    ("dropout", 1.0, ValueError, r"dropout must be in \[0, 1\), got 1.0"),
    ("dropout", None, TypeError, r"dropout must be a number, got None \(NoneType\)"),
    ("num_heads", 0, ValueError, "num_heads must be at least 1, got 0"),
    ("num_heads", 2.0, TypeError, r"num_heads must be an integer, got 2.0 \(float\)"),
    ("qkv_bias", 1, TypeError, r"qkv_bias must be True or False, got 1 \(int\)"),
]


@every
def test_refuses_bad_arguments(kind):
    for name, value, error, message in BAD_ARGUMENTS:
        if name in ("d_in", "d_out", *CLASSES[kind][1]) or (name == "qkv_bias" and kind != "v1"):
            with pytest.raises(error, match=message):
                make(kind, **{name: value})


@pytest.mark.parametrize("kind", ["split", "fused"])
def test_heads_share_a_width_equally_or_not_at_all(kind):
    with pytest.raises(ValueError, match="d_out must be divisible by num_heads, got d_out=6 and n"):
        make(kind, num_heads=4)


# what it reads

BAD_INPUTS = {
    "too long": (torch.rand(12, 7), ValueError, "at most context_length=11 tokens, got 12"),
    "other width": (torch.rand(5, 8), ValueError, "the last dimension of x must be d_in=7, got 8"),
    "one dimension": (
        torch.rand(7),
        ValueError,
        r"x must have shape \(T, d_in\) or \(B, T, d_in\), got 1 dimension\(s\): \(7,\)",
    ),
    "four dimensions": (torch.rand(1, 1, 5, 7), ValueError, r"x must have shape .*, got 4"),
    "integers": (torch.ones(5, 7).long(), ValueError, "x must be a floating-point .* torch.int64"),
    "no tokens": (torch.rand(2, 0, 7), ValueError, r"x must not be empty, got shape \(2, 0, 7\)"),
    "no tensor": ([[1.0] * 7], TypeError, "x must be a torch.Tensor, got list"),
    "other dtype": (
        torch.rand(5, 7).double(),
        ValueError,
        "x must be torch.float32 on cpu, as the weights are, got torch.float64 on cpu",
    ),
    "other device": (torch.rand(5, 7, device="meta"), ValueError, "got torch.float32 on meta"),
}


@call
@every
def test_refuses_bad_input(kind, call):
    for problem, (x, error, message) in BAD_INPUTS.items():
        if problem == "too long" and kind in ("v1", "v2"):
            assert make(kind)(x).shape == (12, D_OUT)
        else:
            with pytest.raises(error, match=message):
                getattr(make(kind), call)(x)


@every
def test_reads_one_sentence_or_a_batch_of_them(kind):
    module, x = make(kind), tokens(B, T, D_IN)
    context, weights = module(x), module.attention_weights(x)
    heads = () if module.num_heads == 1 else (HEADS,)
    assert context.shape == (B, T, width(kind))
    assert weights.shape == (B, *heads, T, T)
    for b in range(B):
        torch.testing.assert_close(module(x[b]), context[b])
        torch.testing.assert_close(module.attention_weights(x[b]), weights[b])
    assert module(tokens(CONTEXT, D_IN)).shape == (CONTEXT, width(kind))  # as many as it may read


@every
def test_autocast_may_mix_dtypes(kind):
    module, x = make(kind), tokens(T, D_IN)
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        mixed = module(x.bfloat16())
    torch.testing.assert_close(mixed.float(), module(x).detach(), rtol=0.05, atol=0.05)


@every
def test_autocast_neither_converts_float64_nor_moves_tokens(kind):
    module, x = make(kind), tokens(T, D_IN)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with pytest.raises(ValueError, match=r"x must be torch.float32 on cpu.* got torch.float64"):
            module(x.double())
        with pytest.raises(ValueError, match=r"on meta, as the weights are, got .* on cpu"):
            make(kind).to("meta")(x)
        with pytest.raises(ValueError, match=r"x must be torch.float64 .* got torch.float32"):
            module.double()(x)


# formats, devices, compilers


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 0.05), (torch.float16, 0.01)])
@pytest.mark.parametrize("device", DEVICES)
@every
def test_works_in_every_precision_and_place(kind, device, dtype, tolerance):
    exact, x = make(kind).double(), tokens(B, T, D_IN).double()
    module = copy.deepcopy(exact).to(device, dtype)
    for name in ("forward", "attention_weights"):
        rough = getattr(module, name)(x.to(device, dtype))
        assert (rough.dtype, rough.device.type) == (dtype, device)
        expected = getattr(exact, name)(x)
        torch.testing.assert_close(rough.cpu().double(), expected, atol=tolerance, rtol=tolerance)
    module(x.to(device, dtype)).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())


@call
@every
def test_compiles_in_one_piece(kind, call):
    module = make(kind)
    method = getattr(module, call)
    compiled = torch.compile(method, backend="eager", fullgraph=True)
    for length in (T, T + 1):
        x = tokens(B, length, D_IN)
        torch.testing.assert_close(compiled(x), method(x))


@every
def test_exports_for_one_length_and_for_every_length(kind):
    module, x = make(kind), tokens(B, T, D_IN)
    torch.testing.assert_close(torch.export.export(module, (x,)).module()(x), module(x))
    lengths = {0: Dim("B"), 1: Dim("T", max=CONTEXT)}
    exported = torch.export.export(module, (x,), dynamic_shapes=(lengths,))
    for batch, length in ((1, 2), (3, D_OUT // HEADS), (5, CONTEXT)):
        x = tokens(batch, length, D_IN)
        torch.testing.assert_close(exported.module()(x), module(x))


@every
def test_copied_and_pickled_it_is_the_same(kind):
    module, x = make(kind), tokens(B, T, D_IN)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert_same_function(other, module, x)
        with pytest.raises(ValueError, match="the last dimension of x must be d_in=7, got 8"):
            other(tokens(T, D_IN + 1))


def checks_during(call: Callable[[], object]) -> list[str]:
    """Return the names of the checks that run during a call, in their order."""
    names = []

    def note(frame, event, argument):
        name = frame.f_code.co_name.lstrip("_")
        if event == "call" and name.startswith("check_"):
            names.append(name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


@call
@every
def test_what_comes_in_is_checked_once_and_after_an_error_again(kind, call):
    method, x = getattr(make(kind), call), tokens(B, T, D_IN)
    once = ["check_input", "check_tensor", "check_dtype"]
    assert checks_during(lambda: method(x)) == once
    with pytest.raises(ValueError, match="the last dimension of x must be d_in=7, got 8"):
        method(tokens(T, D_IN + 1))
    assert checks_during(lambda: method(x)) == once


# weights that come from elsewhere


QKV = ["W_query", "W_key", "W_value"]
SAVED = {
    "v1": QKV,
    "v2": [f"{name}.weight" for name in QKV],
    "causal": [f"{name}.weight" for name in QKV],
    "wrapper": [f"heads.{h}.{name}.weight" for h in range(HEADS) for name in QKV],
    "split": [*(f"{name}.weight" for name in QKV), "out_proj.weight", "out_proj.bias"],
    "fused": ["W_qkv.weight", "out_proj.weight", "out_proj.bias"],
}


@every
def test_only_the_projections_are_saved_and_they_suffice(kind):
    module, x = make(kind), tokens(B, T, D_IN)
    assert list(module.state_dict()) == SAVED[kind]
    torch.manual_seed(9)
    cls, options = CLASSES[kind]
    changes = {name: 2 * value for name, value in options.items() if name == "context_length"}
    other = cls(D_IN, D_OUT, **options | changes)
    assert not torch.equal(other(x), module(x))
    other.load_state_dict(module.state_dict())
    assert_same_function(other, module, x)


@pytest.mark.parametrize("assign", [False, True])
@every
def test_made_on_the_meta_device_and_then_filled_it_is_the_same(kind, assign):
    """What lay in memory before, or lies nowhere yet, must not decide what a token sees."""
    module, x = make(kind), tokens(T, D_IN)
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
def test_loads_what_the_chapters_classes_saved(kind):
    """They save their mask, (context_length, context_length), beside the projections."""
    inner, x = make(kind), tokens(B, T, D_IN)
    model, other = nn.Sequential(nn.Linear(3, D_IN), inner), nn.Sequential(nn.Linear(3, D_IN))
    other.append(make(kind, context_length=CONTEXT + 1))
    saved = dict(model.state_dict())
    places = [f"1.heads.{h}." for h in range(HEADS)] if kind == "wrapper" else ["1."]
    saved |= {f"{place}mask": torch.ones(CONTEXT, CONTEXT).triu(1) for place in places}
    names = list(saved)
    other.load_state_dict(saved)
    assert_same_function(other[1], inner, x)
    assert list(saved) == names
    with pytest.raises(RuntimeError, match=r'Unexpected key.* "1\.bias"'):
        other.load_state_dict(saved | {"1.bias": torch.ones(3)})


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


def replace_layers(module: nn.Module, new: Callable[[nn.Linear], nn.Module]) -> nn.Module:
    """Put ``new(layer)`` in the place of every linear layer."""
    for name, child in list(module.named_children()):
        if isinstance(child, nn.Linear):
            setattr(module, name, new(child))
        else:
            replace_layers(child, new)
    return module


@pytest.mark.parametrize("new", [LowRank, nn.Sequential], ids=lambda new: new.__name__)
@with_layers
def test_every_projection_may_be_replaced(kind, new):
    module, x = make(kind), tokens(B, T, D_IN)
    replaced = replace_layers(copy.deepcopy(module), new)
    for layer in replaced.modules():
        if isinstance(layer, LowRank):
            nn.init.zeros_(layer.up.weight)  # no change yet
    assert_same_function(replaced, module, x)
    for other in (x.double(), x.to("meta")):
        message = f"x must be torch.float32 on cpu.* got {other.dtype} on {other.device}"
        with pytest.raises(ValueError, match=message):
            replaced(other)


@with_layers
def test_a_projection_may_keep_a_part_in_another_precision(kind):
    x = tokens(B, T, D_IN).bfloat16()

    def mixed(layer: nn.Linear) -> nn.Module:
        return LowRank(layer.bfloat16())

    assert replace_layers(make(kind), mixed)(x).isfinite().all()


class Packed(nn.Module):
    """A layer that shows neither parameters nor a ``weight``, as quantized ones do."""

    def __init__(self, layer: nn.Linear):
        super().__init__()
        self.packed = [layer]  # in a list, where nn.Module does not find it

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.packed[0](x)


@with_layers
def test_without_parameters_there_is_no_dtype_to_compare_with(kind):
    module, x = make(kind), tokens(B, T, D_IN)
    packed = replace_layers(copy.deepcopy(module), Packed)
    assert not list(packed.parameters())
    assert_same_function(packed, module, x)
