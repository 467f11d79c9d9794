"""Weights carried between implementations: equal outputs, equal gradients, or a clear refusal."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.copy_weights import copy_weights
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.grouped_query import GroupedQueryAttention
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.recurrent import BahdanauDecoder
from chapter3_helpers.trainable_qkv import SelfAttention_v1, SelfAttention_v2
from tests.oracles import tokens

B, T = 2, 11
Make = Callable[..., nn.Module]

# Every maker takes (d_in, H, D, qkv_bias); those of ONE_HEAD ignore H.
ONE_HEAD: dict[str, Make] = {
    "v1": lambda d_in, H, D, bias: SelfAttention_v1(d_in, D),
    "v2": lambda d_in, H, D, bias: SelfAttention_v2(d_in, D, bias),
    "causal": lambda d_in, H, D, bias: CausalAttention(d_in, D, 13, 0.0, bias),
}
SIDE_BY_SIDE: dict[str, Make] = {
    "wrapper": lambda d_in, H, D, bias: MultiHeadAttentionWrapper(d_in, D, 13, 0.0, H, bias)
}
MIXED: dict[str, Make] = {
    "split": lambda d_in, H, D, bias: MultiHeadAttention(d_in, H * D, 13, 0.0, H, bias),
    "fused": lambda d_in, H, D, bias: FusedMultiHeadAttention(d_in, H * D, 13, 0.0, H, bias),
}
TORCH: dict[str, Make] = {
    "torch": lambda d_in, H, D, bias: nn.MultiheadAttention(H * D, H, batch_first=True)
}
ALL = ONE_HEAD | SIDE_BY_SIDE | MIXED | TORCH


def make(kind: str, d_in=7, H=3, D=5, bias=False, seed=0) -> nn.Module:
    torch.manual_seed(seed)
    return ALL[kind](d_in, H, D, bias).double()


def run(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Attend causally; v1 and v2, which see the future, only answer for the last token."""
    if isinstance(module, nn.MultiheadAttention):
        mask = causal_mask(x.shape[-2])
        return module(x, x, x, attn_mask=mask, need_weights=False)[0]
    return module(x)


def sees_the_future(module: nn.Module) -> bool:
    return isinstance(module, SelfAttention_v1 | SelfAttention_v2)


