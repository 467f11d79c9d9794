"""What is drawn, in pixels: the texts, lines, boxes and cells of a diagram.

Colours are either a tone, such as ``ink``, or the ``#rrggbb`` of a number.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from chapter3_helpers.diagrams.core.parts import Block, Plane

Point = tuple[float, float]
# tone -> its colour in a picture, and live, where it has to be seen on light and on dark
TONES = {
    "ink": ("#1a1a1a", "var(--jp-content-font-color1,#222)"),
    "soft": ("#595959", "var(--jp-content-font-color2,#555)"),
    "faint": ("#9a9a9a", "#888"),
    "line": ("#4d4d4d", "#7d7d7d"),  # not seen through, since lines share stretches
    "lit": ("#b06f00", "#c07a00"),
    "highlight": ("#fff3cd", "#ffc10730"),
    "ground": ("#f7f7f7", "#8080800f"),
    "mark": ("#000000", "#000"),
    "halo": ("#ffffff", "#fff"),
    "shadow": ("#00000050", "#aaa9"),
}


def colour_of(tone: str, live: bool) -> str:
    """Return the colour of a tone, in a picture or live; ``none`` where there is no tone.

    >>> colour_of("lit", live=False), colour_of("#d55e00", live=True), colour_of("", live=True)
    ('#b06f00', '#d55e00', 'none')
    """
    return TONES[tone][live] if tone in TONES else tone or "none"


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text; ``y`` is its baseline, ``anchor`` is start, middle or end."""

    x: float
    y: float
    text: str
    size: float = 12
    anchor: str = "middle"
    bold: bool = False
    tone: str = "ink"


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points, with or without the head of an arrow at its end."""

    points: Sequence[Point]
    tone: str = "line"
    width: float = 1.5
    head: bool = False
    dashed: bool = False

    def parts(self) -> tuple[list[Point], list[Point]]:
        """Return the points of the line up to its head, and the corners of the head, if any.

        >>> Line([(0, 0), (10, 0)], width=1, head=True).parts()
        ([(0, 0), (4.0, 0.0)], [(10, 0), (4.0, 3.0), (4.0, -3.0)])
        """
        points = list(self.points)
        if not self.head:
            return points, []
        (x0, y0), (x1, y1) = points[-2:]
        size = 5 + self.width
        share = size / (math.hypot(x1 - x0, y1 - y0) or 1.0)
        back, down = share * (x1 - x0), share * (y1 - y0)
        x, y = x1 - back, y1 - down
        wings = [(x - down / 2, y + back / 2), (x + down / 2, y - back / 2)]
        return [*points[:-1], (x, y)], [(x1, y1), *wings]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; a tone of ``""`` leaves it without filling or edge."""

    x: float
    y: float
    width: float
    height: float
    fill: str = ""
    edge: str = ""
    line: float = 1
    radius: float = 0
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Cells:
    """A grid of coloured cells, some crossed out; ``notes`` are shown while the mouse is over a
    cell."""

    x: float
    y: float
    cell: tuple[float, float]
    colours: Sequence[Sequence[str]]
    notes: Sequence[Sequence[str]]
    crossed: Sequence[Sequence[bool]]

    def crosses(self) -> list[tuple[Point, Point]]:
        """Return the lines that cross out cells, from the lower left to the upper right."""
        wide, high = self.cell
        return [
            (
                (self.x + j * wide, self.y + (i + 1) * high),
                (self.x + (j + 1) * wide, self.y + i * high),
            )
            for i, row in enumerate(self.crossed)
            for j, crossed in enumerate(row)
            if crossed
        ]


@dataclass(frozen=True, slots=True)
class Grip:
    """The head of a vector that can be dragged in a live drawing; what it moves is said in
    ``hands.js``."""

    tip: Point
    vector: Point
    moves: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Group:
    """All that is drawn of one block."""

    block: Block | Plane
    items: list


@dataclass(frozen=True, slots=True)
class Scene:
    """A whole drawing, from the bottom up: frames, arrows, blocks, texts."""

    width: float
    height: float
    items: list


# about the widths of DejaVu Sans, as shares of its size; other fonts of browsers are narrower
_WIDTHS = {
    0.34: " ',./:;IJ\\fijl|",
    0.4: '!"()-[]rt',
    0.54: "*?_`csz",
    0.6: "FLPTYkvxy",
    0.64: "$0123456789ESabdeghnopqu{}",
    1.0: "%@MWm",
}
_SHARES = {character: width for width, letters in _WIDTHS.items() for character in letters}


def is_wide(letter: str) -> bool:
    """Return whether a letter is as wide as a Chinese one."""
    return unicodedata.east_asian_width(letter) in "WF"


@lru_cache(maxsize=4096)
def text_width(text: str, size: float = 12, bold: bool = False) -> float:
    """Return about how wide a text is drawn, in pixels: words rather too wide, while a lone ``…``
    or a bold ``r`` takes a little more than this says."""
    width = sum(1.0 if is_wide(letter) else _SHARES.get(letter, 0.82) for letter in text)
    return width * size * (1.12 if bold else 1.0)
