"""Numbers can be read on every colour, and more is always darker."""

import re

import numpy as np
import pytest

from chapter3_helpers._figures.colours import LEVELS, SIGNED_COLOURS, WEIGHT_COLOURS, ink, shade
from chapter3_helpers.explorers.core.style import STYLE
from tests.figures import contrast, luminance

RULES = re.findall(r"td\.([ws])(\d+)\{background:(#\w{6});color:(#\w{6})\}", STYLE)


@pytest.mark.parametrize("prefix", ["w", "s"])
def test_every_level_of_an_explorer_is_in_contrast_with_its_number(prefix):
    levels = {int(level): pair for kind, level, *pair in RULES if kind == prefix}
    assert list(levels) == list(range(LEVELS + 1))
    assert min(contrast(*pair) for pair in levels.values()) >= 4.5


@pytest.mark.parametrize("colours", [WEIGHT_COLOURS, SIGNED_COLOURS])
def test_every_level_of_a_figure_is_in_contrast_with_its_number(colours):
    grounds = [shade(k / 1000, colours) for k in range(1001)]
    assert min(contrast(ground, ink(ground)) for ground in grounds) >= 4.5


def test_weights_go_from_white_to_dark_by_equal_steps_of_lightness():
    lightness = [116 * luminance(shade(k / 20, WEIGHT_COLOURS)) ** (1 / 3) - 16 for k in range(21)]
    assert lightness[0] == pytest.approx(100)
    np.testing.assert_allclose(np.diff(lightness), -84 / 20, atol=0.5)


def test_signed_numbers_are_white_at_zero_and_darker_on_either_side():
    for side in (-1, 1):
        found = [luminance(shade(0.5 + side * k / 100, SIGNED_COLOURS)) for k in range(51)]
        assert found[0] == pytest.approx(1)
        assert found == sorted(found, reverse=True)
