"""All heads as one picture, and one head as a large one: a click or an arrow key moves a frame."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chapter3_helpers._language import say
from chapter3_helpers.diagrams.core.scene import text_width
from chapter3_helpers.explorers.core.marks import mark
from chapter3_helpers.explorers.core.panels import Heads, Panel
from chapter3_helpers.explorers.core.style import escape, png
from chapter3_helpers.explorers.model.pixels import Tiles, Window

LARGE, PRESENTED = 400, 125  # pixels of one head in large, about; and before its letters grow
LEFT, TOP = 48, 20  # pixels for the numbers of layers, and of heads
LETTERS = 14  # pixels that a number needs
WORDS = 11  # pixels that the name of a token needs, and how large its letters are


def board(name: str, label: str, said: str, at: str, **data: Any) -> str:
    """Return what can be clicked and what the Tab key reaches, over a picture.

    Args:
        name: of what is chosen.
        label: this name in words.
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
        f'aria-label="{escape(label)}" aria-valuetext="{escape(said)}" {at}/>'
    )


@dataclass(frozen=True)
class Montage(Heads):
    """All heads of some layers, of which one is framed.

    Args:
        values: the picture.
        chosen: layer and head, as places in the picture.
        first: how many layers come before these.
        outlined: further heads that are marked, such as those that are listed.
        off: heads that are crossed out.
        said: what is chosen, in words.
    """

    values: Tiles
    chosen: tuple[int, int] = (0, 0)
    first: int = 0
    outlined: Sequence[tuple[int, int]] = ()
    off: Sequence[tuple[int, int]] = ()
    said: str = ""

    def html(self) -> str:
        """Return the picture, which stays, with the numbers of layers and heads."""
        tiles, (wide, high) = self.values, self.values.tile
        numbers = [[*map(str, tiles.numbers)], [*map(str, range(max(tiles.heads)))]]
        sides = [say("layer"), say("head")]
        if not tiles.turned:
            numbers, sides = numbers[::-1], sides[::-1]
        (columns, rows), (across, down) = numbers, sides
        rows[0] = f"{down} {rows[0]}"
        words = [(LEFT - 6, TOP - 5, "end", across)]
        words += [
            (LEFT - 6, TOP + (n + 0.5) * high + 3, "end", rows[n])
            for n in range(0, len(rows), -(-LETTERS // high))
        ] + [
            (LEFT + (n + 0.5) * wide, TOP - 5, "middle", columns[n])
            for n in range(0, len(columns), -(-LETTERS * 2 // wide))
        ]
        written = "".join(
            f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(word)}</text>'
            for x, y, anchor, word in words
        )
        return self._svg(f'<image href="{tiles.picture}" {self._at()}/>{written}')

    def layers(self) -> list[str]:
        return [self.html(), self._frame()]

    def _frame(self) -> str:
        """Return what moves over the picture."""
        tiles, (layer, head) = self.values, self.chosen
        axes = [("layer", self.first, len(tiles.heads), layer), ("head", 0, max(tiles.heads), head)]
        axes = dict(
            zip(("across", "down") if tiles.turned else ("down", "across"), axes, strict=True)
        )
        marks = [("off", *place) for place in self.off]
        marks += [("also", *place) for place in self.outlined] + [("frame", layer, head)]
        wide, high = tiles.tile
        drawn = []
        for kind, i, j in marks:
            x, y = (
                start + from_ for start, from_ in zip((LEFT, TOP), tiles.corner(i, j), strict=True)
            )
            at = f'class="{kind}" x="{x - 1}" y="{y - 1}" width="{wide}" height="{high}"'
            drawn.append(f"<rect {at}/>")
            if kind == "off":
                w, h = wide - 2, high - 2
                drawn.append(f'<path class="off" d="M{x} {y}l{w} {h}m0 {-h}l{-w} {h}"/>')
        over = board("head", say("head"), self.said, self._at(), board=axes)
        return self._svg("".join(drawn) + over)

    def _size(self) -> tuple[int, int]:
        (wide, high), (across, down) = self.values.tile, self.values.counts
        return wide * across, high * down

    def _at(self) -> str:
        width, height = self._size()
        return f'x="{LEFT}" y="{TOP}" width="{width}" height="{height}"'

    def _svg(self, inside: str) -> str:
        width, height = self._size()
        width, height = LEFT + width, TOP + height
        above, label = " c3above" * self.values.above, escape(say("all heads"))
        return (
            f'<div class="c3 c3tiles{above}"><svg viewBox="0 0 {width} {height}" width="{width}" '
            f'role="group" aria-label="{label}">{inside}</svg></div>'
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
        size: about how many pixels.
    """

    title: str
    weights: Any
    window: Window
    row: int
    queries: Sequence[str]
    keys: Sequence[str]
    size: int = LARGE

    def presented(self) -> "Large":
        return replace(self, size=PRESENTED)

    @property
    def marked_row(self) -> int:
        return self.row

    @property
    def click(self) -> Mapping[str, str]:
        return {"q": "row"}

    def html(self) -> str:
        levels = self.window.levels(self.weights)
        (high, wide), rows, columns = levels.shape, self.window.rows, self.window.columns
        scale = max(1, self.size // max(high, wide))
        at = self.row - rows.start
        width, height = scale * wide, scale * high
        cells = {
            "q": (rows.start, self.queries[rows.start : rows.stop]),
            "k": (columns.start, self.keys[columns.start : columns.stop]),
        }
        names = {side: spread(names, scale) for side, (_, names) in cells.items()}
        names["q"] = {n: name for n, name in names["q"].items() if abs(n - at) * scale >= WORDS}
        names["q"][at] = cells["q"][1][at]
        left, top = (
            8 + round(max(text_width(name, WORDS, bold=True) for name in names[side].values()))
            for side in "qk"
        )
        query, key = say("query"), say("key")
        left = max(left, text_width(f"{query} ↓", WORDS) + 8)
        over = f'x="{left}" y="{top}" width="{width}" height="{height}"'
        line = f'x="{left - 1}" y="{top + scale * at}" width="{width + 2}" height="{scale}"'
        middle = (scale + WORDS * 0.7) / 2
        words = [
            f'<text{mark("query", rows.start + n)} x="{left - 5}" '
            f'y="{top + scale * n + middle:.1f}" text-anchor="end"'
            f"{' class=at' * (n == at)}>{escape(name)}</text>"
            for n, name in names["q"].items()
        ] + [
            f'<text{mark("key", columns.start + n)} text-anchor="start" transform="translate('
            f'{left + scale * n + middle:.1f} {top - 5}) rotate(-90)">{escape(name)}</text>'
            for n, name in names["k"].items()
        ]
        words += [
            f'<text class="corner" x="{left - 5}" y="{top - up}" text-anchor="end">'
            f"{escape(word)}</text>"
            for word, up in ((f"{key} →", WORDS + 8), (f"{query} ↓", 6))
        ]
        down = {"down": ("row", rows.start, high, at)}
        chosen = board("query", query, self.queries[self.row], over, board=down, cells=cells)
        hint, hides = escape(say("point at a weight to read it")), escape(say("hidden"))
        return (
            f'<figure class="c3v c3large"><figcaption>{escape(self.title)}</figcaption>'
            f'<svg class="c3pixels" viewBox="0 0 {left + width + 2} {top + height + 2}" '
            f'width="{left + width + 2}" role="group" aria-label="{escape(self.title)}">'
            f'<image href="{png(levels, indexed=True)}" {over}/>{"".join(words)}'
            f'<rect class="frame" {line}/>{chosen}</svg>'
            f'<div class="c3read" data-hint="{hint}" data-hidden="{hides}">{hint}</div></figure>'
        )


def spread(names: Sequence[str], scale: int) -> dict[int, str]:
    """Return as many names as have room beside pixels of this scale, by their places."""
    return {n: names[n] for n in range(0, len(names), -(-WORDS // scale))}
