"""All heads as one picture, and one head as a large one: a click or an arrow key moves a frame."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chapter3_helpers.explorers.core.panels import Heads, Panel
from chapter3_helpers.explorers.core.style import escape
from chapter3_helpers.explorers.model.pixels import Tiles, Window, png

LARGE = 340  # pixels of one head in large, about
LEFT, TOP = 48, 20  # pixels for the numbers of layers, and of heads
LETTERS = 14  # pixels that a number needs


def board(name: str, said: str, at: str, **data: Any) -> str:
    """Return what can be clicked and what the Tab key reaches, over a picture.

    Args:
        name: of what is chosen.
        said: what is chosen, in words.
        at: where it stands, as attributes of SVG.
        data: ``board`` and ``cells``, as in ``hands.js``.
    """
    found = "".join(
        f' data-{key}="{escape(json.dumps(value, separators=(",", ":"), ensure_ascii=False))}"'
        for key, value in data.items()
    )
    return (
        f'<rect class="c3board"{found} data-stop="{name}" tabindex=0 role=slider '
        f'aria-label="{name}" aria-valuetext="{escape(said)}" {at}/>'
    )


@dataclass(frozen=True)
class Montage(Heads):
    """All heads of some layers, of which one is framed.

    Args:
        values: the picture.
        chosen: layer and head, as places in the picture.
        first: how many layers come before these.
        outlined: further heads that are marked, such as those that are listed.
        said: what is chosen, in words.
    """

    values: Tiles
    chosen: tuple[int, int] = (0, 0)
    first: int = 0
    outlined: Sequence[tuple[int, int]] = ()
    said: str = ""

    def html(self) -> str:
        """Return the picture, which stays, with the numbers of layers and heads."""
        tiles, (wide, high) = self.values, self.values.tile
        layers = list(enumerate(tiles.numbers))[:: -(-LETTERS // high)]
        heads = range(0, max(tiles.heads), -(-LETTERS * 2 // wide) if wide < LETTERS * 2 else 1)
        numbers = [
            f'<text x="{LEFT - 6}" y="{TOP + (i + 0.5) * high + 3:.0f}" text-anchor="end">'
            f"{number}</text>"
            for i, number in layers
        ] + [
            f'<text x="{LEFT + (j + 0.5) * wide:.0f}" y="{TOP - 5}" text-anchor="middle">{j}</text>'
            for j in heads
        ]
        corner = f'<text x="{LEFT - 6}" y="{TOP - 5}" text-anchor="end">layer</text>'
        return self._svg(f'<image href="{tiles.picture}" {self._at()}/>{corner}{"".join(numbers)}')

    def layers(self) -> list[str]:
        return [self.html(), self._frame()]

    def _frame(self) -> str:
        """Return what moves over the picture."""
        (layer, head), counts = self.chosen, self.values.heads
        axes = {
            "down": ("layer", self.first, len(counts), layer),
            "across": ("head", 0, max(counts), head),
        }
        marks = [("also", *place) for place in self.outlined] + [("frame", layer, head)]
        wide, high = self.values.tile
        rects = [
            f'<rect class="{kind}" x="{LEFT + j * wide - 1}" y="{TOP + i * high - 1}" '
            f'width="{wide}" height="{high}"/>'
            for kind, i, j in marks
        ]
        return self._svg("".join(rects) + board("head", self.said, self._at(), board=axes))

    def _at(self) -> str:
        wide, high = self.values.tile
        width, height = wide * max(self.values.heads), high * len(self.values.heads)
        return f'x="{LEFT}" y="{TOP}" width="{width}" height="{height}"'

    def _svg(self, inside: str) -> str:
        wide, high = self.values.tile
        width = LEFT + wide * max(self.values.heads)
        height = TOP + high * len(self.values.heads)
        return (
            f'<div class="c3 c3tiles"><svg viewBox="0 0 {width} {height}" width="{width}" '
            f'role="group" aria-label="all heads">{inside}</svg></div>'
        )


@dataclass(frozen=True)
class Large(Panel):
    """One head of many tokens: a pixel for each weight, the row that is read framed.

    Args:
        title: what it is.
        weights: tensor (T, S), or a part of it.
        window: which part that is.
        row: the query that is read.
        queries: the names of all of them.
        keys: the names of all of them.
    """

    title: str
    weights: Any
    window: Window
    row: int
    queries: Sequence[str]
    keys: Sequence[str]

    @property
    def marked_row(self) -> int:
        return self.row

    @property
    def click(self) -> Mapping[str, str]:
        return {"q": "row"}

    def html(self) -> str:
        levels = self.window.levels(self.weights)
        (high, wide), rows, columns = levels.shape, self.window.rows, self.window.columns
        scale = max(1, LARGE // max(high, wide))
        at = self.row - rows.start
        width, height = scale * wide, scale * high
        over = f'x="1" y="1" width="{width}" height="{height}"'
        line = f'x="0" y="{1 + scale * at}" width="{width + 2}" height="{scale}"'
        down = {"down": ("row", rows.start, high, at)}
        cells = {
            "q": (rows.start, self.queries[rows.start : rows.stop]),
            "k": (columns.start, self.keys[columns.start : columns.stop]),
        }
        chosen = board("query", self.queries[self.row], over, board=down, cells=cells)
        hint = "point at a weight to read it"
        return (
            f'<figure class="c3v c3large"><figcaption>{escape(self.title)}</figcaption>'
            f'<svg class="c3pixels" viewBox="0 0 {width + 2} {height + 2}" width="{width + 2}" '
            f'role="group" aria-label="{escape(self.title)}"><image href="{png(levels)}" {over}/>'
            f'<rect class="frame" {line}/>{chosen}</svg>'
            f'<div class="c3read" data-hint="{hint}">{hint}</div></figure>'
        )
