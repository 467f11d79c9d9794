"""The colours that figures and explorers share, and names of axes; they need NumPy alone.

A scale is a row of anchors, evenly spaced from 0 to 1, with straight lines between them. Figures
make a matplotlib map of it; diagrams and explorers take one of its ``LEVELS`` for each number.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from chapter3_helpers._figures.arrays import farthest_from_zero
from chapter3_helpers._language import say

QUERY_LABEL = say("query (attending)")
KEY_LABEL = say("key (attended to)")

# From white (0) to one dark hue (1). Lightness (CIE L*) falls by equal steps, so that twice the
# difference looks like twice the difference, also to readers who see no colours.
WEIGHT_COLOURS = ("#ffffff", "#c4bdf9", "#8e7fda", "#5b4a9d", "#2a214c")
# For scores and other signed numbers: ColorBrewer's RdBu, blue below zero, white at it, red above.
SIGNED_COLOURS = (
    *("#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#ffffff"),
    *("#fddbc7", "#f4a582", "#d6604d", "#b2182b", "#67001f"),
)
LINE_COLOURS = ("#2a7fba", "#d9622b", "#3a9b5c", "#9467bd")  # legible on light and dark
CELL_BORDER = "#b0b0b0"  # shows a white cell on a white page, and a dark one on a dark page

# One colour each for the whole series: far apart for colour-blind readers too (Okabe and Ito),
# and dark enough for a white page, light enough for a dark one.
QUERY_COLOUR = "#0072B2"  # blue
KEY_COLOUR = "#D55E00"  # vermilion
VALUE_COLOUR = "#009E73"  # bluish green

LEVELS = 100  # colours a scale is divided into


def levels(
    values: np.ndarray, hide: np.ndarray, signed: bool, limit: float | None = None
) -> np.ndarray:
    """Return the place of every number on its scale, from 0 to ``LEVELS``.

    Weights go from 0 to 1; signed numbers from -``limit`` to ``limit`` (default: the largest of
    them), with zero in the middle.

    >>> levels(np.array([-1.0, 0.0, 0.5]), np.zeros(3, bool), signed=True)
    array([ 0, 50, 75])
    """
    shown = np.where(hide, 0.0, values)
    if signed:
        shown = (shown / (limit or farthest_from_zero(values, hide)) + 1) / 2
    return np.rint(np.clip(shown, 0, 1) * LEVELS).astype(int)


@lru_cache
def palette(colours: tuple[str, ...]) -> np.ndarray:
    """Return the colour of every level of a scale, as #rrggbb.

    >>> palette(("#ffffff", "#2a214c"))[[0, 50, 100]].tolist()
    ['#ffffff', '#9490a6', '#2a214c']
    """
    return np.array([shade(level / LEVELS, colours) for level in range(LEVELS + 1)])


def shade(share: float, colours: Sequence[str]) -> str:
    """Return the colour at a place between 0 and 1 on a scale.

    >>> shade(0.0, WEIGHT_COLOURS), shade(0.125, WEIGHT_COLOURS)
    ('#ffffff', '#e2defc')
    """
    places = np.linspace(0, 1, len(colours))
    parts = [
        np.interp(share, places, anchors) for anchors in zip(*map(_parts, colours), strict=True)
    ]
    return "#" + "".join(f"{round(part):02x}" for part in parts)


def ink(ground: str) -> str:
    """Return black or white, whichever is easier to read on a colour.

    The contrast of WCAG, (lighter + 0.05) / (darker + 0.05), is then at least 4.58 on any colour.

    >>> ink("#ffffff"), ink("#2a214c")
    ('#000000', '#ffffff')
    """
    light = [
        part / 3294.6 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4
        for part in _parts(ground)
    ]
    luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
    return "#000000" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "#ffffff"


def _parts(colour: str) -> list[int]:
    """Return the red, green and blue of a colour, 0 to 255."""
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
