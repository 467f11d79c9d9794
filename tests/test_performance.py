"""Operations are counted as they happen; accelerated layers differ in speed alone."""

import copy
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from chapter3_helpers import performance
from chapter3_helpers.benchmarks.variants import make_variants
from chapter3_helpers.performance import (
    OneDNNLinear,
    Sizes,
    accelerate,
    count_flops,
    cpu_capabilities,
    onednn_is_faster,
    restore,
)
from tools.notebook_files import NOTEBOOKS, code_cells, read

SMALL = Sizes(batch=2, tokens=5, width=21, heads=3)  # head_dim 7
D_IN, D_OUT = 6, 10


def call_of(name):
    return next(variant.call for variant in make_variants(SMALL) if variant.name == name)


@pytest.mark.parametrize("name", ["wrapper", "split", "packed"])
def test_flops_are_those_that_torch_sees(name):
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        call_of(name)(torch.rand(2, 5, 21))
    assert counter.get_total_flops() == sum(count_flops(SMALL, skip_hidden=False).values())


def test_flops_by_hand():
    assert count_flops(SMALL) == {
        "project": 2 * 2 * 5 * 21 * 63,
        "compare": 2 * 2 * 3 * 15 * 7,  # 15 = 1 + 2 + 3 + 4 + 5 visible scores
        "mix": 2 * 2 * 3 * 15 * 7,
        "out_proj": 2 * 2 * 5 * 21 * 21,
    }


def test_the_cells_tiles_are_torchs_attention_where_first_tiles_are_hidden():
    """Under a window the first tiles of later rows are hidden whole."""
    cells = code_cells(read(NOTEBOOKS / "13_performance.ipynb"))
    (source,) = [cell.source for cell in cells if cell.source.startswith("def tile_by_tile(")]
    scope = {"torch": torch}
    exec(source, scope)
    torch.manual_seed(1)
    queries, keys, values = 9 * torch.randn(3, 2, 3, 11, 5)
    ones = torch.ones(11, 11, dtype=torch.bool)
    hidden = ones.triu(1) | ones.tril(-3)  # causal, and of the past only three
    expected = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=~hidden)
    for size in (1, 2, 4, 11, 20):
        got = scope["tile_by_tile"](queries, keys, values, hidden, size)
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


@pytest.fixture
def convolutions(monkeypatch):
    """Have every size on every CPU accelerated; return the inputs of convolutions."""
    seen = []

    def conv2d(x, *arguments, right=functional.conv2d):
        seen.append(x)
        return right(x, *arguments)

    monkeypatch.setattr(performance, "FEWEST_TOKENS", 1)
    monkeypatch.setattr(performance, "FEWEST_MULTIPLICATIONS", 1)
    monkeypatch.setattr(performance, "onednn_is_faster", lambda: True)
    monkeypatch.setattr(functional, "conv2d", conv2d)
    return seen


def layers(bias: bool = True) -> tuple[nn.Linear, nn.Linear]:
    """Make an accelerated layer and its plain twin."""
    torch.manual_seed(3)
    plain = nn.Linear(D_IN, D_OUT, bias=bias)
    return accelerate(copy.deepcopy(plain)), plain


