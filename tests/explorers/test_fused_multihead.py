"""The explorer of the split deals out what the lesson's class deals out."""

import pytest
import torch

from chapter3_helpers.explorers.fused_multihead import SHARPEN
from chapter3_helpers.fused_multihead import MultiHeadAttention
from chapter3_helpers.sentence import example_inputs
from tests.explorers import Shown

SIZES = {"d_out": 12, "num_heads": 4, "seed": 5}


def test_with_the_transpose_the_weights_are_those_of_the_class():
    torch.manual_seed(5)
    attention = MultiHeadAttention(3, 12, 6, 0.0, 4)
    weights = attention.attention_weights(SHARPEN * example_inputs())
    torch.testing.assert_close(Shown("fused_multihead", **SIZES).state.weights, weights)
    assert weights[:, -1].max() > 0.4, "sharp enough that heads are seen to differ"


@pytest.mark.parametrize("transpose", [True, False])
def test_a_head_has_the_numbers_that_it_is_said_to_own(transpose):
    shown = Shown("fused_multihead", **SIZES, transpose=transpose, head=2)
    state = shown.state
    for head in range(4):
        assert torch.equal(state.queries[state.owners == head], state.heads[0, head].flatten())
    tokens = "“with”, “one”" if not transpose else "3 of the 12 columns"
    assert tokens in shown.note
