"""What every attention module refuses, in one style of message."""

import numpy as np
import pytest
import torch

from chapter3_helpers._checks.tensors import check_square
from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.grouped_query import GroupedQueryAttention
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.trainable_qkv import SelfAttention_v1, SelfAttention_v2

MODULES = {
    "v1": lambda: SelfAttention_v1(6, 10),
    "v2": lambda: SelfAttention_v2(6, 10),
    "causal": lambda: CausalAttention(6, 10, 5, 0.0),
    "wrapper": lambda: MultiHeadAttentionWrapper(6, 5, 5, 0.0, 2),
    "split": lambda: MultiHeadAttention(6, 10, 5, 0.0, 2),
    "fused": lambda: FusedMultiHeadAttention(6, 10, 5, 0.0, 2),
    "grouped": lambda: GroupedQueryAttention(6, 3, 1, max_seq_len=5),
}
BAD_INPUTS = {
    "too long": (torch.rand(6, 6), ValueError, "5"),
    "other width": (torch.rand(5, 7), ValueError, r"last dimension of x must be d_in=6, got 7"),
    "one dimension": (torch.rand(6), ValueError, r"x must have shape .*, got 1 dimension"),
    "four dimensions": (torch.rand(1, 1, 5, 6), ValueError, r"x must have shape .*, got 4"),
    "integers": (torch.ones(5, 6, dtype=torch.long), ValueError, "x must be a floating-point"),
    "no tokens": (torch.rand(0, 6), ValueError, "x must not be empty"),
    "no tensor": ([[1.0] * 6], TypeError, "x must be a torch.Tensor, got list"),
    "other dtype": (
        torch.rand(5, 6, dtype=torch.float64),
        ValueError,
        r"x must be torch\.float32 on cpu, as the weights are, got torch\.float64 on cpu",
    ),
    "other device": (torch.rand(5, 6, device="meta"), ValueError, "got torch.float32 on meta"),
}


@pytest.mark.parametrize("call", ["forward", "attention_weights"])
@pytest.mark.parametrize("bad", BAD_INPUTS)
@pytest.mark.parametrize("name", MODULES)
def test_bad_input_is_named(name, bad, call):
    x, error, message = BAD_INPUTS[bad]
    module = MODULES[name]()
    if bad == "too long" and module.context_length is None:
        assert getattr(module, call)(x).shape[-2] == 6
        return
    with pytest.raises(error, match=message):
        getattr(module, call)(x)


@pytest.mark.parametrize("name", MODULES)
def test_autocast_may_mix_dtypes(name):
    module = MODULES[name]()
    x = torch.rand(5, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        mixed = module(x.bfloat16())
    torch.testing.assert_close(mixed.float(), module(x).detach(), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("name", MODULES)
def test_autocast_does_not_convert_float64(name):
    module = MODULES[name]()
    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        pytest.raises(ValueError, match=r"x must be torch.float32 on cpu.* got torch.float64"),
    ):
        module(torch.rand(5, 6, dtype=torch.float64))


@pytest.mark.parametrize("name", MODULES)
def test_autocast_neither_converts_float64_weights_nor_moves_tokens(name):
    module = MODULES[name]()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with pytest.raises(ValueError, match=r"on meta, as the weights are, got .* on cpu"):
            MODULES[name]().to("meta")(torch.rand(5, 6))
        with pytest.raises(ValueError, match=r"x must be torch.float64 .* got torch.float32"):
            module.double()(torch.rand(5, 6))


def test_numpys_numbers_will_do_for_sizes_and_probabilities():
    attention = CausalAttention(np.int64(3), np.int32(2), 6, np.float32(0.5))
    assert attention(torch.rand(5, 3)).shape == (5, 2)


def test_scores_have_to_be_square():
    with pytest.raises(ValueError, match=r"scores must have shape \(\.\.\., T, T\), got \(2, 3\)"):
        check_square("scores", torch.rand(2, 3))
