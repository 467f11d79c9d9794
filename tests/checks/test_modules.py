"""What holds for every attention module, whatever it computes inside."""

import pytest
import torch

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper

T, D_IN, CONTEXT = 5, 7, 11  # no two alike
CAUSAL = {
    "causal": lambda: CausalAttention(D_IN, 3, CONTEXT, 0.0),
    "wrapper": lambda: MultiHeadAttentionWrapper(D_IN, 3, CONTEXT, 0.0, 2),
    "split": lambda: MultiHeadAttention(D_IN, 6, CONTEXT, 0.0, 2),
    "fused": lambda: FusedMultiHeadAttention(D_IN, 6, CONTEXT, 0.0, 2),
}


@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("make", CAUSAL.values(), ids=CAUSAL)
def test_made_on_the_meta_device_and_then_filled_it_is_the_same(make, assign):
    """What lay in memory before, or lies nowhere yet, must not decide what a token sees."""
    module, x = make(), torch.rand(T, D_IN)
    with torch.device("meta"):
        filled = make()
    if not assign:
        filled.to_empty(device="cpu")
        for tensor in (*filled.parameters(), *filled.buffers()):
            tensor.detach().zero_()  # as memory often is
    filled.load_state_dict(module.state_dict(), assign=assign)
    assert torch.equal(filled(x), module(x))
    assert torch.equal(filled.attention_weights(x), module.attention_weights(x))
