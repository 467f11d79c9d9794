"""The explorer of positions shows what the package computes, and says what is true."""

import pytest
import torch

from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.positions import (
    ALIBI,
    LEARNED,
    LINEAR,
    NONE,
    ROTARY,
    SINUSOIDS,
    positions_explorer,
)
from chapter3_helpers.positions import (
    LearnedPositions,
    alibi_bias,
    apply_rotary,
    linear_bias,
    rotary_frequencies,
)
from chapter3_helpers.sentence import embed_text
from chapter3_helpers.trainable_qkv import SelfAttention_v1
from tests.explorers import Shown

WAYS = (NONE, LEARNED, SINUSOIDS, LINEAR, ALIBI, ROTARY)
every_scheme = pytest.mark.parametrize("scheme", WAYS)


@every_scheme
def test_the_weights_are_those_of_the_lessons_functions(scheme):
    """Six tokens from position 7 on, in the third of four heads, later ones hidden."""
    asked = {"start": 7, "theta": 100.0, "num_heads": 4, "head": 2, "causal": True, "seed": 5}
    shown = Shown("positions", scheme=scheme, **asked)
    torch.manual_seed(5)
    attention = SelfAttention_v1(4, 4)
    torch.manual_seed(5)
    tables = {
        LEARNED: 10 * LearnedPositions(512, 4).weight,
        SINUSOIDS: torch.view_as_real(rotary_frequencies(4, 512)).flatten(start_dim=1),
    }
    _, x = embed_text(shown.settings["text"], d_in=4)
    x = x + tables.get(scheme, torch.zeros(512, 4))[7:13]
    projected = x @ attention.W_query, x @ attention.W_key
    if scheme == ROTARY:
        turns = rotary_frequencies(4, 512, 100.0)[7:13]
        projected = (apply_rotary(numbers, turns) for numbers in projected)
    queries, keys = projected
    bias = {LINEAR: linear_bias(6), ALIBI: alibi_bias(4, 6)[2]}.get(scheme, 0.0)
    scores = (queries @ keys.T / 2 + bias).masked_fill(torch.ones(6, 6).triu(1) > 0, -torch.inf)
    torch.testing.assert_close(shown.state.weights, torch.softmax(scores, dim=-1))


@every_scheme
def test_the_swap_is_the_other_sentence(scheme):
    """The row after the swap is that of the sentence typed the other way, back in its order."""
    shown = Shown("positions", scheme=scheme)
    other = Shown("positions", scheme=scheme, text="the bread cooked the oven so").state
    expected = other.weights[-1][[0, 4, 2, 3, 1, 5]]
    torch.testing.assert_close(shown.state.swapped, expected, rtol=1e-4, atol=1e-6)
    same = torch.allclose(shown.state.swapped, shown.state.weights[-1], atol=1e-5)
    assert same == (scheme == NONE)
    told = "changes nothing for “so”" if scheme == NONE else "changes a weight of “so”"
    assert told in shown.note


@every_scheme
def test_only_what_is_added_to_tokens_minds_where_the_sentence_stands(scheme):
    shown = Shown("positions", scheme=scheme, start=200)
    at_home, moved = shown.state.curves[0], shown.state.curves[200]
    added = scheme in (LEARNED, SINUSOIDS)
    assert torch.allclose(at_home, moved, atol=1e-3) != added
    assert torch.allclose(shown.state.weights, shown.state.unmoved, atol=1e-4) != added
    assert ("by 200 changes a weight by" in shown.note) == added
    assert ("by 200 changes nothing" in shown.note) != added


@every_scheme
def test_the_curve_goes_through_the_scores_of_the_sentence(scheme):
    """ "so" stands 4 places after "oven": distance -4, in the sentence and on the curve."""
    shown = Shown("positions", scheme=scheme, head=2)
    curve = shown.state.curves[0]
    assert shown.only(Curves).x[8] == -4
    if scheme == NONE:
        assert (curve == curve[0]).all()
    if scheme in (LINEAR, ALIBI):
        slope = 1.0 if scheme == LINEAR else 2.0**-3
        torch.testing.assert_close(curve[12] - curve[8], torch.tensor(4 * slope))
        torch.testing.assert_close(curve, curve.flip(0))
    if scheme == ROTARY:  # the same keys and queries one position apart, whose order matters
        assert not torch.allclose(curve, curve.flip(0), atol=1e-2)


def test_every_word_but_the_last_which_is_watched_can_be_swapped():
    explorer = positions_explorer(text="one two three")
    for name in ("first", "second"):
        assert [value for _, value in explorer.widgets[name].options] == [0, 1]
    explorer.set(text="alone")
    assert "Nothing is swapped" in explorer.view.value