class Scaled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def model() -> nn.Sequential:
    """Make a model with a nested layer, a shared one and one of a class of its own."""
    torch.manual_seed(3)
    shared = nn.Linear(D_IN, D_IN, bias=False)
    return nn.Sequential(nn.Sequential(shared, nn.ReLU()), shared, Scaled(D_IN, D_OUT))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("shape", "pictures"),  # 16 wherever they come out even: fewer are slow on a single thread
    [((D_IN,), 1), ((1, D_IN), 1), ((7, D_IN), 1), ((2, 24, D_IN), 16), ((2, 3, 5, D_IN), 1)],
)
def test_an_accelerated_layer_equals_the_plain_one(convolutions, shape, pictures, bias):
    layer, plain = layers(bias)
    x = torch.randn(shape)
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    got, expected = layer(a), plain(b)
    assert [len(x) for x in convolutions] == [pictures]
    assert got.shape == expected.shape == (*shape[:-1], D_OUT)
    torch.testing.assert_close(got, expected)
    factor = torch.randn_like(expected)
    (got * factor).sum().backward()
    (expected * factor).sum().backward()
    torch.testing.assert_close(a.grad, b.grad)
    for mine, theirs in zip(layer.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_only_the_class_of_a_layer_changes(convolutions):
    """Names, parameters, hooks, the mode and what a reader has added all stay."""
    module, called = model(), []
    shared = module[1]
    shared.register_forward_hook(lambda *_: called.append(True))
    shared.note = "my own"
    module[0].eval()
    before = {name: (layer, dict(vars(layer))) for name, layer in module.named_modules()}
    parameters, keys = list(module.parameters()), list(module.state_dict())
    x = torch.randn(7, D_IN)
    expected = module(x)
    assert accelerate(module) is module
    torch.testing.assert_close(module(x), expected)
    assert (len(convolutions), len(called)) == (2, 4)
    assert module[0][0] is module[1] is shared
    assert type(shared) is OneDNNLinear
    assert type(module[2]) is Scaled  # its forward is its own
    for _ in range(2):  # accelerated, and after that restored
        assert {name: (layer, vars(layer)) for name, layer in module.named_modules()} == before
        assert all(a is b for a, b in zip(module.parameters(), parameters, strict=True))
        assert list(module.state_dict()) == keys
        assert restore(module) is module
    assert type(shared) is nn.Linear
    assert torch.equal(module(x), expected)
    assert len(convolutions) == 2


@pytest.mark.parametrize(
    ("x", "change"),
    [
        (torch.randn(4, 2 * D_IN), nn.Module.float),  # would fit into pictures of twice the pixels
        (torch.randn(4, D_IN), nn.Module.double),
        (torch.randn(4, D_IN).double(), nn.Module.float),
        (torch.randn(4, D_IN), lambda layer: layer.to("meta")),
    ],
)
def test_what_a_plain_layer_refuses_is_refused_in_the_same_words(convolutions, x, change):
    layer, plain = map(change, layers())
    with pytest.raises(RuntimeError) as expected:
        plain(x)
    with pytest.raises(RuntimeError) as got:
        layer(x)
    assert str(got.value) == str(expected.value)


def test_small_inputs_take_the_linear_layer(monkeypatch):
    def refuse(*_):
        raise AssertionError("a convolution")

    monkeypatch.setattr(functional, "conv2d", refuse)
    monkeypatch.setattr(performance, "onednn_is_faster", lambda: True)
    plain = nn.Linear(80, 500).requires_grad_(False)
    layer, x = accelerate(copy.deepcopy(plain)), torch.randn(5000, 80)  # 2 * 10^8 multiplications
    assert torch.equal(layer(x[1:]), plain(x[1:]))
    with pytest.raises(AssertionError, match="a convolution"):
        layer(x)
    monkeypatch.setattr(performance, "FEWEST_MULTIPLICATIONS", 1)
    assert torch.equal(layer(x[:1023]), plain(x[:1023]))
    with pytest.raises(AssertionError, match="a convolution"):
        layer(x[:1024])
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    assert torch.equal(layer(x), plain(x))


@pytest.mark.parametrize(
    ("cpu", "mkl", "onednn", "faster"),
    [
        ({"cpu_name": "AMD EPYC 9B14", "avx512_f": True}, True, True, True),
        ({"cpu_name": "AMD EPYC 9B14", "avx512_f": True}, False, True, False),
        ({"cpu_name": "AMD EPYC 9B14", "avx512_f": True}, True, False, False),
        ({"cpu_name": "AMD EPYC 7763 64-Core Processor", "avx512_f": False}, True, True, False),
        ({"cpu_name": "Intel(R) Xeon(R) Platinum 8480+", "avx512_f": True}, True, True, False),
        ({}, True, True, False),
    ],
)
def test_only_where_it_was_measured_to_be_faster(monkeypatch, cpu, mkl, onednn, faster):
    monkeypatch.setattr(performance, "cpu_capabilities", lambda: cpu)
    backends = SimpleNamespace(
        mkl=SimpleNamespace(is_available=lambda: mkl),
        mkldnn=SimpleNamespace(is_available=lambda: onednn),
    )
    monkeypatch.setattr(torch, "backends", backends)
    assert onednn_is_faster.__wrapped__() is faster
    layer = nn.Linear(3, 2)
    monkeypatch.setattr(performance, "onednn_is_faster", onednn_is_faster.__wrapped__)
    assert type(accelerate(layer)) is (OneDNNLinear if faster else nn.Linear)


def test_a_torch_that_names_no_processor_is_no_error(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert cpu_capabilities() == {}


def test_pictures_need_neither_torch_nor_seaborn():
    heavy = ("torch", "seaborn", "pandas", "ipywidgets")
    code = f"import sys, chapter3_helpers.plots; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (found.stdout.strip(), found.stderr) == ("[]", "")
