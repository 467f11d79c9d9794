"""The explorer of positions shows what the package computes, and says what is true."""

import pytest
import torch

from chapter3_helpers.explorers.positions import (
    ALIBI,
    LEARNED,
    LINEAR,
    NONE,
    ROTARY,
    SINUSOIDS,
    positions_explorer,
)
from tests.explorers import Shown

WAYS = (NONE, LEARNED, SINUSOIDS, LINEAR, ALIBI, ROTARY)
every_scheme = pytest.mark.parametrize("scheme", WAYS)


@every_scheme
def test_the_swap_is_the_other_sentence(scheme):
    """The row after the swap is that of the sentence typed the other way, back in its order."""
    shown = Shown("positions", scheme=scheme)
    other = Shown("positions", scheme=scheme, text="the bread cooked the oven so").state
    expected = other.weights[-1][[0, 4, 2, 3, 1, 5]]
    torch.testing.assert_close(shown.state.after, expected, rtol=1e-4, atol=1e-6)
    same = torch.allclose(shown.state.after, shown.state.before, atol=1e-5)
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
    state = Shown("positions", scheme=scheme, head=2).state
    curve = state.curves[0]
    assert state.distances.tolist()[8] == -4
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