def outcome(module: nn.Module, d_in: int, last_only: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the output and the gradient of a fixed sum of it with respect to the input."""
    x = tokens(B, T, d_in).requires_grad_()
    context = run(module, x)
    context = context[..., -1:, :] if last_only else context
    (context * torch.linspace(-1, 2, context.numel()).view_as(context)).sum().backward()
    return context, x.grad


def assert_same_function(source: nn.Module, target: nn.Module, d_in: int = 7) -> None:
    last_only = sees_the_future(source) != sees_the_future(target)  # who sees all of the tokens
    left, right = (outcome(module, d_in, last_only) for module in (source, target))
    torch.testing.assert_close(left, right)


def state(module: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in module.state_dict().items()}


def refuses(error: type[Exception], message: str, source: nn.Module, target: nn.Module) -> None:
    """Check that a copy is refused and that neither side changed."""
    modules = [module for module in (source, target) if isinstance(module, nn.Module)]
    before = [state(module) for module in modules]
    with pytest.raises(error, match=message):
        copy_weights(source, target)
    torch.testing.assert_close(
        [state(module) for module in modules], before, rtol=0, atol=0, equal_nan=True
    )


SEVERAL = [*SIDE_BY_SIDE, *MIXED]
TO_TORCH = {"d_in": 15}  # as wide as its output is
EXACT = [  # source, target, sizes
    *((source, target, {}) for source in SEVERAL for target in MIXED),
    ("wrapper", "wrapper", {}),
    *((source, target, {}) for source in ONE_HEAD for target in ONE_HEAD),
    *((one, many, {"d_in": 5, "H": 1}) for one in [*ONE_HEAD, "wrapper"] for many in SEVERAL),
    *((one, "torch", {"d_in": 5, "H": 1}) for one in [*ONE_HEAD, "wrapper"]),
    *((ours, "torch", TO_TORCH) for ours in SEVERAL),
    *(("torch", ours, TO_TORCH) for ours in MIXED),
]


@pytest.mark.parametrize(("source", "target", "sizes"), EXACT)
@pytest.mark.parametrize("bias", [False, True])
def test_a_copy_is_the_same_function(source, target, sizes, bias):
    left = make(source, **sizes, bias=bias and target != "v1")  # v1 has no place for a bias
    right = make(target, **sizes, bias=bias or source == "torch", seed=9)
    with torch.no_grad():
        for module in (left, right):  # of the target, it must become the source's, or zero
            if isinstance(module, nn.MultiheadAttention):
                module.in_proj_bias.copy_((bias or module is right) * tokens(3 * module.embed_dim))
                module.out_proj.bias.copy_(tokens(module.embed_dim))
    with pytest.raises(AssertionError):
        assert_same_function(left, right, sizes.get("d_in", 7))
    copy_weights(left, right)
    assert_same_function(left, right, sizes.get("d_in", 7))


def test_torchs_own_without_bias():
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(15, 3, bias=False, batch_first=True).double()
    ours = make("split", d_in=15, bias=True, seed=9)
    refuses(ValueError, "target must have a bias for query, since", ours, theirs)
    copy_weights(theirs, ours)  # our biases, out_proj's too, become zero
    assert_same_function(theirs, ours, 15)
    with torch.no_grad():
        ours.out_proj.bias[4] = -0.25
    refuses(ValueError, "a bias for out_proj, since that of source reaches 0.25", ours, theirs)


def test_to_the_wrapper_only_where_exact():
    message = "source must have an out_proj that is the identity with zero bias.* by up to"
    for kind in ("split", "fused"):
        source, wrapper = make(kind, bias=True), make("wrapper", bias=True, seed=9)
        source.requires_grad_(False)
        source.out_proj.weight.copy_(torch.eye(15))
        refuses(ValueError, message, source, wrapper)  # it has a bias
        source.out_proj.bias.zero_()
        copy_weights(source, wrapper)
        assert_same_function(source, wrapper)
        source.out_proj.weight[2, 1] = 0.125
        refuses(ValueError, f"{message} 0.125", source, wrapper)


def test_bias_that_the_target_cannot_hold():
    for which, name in enumerate(("query", "key", "value")):
        theirs, ours = make("torch"), make("split", d_in=15)
        with torch.no_grad():
            theirs.in_proj_bias.zero_()
            theirs.in_proj_bias[15 * which + 3] = 0.5
        message = f"target must have a bias for {name}, since that of source reaches 0.5, got none"
        refuses(ValueError, message, theirs, ours)
    refuses(ValueError, "target must have a bias for query", make("v2", bias=True), make("v1"))
    biased = make("causal", bias=True)
    with torch.no_grad():
        for layer in (biased.W_query, biased.W_key, biased.W_value):
            layer.bias.zero_()
    copy_weights(biased, make("v1"))  # a bias of zero is none


@pytest.mark.parametrize(
    ("target", "change", "found"),
    [
        ("split", {"d_in": 6}, "d_in=6, num_heads=3 and head_dim=5"),
        ("fused", {"H": 5, "D": 3}, "d_in=7, num_heads=5 and head_dim=3"),  # of the same shape!
        ("wrapper", {"D": 2}, "d_in=7, num_heads=3 and head_dim=2"),
        ("causal", {}, "d_in=7, num_heads=1 and head_dim=5"),
        ("torch", {}, "d_in=15, num_heads=3 and head_dim=5"),
    ],
)
def test_sizes_that_do_not_fit(target, change, found):
    message = f"target must have d_in=7, num_heads=3 and head_dim=5 as source has, got {found}"
    refuses(ValueError, message, make("split"), make(target, **change))


AN_ATTENTION = "be a module with W_query, W_key and W_value, .* an nn.ModuleList of .*, got "
NO_MORE = (
    "have kdim and vdim equal to embed_dim=15 and neither add_bias_kv nor add_zero_attn.* got "
)


def torchs(**options) -> nn.Module:
    return nn.MultiheadAttention(15, 3, **options).double()


class Linear(nn.Sequential):
    """A layer as adapters and quantisation put in, whose class is often called Linear as well."""


class MultiheadAttention(nn.Module):
    """Another library's, with a name that is known."""


def replaced(name: str) -> nn.Module:
    module = make("split", seed=9)
    setattr(module, name, Linear(getattr(module, name)))
    return module


def in_a_list() -> nn.Module:
    """Heads that torch cannot see."""
    module = nn.Module()
    module.heads = [make("causal") for _ in range(3)]
    return module


def wide_keys() -> nn.Module:
    module = make("split", seed=9)
    module.W_key = nn.Linear(7, 21).double()
    return module


@pytest.mark.parametrize(
    ("strange", "words"),
    [
        (nn.Linear(7, 15), rf"{AN_ATTENTION}torch\..*\.Linear$"),
        (BahdanauDecoder(16), f"{AN_ATTENTION}.*BahdanauDecoder"),  # it has no W_value
        (MultiheadAttention(), f"{AN_ATTENTION}{__name__}.MultiheadAttention$"),
        (in_a_list(), f"{AN_ATTENTION}torch.nn.modules.module.Module$"),
        (wide_keys(), "have key heads that its 3 query heads can share, got 21 numbers"),
        (MultiHeadAttention, f"{AN_ATTENTION}the class MultiHeadAttention itself, not a module"),
        (torchs(kdim=4, vdim=6), f"{NO_MORE}kdim=4, vdim=6, add_bias_kv=False and add_zero_attn=F"),
        (torchs(add_bias_kv=True), f"{NO_MORE}kdim=15, vdim=15, add_bias_kv=True and add_zero_a"),
        (replaced("W_query"), rf"have torch\.nn\.Linear .*, got {__name__}\.Linear\. Copy before"),
    ],
)
def test_what_is_no_known_module_is_refused_on_either_side(strange, words):
    error, ours = TypeError if AN_ATTENTION in words else ValueError, make("split")
    refuses(error, f"source must {words}", strange, ours)
    refuses(error, f"target must {words}", ours, strange)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_target_keeps_its_parameters_and_their_precision(dtype):
    source, target = make("wrapper"), make("split", seed=9).to(dtype)
    target.W_key.weight.requires_grad_(False)
    ids = [id(parameter) for parameter in target.parameters()]
    copy_weights(source, target)
    assert [id(parameter) for parameter in target.parameters()] == ids
    assert all(p.dtype == dtype and p.grad_fn is None for p in target.parameters())
    assert [p.requires_grad for p in target.parameters()] == [True, False, True, True, True]
    query = torch.cat([head.W_query.weight for head in source.heads])
    assert torch.equal(target.W_query.weight, query.to(dtype))


@pytest.mark.parametrize("kind", ALL)
def test_source_stays_as_it_is_and_shares_nothing(kind):
    source, target = make(kind, d_in=15), make(kind, d_in=15, seed=9)
    before = state(source)
    copy_weights(source, target)
    copy_weights(source, source)
    with torch.no_grad():
        for parameter in target.parameters():
            parameter.add_(1.0)
    assert all(torch.equal(value, before[name]) for name, value in source.state_dict().items())


def compiled(module):
    return torch.compile(module, backend="eager")


@pytest.mark.parametrize("kind", [*MIXED, *TORCH])
def test_compiled_modules_and_layers_are_seen_through(kind):
    source, target = make(kind, d_in=15), make(kind, d_in=15, seed=9)
    expected = state(source)
    if kind == "split":
        source.W_key, target.W_query = compiled(source.W_key), compiled(target.W_query)
    copy_weights(compiled(source), compiled(target))
    found = {name.replace("._orig_mod", ""): value for name, value in state(target).items()}
    torch.testing.assert_close(found, expected)


def grouped(num_kv_heads, rotary=False, theta=10000.0):
    torch.manual_seed(11)
    return GroupedQueryAttention(
        12, 6, num_kv_heads, context_length=7, theta=theta, rotary=rotary
    ).double()


@pytest.mark.parametrize("kind", [MultiHeadAttention, FusedMultiHeadAttention])
@pytest.mark.parametrize("num_kv_heads", [1, 2, 3, 6])
def test_heads_that_share_keys_are_written_out_and_shared_again(kind, num_kv_heads):
    source, target = grouped(num_kv_heads), kind(12, 12, 7, 0.0, 6).double()
    x = torch.rand(2, 5, 12, dtype=torch.float64)
    copy_weights(source, target)
    torch.testing.assert_close(target(x), source(x))
    again = grouped(num_kv_heads)
    torch.nn.init.zeros_(again.W_key.weight)
    copy_weights(target, again)  # exact, since the heads of a group agree
    torch.testing.assert_close(again(x), source(x))


def test_heads_that_differ_cannot_share_keys():
    source, target = MultiHeadAttention(12, 12, 7, 0.0, 6).double(), grouped(2)
    message = "source must have equal weights where target shares one between heads.* got key"
    refuses(ValueError, message, source, target)


def test_rotary_positions_must_agree():
    source = MultiHeadAttention(12, 12, 7, 0.0, 6).double()
    with pytest.raises(ValueError, match=r"head_dim=2 as source has, got .*theta=10000"):
        copy_weights(source, grouped(6, rotary=True))
    with pytest.raises(ValueError, match=r"theta=10000\.0 as source has, got .*theta=500\.0"):
        copy_weights(grouped(2, rotary=True), grouped(2, rotary=True, theta=500.0))
    copy_weights(grouped(2, rotary=True, theta=10000), grouped(2, rotary=True, theta=10000.0))


def test_a_target_that_computes_its_weights_is_refused():
    source = MultiHeadAttention(12, 12, 7, 0.0, 6)
    target = MultiHeadAttention(12, 12, 7, 0.0, 6)
    nn.utils.parametrizations.weight_norm(target.W_value)
    refuses(ValueError, "target must keep its weights as parameters, got one", source, target)
    copy_weights(target, source)  # as a source it will do
    x = torch.rand(5, 12)
    torch.testing.assert_close(source.eval()(x), target.eval()(x))


@pytest.mark.parametrize("kind", ALL)
def test_weights_that_lie_nowhere_are_refused(kind):
    here, nowhere = make(kind, d_in=15), make(kind, d_in=15).to("meta")
    message = "must have its weights in memory, got them on the meta device"
    with pytest.raises(ValueError, match=f"target {message}"):
        copy_weights(here, nowhere)
    with pytest.raises(ValueError, match=f"source {message}"):
        copy_weights(nowhere, here)


def test_shared_keys_may_hold_what_is_not_a_number():
    source, target = grouped(2), grouped(2)
    with torch.no_grad():
        source.W_key.weight[0, 0] = torch.nan
    copy_weights(source, target)
    assert target.W_key.weight.isnan().nonzero().tolist() == [[0, 0]]


def test_projections_that_share_a_matrix_take_no_two():
    source, tied = (MultiHeadAttention(12, 12, 7, 0.0, 6) for _ in range(2))
    tied.W_value = tied.W_key
    refuses(ValueError, "several of its projections share", source, tied)
    source.W_value = source.W_key
    copy_weights(source, tied)
    assert tied.W_key.weight.equal(source.W_key.weight)
