"""What a notebook shows of the package is what runs, less its docstrings and checks."""

import sys

import pytest
import torch

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.dropout import cpu_dropout_generator
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.positions import LearnedPositions
from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder
from chapter3_helpers.show_source import show_source
from chapter3_helpers.softmax import softmax, softmax_naive
from chapter3_helpers.trainable_qkv import SelfAttention_v1, SelfAttention_v2


def pasted(thing):
    """Run what is shown of a class or function where it was written, as a reader would."""
    names = dict(vars(sys.modules[thing.__module__]))
    exec(str(show_source(thing)), names)
    return names[thing.__name__]


@pytest.mark.parametrize(
    ("module", "sizes"),
    [
        (SelfAttention_v1, (3, 2)),
        (SelfAttention_v2, (3, 2)),
        (CausalAttention, (3, 2, 7, 0.5)),
        (MultiHeadAttentionWrapper, (3, 2, 7, 0.5, 5)),
        (MultiHeadAttention, (3, 10, 7, 0.5, 5)),
        (FusedMultiHeadAttention, (3, 10, 7, 0.5, 5)),
    ],
)
def test_what_is_shown_computes_the_same(module, sizes):
    outputs = []
    for make in (module, pasted(module)):
        torch.manual_seed(123)
        outputs.append(make(*sizes)(torch.rand(4, 7, 3)))
    assert torch.equal(*outputs)


def test_checks_and_docstrings_are_left_out():
    for thing in (SelfAttention_v2, CausalAttention, FusedMultiHeadAttention, EncoderDecoder):
        source = str(show_source(thing))
        for left_out in ("check", "raise", '"""', "\n\n\n", ":\n\n"):
            assert left_out not in source
    assert "extra_repr" not in str(show_source(LearnedPositions))


def test_a_raise_that_is_no_check_stays():
    assert "raise RuntimeError" in str(show_source(cpu_dropout_generator))


def marked(thing, compared_with):
    lines = str(show_source(thing, compared_with)).splitlines()
    return [line.removesuffix("  # new").strip() for line in lines if line.endswith("  # new")]


def test_new_lines_are_marked():
    assert marked(softmax, softmax_naive) == [
        "exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True))"
    ]
    assert marked(CausalAttention, SelfAttention_v2) == [
        "self.d_in, self.d_out, self.context_length = d_in, d_out, context_length",
        "self.dropout = nn.Dropout(dropout)",
        "weights = self.dropout(self.attention_weights(x))",
        "return weights @ self.W_value(x)  # (..., T, T) @ (..., T, d_out)",
        "scores = mask_scores(queries @ keys.transpose(-2, -1))  # (..., T, T)",
    ]
    assert "def look_and_decode(self, letters: torch.Tensor)" in " ".join(
        marked(BahdanauDecoder, EncoderDecoder)
    )
    assert marked(softmax, softmax) == []


def test_built_in_functions_are_refused():
    for arguments in ((len,), (softmax, len)):
        with pytest.raises(TypeError, match="must be a class or function with source, got <built"):
            show_source(*arguments)
