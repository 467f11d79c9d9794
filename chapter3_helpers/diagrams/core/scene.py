"""What is drawn, in pixels: the texts, lines, boxes and cells that a layout comes down to.

Colours are either a tone, which each way of drawing gives a colour of its own (``ink``, ``soft``,
``line``, ...), or the ``#rrggbb`` of a number.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

Point = tuple[float, float]


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
class Group:
    """All that is drawn of one block, and what it is called."""

    label: str
    items: list


@dataclass(slots=True)
class Scene:
    """A whole drawing, from the bottom up: frames, arrows, blocks, texts."""

    width: float
    height: float
    items: list = field(default_factory=list)


# the widths of DejaVu Sans, as shares of its size; other fonts of browsers are narrower
_WIDTHS = {
    0.34: " ',./:;IJ\\fijl|",
    0.4: '!"()-[]rt',
    0.54: "*?_`csz",
    0.6: "FLPTYkvxy",
    0.64: "$0123456789ESabdeghnopqu{}",
    1.0: "%@MWm",
}
_SHARES = {character: width for width, some in _WIDTHS.items() for character in some}


@lru_cache(maxsize=4096)
def text_width(text: str, size: float = 12, bold: bool = False) -> float:
    """Return about how wide a text is drawn, in pixels; rather too much than too little."""
    width = sum(
        1.0 if unicodedata.east_asian_width(c) in "WF" else _SHARES.get(c, 0.82) for c in text
    )
    return width * size * (1.12 if bold else 1.0)
