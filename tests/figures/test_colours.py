"""Numbers can be read on every colour, and more is always darker."""

import re
from itertools import combinations

import numpy as np
import pytest

from chapter3_helpers._figures.colours import (
    CELL_BORDER,
    KEY_COLOUR,
    QUERY_COLOUR,
    SIGNED_COLOURS,
    VALUE_COLOUR,
    WEIGHT_COLOURS,
    ink,
    shade,
)
from chapter3_helpers.explorers.core.style import LEVELS, STYLE

RULES = re.findall(r"td\.([ws])(\d+)\{background:(#\w{6});color:(#\w{6})\}", STYLE)


def linear(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def luminance(colour):
    """Relative luminance, as WCAG defines it."""
    return np.dot([0.2126, 0.7152, 0.0722], linear(colour))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


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


def test_every_cell_has_a_border_that_shows_on_a_light_and_on_a_dark_page():
    assert min(contrast(CELL_BORDER, page) for page in ("#ffffff", "#111111")) > 2
    assert f"--cell-border:{CELL_BORDER}" in STYLE
    for table, rule in (("c3m", "border: 1px solid "), ("c3h", "box-shadow: inset 0 0 0 .5px ")):
        assert re.search(rf"\.{table} td \{{[^}}]*{re.escape(rule)}var\(--cell-border\)", STYLE)


# What a colour looks like to readers without one kind of cones: Machado, Oliveira and Fernandes,
# 2009, on linear red, green and blue.
SEEN_BY = {
    "all": np.eye(3),
    "protanopes": [
        *([0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216]),
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopes": [
        *([0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413]),
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopes": [
        *([1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602]),
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array(  # of linear red, green and blue, as shares of white
    [[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722], [0.0177, 0.1095, 0.8728]]
)


def lab(colour, reader):
    """The place of a colour in CIE L*a*b*, where distances are differences as they are seen."""
    x, y, z = np.cbrt(TO_XYZ @ np.clip(np.array(SEEN_BY[reader]) @ linear(colour), 0, 1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("reader", SEEN_BY)
def test_queries_keys_and_values_differ_for_every_reader_and_show_on_every_page(reader):
    colours = (QUERY_COLOUR, KEY_COLOUR, VALUE_COLOUR)
    for one, other in combinations(colours, 2):
        assert np.linalg.norm(lab(one, reader) - lab(other, reader)) > 15
    assert min(contrast(c, page) for c in colours for page in ("#ffffff", "#111111")) > 3
