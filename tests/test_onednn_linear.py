"""The layer that may run as a convolution is ``nn.Linear`` in everything but the library."""

import copy
import pickle
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers import onednn_linear
from chapter3_helpers.onednn_linear import OneDNNLinear, onednn_is_faster
from chapter3_helpers.torch_releases import cpu_name

D_IN, D_OUT = 6, 10


@pytest.fixture
def convolutions(monkeypatch):
    """Take the way over oneDNN for every size on every CPU; return the inputs of convolutions."""
    seen = []

    def conv2d(x, *arguments, right=functional.conv2d):
        seen.append(x)
        return right(x, *arguments)

    monkeypatch.setattr(onednn_linear, "TOKENS", 1)
    monkeypatch.setattr(onednn_linear, "MULTIPLICATIONS", 1)
    monkeypatch.setattr(onednn_linear, "onednn_is_faster", lambda: True)
    monkeypatch.setattr(functional, "conv2d", conv2d)
    return seen


def layers(bias: bool = True) -> tuple[OneDNNLinear, nn.Linear]:
    torch.manual_seed(3)
    layer = OneDNNLinear(D_IN, D_OUT, bias=bias)
    plain = nn.Linear(D_IN, D_OUT, bias=bias)
    plain.load_state_dict(layer.state_dict())
    return layer, plain


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(D_IN,), (1, D_IN), (7, D_IN), (2, 24, D_IN), (2, 3, 5, D_IN)])
def test_equals_the_linear_layer_with_gradients(convolutions, shape, bias):
    layer, plain = layers(bias)
    x = torch.randn(shape)
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    got, expected = layer(a), plain(b)
    assert len(convolutions) == 1
    assert got.shape == expected.shape == (*shape[:-1], D_OUT)
    torch.testing.assert_close(got, expected)
    factor = torch.randn_like(expected)
    (got * factor).sum().backward()
    (expected * factor).sum().backward()
    torch.testing.assert_close(a.grad, b.grad)
    for mine, theirs in zip(layer.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_takes_any_layout_in_memory(convolutions):
    layer, plain = layers()
    for x in (torch.randn(D_IN, 4).T, torch.randn(3, 4, 2 * D_IN)[..., ::2], torch.randn(1, D_IN)):
        torch.testing.assert_close(layer(x), plain(x))
    x = torch.randn(1, D_IN).expand(5, D_IN)
    torch.testing.assert_close(layer(x), plain(x))
    assert len(convolutions) == 4


def test_no_token_hears_of_another(convolutions):
    layer, _ = layers()
    x = torch.randn(2, 9, D_IN)
    changed = x.clone()
    changed[0, 4:] += 1.0
    before, after = layer(x), layer(changed)
    assert torch.equal(before[0, :4], after[0, :4])
    assert torch.equal(before[1], after[1])
    assert not torch.equal(before[0, 4], after[0, 4])
    assert len(convolutions) == 2


@pytest.mark.parametrize("dtypes", [(torch.float64, torch.float32), (torch.float32, torch.float64)])
def test_mixed_dtypes_are_refused_as_ever(convolutions, dtypes):
    layer, plain = (module.to(dtypes[0]) for module in layers())
    x = torch.randn(4, D_IN, dtype=dtypes[1])
    with pytest.raises(RuntimeError) as expected:
        plain(x)
    with pytest.raises(RuntimeError) as got:
        layer(x)
    assert str(got.value) == str(expected.value)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_dtypes_go_their_own_way(convolutions, dtype):
    layer, plain = (module.to(dtype) for module in layers())
    x = torch.randn(4, D_IN, dtype=dtype)
    assert torch.equal(layer(x), plain(x))
    assert convolutions == []


def test_mixed_precision_keeps_its_dtype(convolutions):
    layer, plain = layers()
    x = torch.randn(4, D_IN)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got, expected = layer(x), plain(x)
    assert got.dtype == expected.dtype == torch.bfloat16
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("width", [D_IN - 1, 2 * D_IN, 1])
def test_a_wrong_width_is_refused_as_ever(convolutions, width):
    """Twice the width would fit into a picture of twice as many pixels."""
    layer, plain = layers()
    x = torch.randn(4, width)
    with pytest.raises(RuntimeError) as expected:
        plain(x)
    with pytest.raises(RuntimeError) as got:
        layer(x)
    assert str(got.value) == str(expected.value)


def test_nothing_in_nothing_out(convolutions):
    layer, plain = layers()
    assert layer(torch.empty(0, D_IN)).shape == plain(torch.empty(0, D_IN)).shape == (0, D_OUT)


def test_small_inputs_and_other_processors_take_the_linear_layer(monkeypatch):
    def refuse(*_):
        raise AssertionError("a convolution")

    monkeypatch.setattr(functional, "conv2d", refuse)
    monkeypatch.setattr(onednn_linear, "onednn_is_faster", lambda: True)
    layer, plain = layers()
    rows = onednn_linear.MULTIPLICATIONS // (D_IN * D_OUT)
    x = torch.randn(rows, D_IN)
    assert torch.equal(layer(x), plain(x))
    more = torch.randn(rows + 1, D_IN)
    with pytest.raises(AssertionError, match="a convolution"):
        layer(more)
    monkeypatch.setattr(onednn_linear, "MULTIPLICATIONS", 1)
    few = torch.randn(onednn_linear.TOKENS - 1, D_IN)
    assert torch.equal(layer(few), plain(few))
    with pytest.raises(AssertionError, match="a convolution"):
        layer(torch.randn(onednn_linear.TOKENS, D_IN))
    monkeypatch.setattr(onednn_linear, "onednn_is_faster", lambda: False)
    layer, plain = layers()
    assert torch.equal(layer(more), plain(more))


@pytest.mark.parametrize(
    ("cpu", "mkl", "onednn", "faster"),
    [
        ({"cpu_name": "AMD EPYC 9B14", "avx512_f": True}, True, True, True),
        ({"cpu_name": "AMD EPYC 9B14", "avx512_f": True}, False, True, False),
        ({"cpu_name": "AMD EPYC 9B14", "avx512_f": True}, True, False, False),
        ({"cpu_name": "AMD EPYC 7763 64-Core Processor", "avx512_f": False}, True, True, False),
        ({"cpu_name": "AMD EPYC 7763 64-Core Processor"}, True, True, False),
        ({"cpu_name": "Intel(R) Xeon(R) Platinum 8480+", "avx512_f": True}, True, True, False),
        ({}, True, True, False),
    ],
)
def test_only_where_it_was_measured_to_be_faster(monkeypatch, cpu, mkl, onednn, faster):
    monkeypatch.setattr(onednn_linear, "cpu_capabilities", lambda: cpu)
    backends = SimpleNamespace(
        mkl=SimpleNamespace(is_available=lambda: mkl),
        mkldnn=SimpleNamespace(is_available=lambda: onednn),
    )
    monkeypatch.setattr(torch, "backends", backends)
    assert onednn_is_faster.__wrapped__() is faster


def test_a_torch_that_names_no_processor_is_no_error(monkeypatch):
    assert isinstance(cpu_name(), str)
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert cpu_name() == ""


@pytest.mark.parametrize("dynamic", [None, True])
def test_compiles_as_one_graph(monkeypatch, dynamic):
    monkeypatch.setattr(onednn_linear, "onednn_is_faster", lambda: True)
    monkeypatch.setattr(onednn_linear, "TOKENS", 6)
    monkeypatch.setattr(onednn_linear, "MULTIPLICATIONS", 1)
    layer, plain = layers()
    torch.compiler.reset()
    compiled = torch.compile(layer, backend="eager", fullgraph=True, dynamic=dynamic)
    for tokens in (32, 7, 5):  # 16 pictures, one picture, none
        x = torch.randn(tokens, D_IN)
        torch.testing.assert_close(compiled(x), plain(x))


def test_exports_with_a_batch_of_any_size(convolutions):
    layer, plain = layers()
    sizes = {"x": {0: torch.export.Dim("batch", min=2, max=4096)}}
    exported = torch.export.export(layer, (torch.randn(4, 3, D_IN),), dynamic_shapes=sizes).module()
    x = torch.randn(33, 3, D_IN)
    torch.testing.assert_close(exported(x), plain(x))


def test_a_module_from_another_machine_asks_again(monkeypatch):
    monkeypatch.setattr(onednn_linear, "onednn_is_faster", lambda: True)
    saved = pickle.dumps(layers()[0])
    monkeypatch.setattr(onednn_linear, "onednn_is_faster", lambda: False)
    assert not pickle.loads(saved).onednn


def test_is_a_linear_layer_to_everyone_else(convolutions):
    layer, plain = layers()
    assert isinstance(layer, nn.Linear)
    assert layer.state_dict().keys() == plain.state_dict().keys()
    called = []
    twin = copy.deepcopy(layer)
    twin.register_forward_hook(lambda *_: called.append(True))
    x = torch.randn(3, D_IN)
    torch.testing.assert_close(torch.func.vmap(twin)(x[:, None]), plain(x[:, None]))
    assert len(convolutions) == 1
    assert called == [True]
    torch.manual_seed(1)
    mine = OneDNNLinear(D_IN, D_OUT)
    torch.manual_seed(1)
    assert torch.equal(mine.weight, nn.Linear(D_IN, D_OUT).weight)
