"""Where everything of a diagram stands: one layout for the picture and for the live form.

Columns and rows are as wide and high as the largest of their blocks, and the gaps between them as
what has to pass there: the words on arrows, the places where arrows turn, the edges of brackets.
So nothing overlaps, whatever the sizes of the arrays.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from textwrap import wrap

from chapter3_helpers._figures.writing import visible
from chapter3_helpers.diagrams.core.graph import Graph
from chapter3_helpers.diagrams.core.painting import NAME_SIZE, TEXT_SIZE, Size, measure
from chapter3_helpers.diagrams.core.parts import Bracket
from chapter3_helpers.diagrams.core.routes import Route, Way
from chapter3_helpers.diagrams.core.scene import Point, is_wide, text_width

SMALLEST_CELL = 3  # pixels
# A picture has 10 pixels more on either side. A window of 900 pixels shows these 624 in 468, and
# then the smallest text, of 12 pixels, is still 9 high.
WIDEST = 604
MARGIN = 4
TURN = 9  # between two arrows that turn in one gap
BARE = 22  # the length of an arrow without words
EDGE = 12  # from a block to its bracket
LABEL = 18  # the height of a line of text
TITLE_SIZE = NAME_SIZE + 1
# where a line of Chinese may end: at a blank, and beside a Chinese letter; a sign that closes may
# not begin a line, and one that opens may not end it
BREAK = re.compile(
    r"(?<=\s)|(?:(?<=[⺀-鿿，：；！？）])|(?=[⺀-鿿“（]))(?<![“（\s])(?![、。，：；！？）”\s])"
)
LEFT, RIGHT, TOP, BOTTOM = range(4)  # sides of a bracket, in the order of ``Graph.span``


@dataclass(frozen=True)
class Extent:
    """Where arrows meet a block, or a bracket, and its centre."""

    x: float
    y: float
    left: float
    right: float
    top: float
    bottom: float


@dataclass(frozen=True)
class Columns:
    """Where the columns stand, and how large blocks are, with cells of one size."""

    sizes: dict[str, Size]
    middles: list[float]
    left: list[float]  # how far each column reaches from its middle
    right: list[float]
    gaps: list[tuple[float, float]]  # where arrows run, between the edges of brackets
    words_left: set[Route]  # the upright arrows that have their words at the left
    width: float


class Layout:
    """All positions of a diagram, with the largest cells with which it is narrow enough."""

    def __init__(self, diagram: Graph):
        self.diagram = diagram
        self.last = max(block.at[0] for block in diagram.blocks)  # column
        self.edges = [self._room_of_edges(side) for side in (LEFT, RIGHT, TOP, BOTTOM)]
        # (gap between columns, side) -> whose arrows turn there
        self.turns: dict[tuple, list] = defaultdict(list)
        # gap below a row -> whose line runs along it -> whether it has words
        self.channels: dict[int, dict] = defaultdict(dict)
        for way in diagram.ways:
            if way.route.turn_gap and way.stretch not in self.turns[way.route.turn_gap]:
                self.turns[way.route.turn_gap].append(way.stretch)
            if way.route.turn == "below":
                lines = self.channels[way.route.row_gap]
                lines[way.stretch] = lines.get(way.stretch, False) or bool(way.arrow.text)
        self.columns = self._fitting_columns()
        self.title = self._heading()
        titles = (text_width(*words) + 2 * MARGIN for words in self.title)
        self.width = max([self.columns.width, *titles])
        self.rows, self.height = self._place_rows()

    def _room_of_edges(self, side: int) -> dict[int, float]:
        """Return the room that brackets take at one side of each column, or row."""
        room = defaultdict(float)
        for bracket in self.diagram.brackets:
            at = self.diagram.span(bracket)[side]
            edge = EDGE + LABEL if side == TOP else EDGE
            room[at] = max(room[at], edge * self._depth(bracket, side))
        return room

    def _depth(self, bracket: Bracket, side: int) -> int:
        """Return how many edges lie at a side of a bracket, its own and those within it."""
        inside = [
            self._depth(other, side)
            for other in self.diagram.brackets
            if set(other.blocks) < set(bracket.blocks)
            and self.diagram.span(other)[side] == self.diagram.span(bracket)[side]
        ]
        return 1 + max(inside, default=0)

    def _fitting_columns(self) -> Columns:
        """Choose the largest cells, of those with which it is no wider than ``WIDEST``, or than
        names and words need."""
        room = self._room_between()
        tried = []
        for cell in range(self.diagram.cell, min(self.diagram.cell, SMALLEST_CELL) - 1, -1):
            tried.append(self._place_columns(cell, room))
            if tried[-1].width <= WIDEST:
                return tried[-1]
        return next(columns for columns in tried if columns.width <= tried[-1].width)

    def _room_between(self) -> dict[int, float]:
        """Return what has to pass in each gap between columns, beside the turns there."""
        room = defaultdict(lambda: 16.0, {self.last: 0.0})
        for way in self.diagram.ways:
            route, sign = way.route, way.arrow.sign
            start, end = sorted((route.source[0], route.target[0]))
            for gap in range(start, end):
                room[gap] = max(room[gap], BARE * (not sign))
            if route.turn_gap:
                room[route.turn_gap[0]] = max(room[route.turn_gap[0]], 8)
            if way.words and route.turn != "below" and not route.upright:
                wide = text_width(way.words, bold=way.state == "lit") + 10 - 4 * sign
                room[route.gap_of_words] = max(room[route.gap_of_words], wide)
        return room

    def _place_columns(self, cell: int, room: dict[int, float]) -> Columns:
        sizes = {block.key: measure(block, cell) for block in self.diagram.blocks}
        left, right = [0.0] * (self.last + 1), [0.0] * (self.last + 1)
        for block in self.diagram.blocks:
            column, size = block.at[0], sizes[block.key]
            left[column] = max(left[column], size.left)
            right[column] = max(right[column], size.right)

        # Words stand at the right of upright arrows; at the left in the last column, if they fit.
        # They may reach into the gap where nothing turns in it, no bracket ends there, and no other
        # column's words do.
        words_left: set[Route] = set()
        reached_by: dict[tuple, int] = {}  # (gap, row gap) -> column
        for way in self.diagram.ways:
            if not (way.words and way.route.upright):
                continue
            wide = text_width(way.words, bold=way.state == "lit") + 8
            column = way.route.target[0]
            last = column == self.last
            gap = column - 1 if last else column
            crowded = self.turns.get((gap, "left")) or self.turns.get((gap, "right"))
            crowded = crowded or self.edges[RIGHT][gap] + self.edges[LEFT][column] * last
            if not crowded and reached_by.setdefault((gap, way.route.row_gap), column) == column:
                wide -= room[gap] if gap >= 0 else 0.0
                if last and gap >= 0 and room[gap]:
                    words_left.add(way.route)
            side = left if way.route in words_left else right
            side[column] = max(side[column], wide)

        middles, gaps, x = [], [], float(MARGIN)
        for column in range(self.last + 1):
            x += self.edges[LEFT][column] + left[column]
            middles.append(x)
            start = x + right[column] + self.edges[RIGHT][column]
            turns = len(self.turns[column, "left"]) + len(self.turns[column, "right"])
            x = start + TURN * turns + room[column]
            gaps.append((start, x))
        return Columns(sizes, middles, left, right, gaps, words_left, x + MARGIN)

    def _heading(self) -> list[tuple[str, float, bool]]:
        """Return the lines of the title and of the note: text, size, bold."""
        wide = max(self.columns.width, 300)
        title, note = visible(self.diagram.title), visible(self.diagram.note)
        return [
            *((line, TITLE_SIZE, True) for line in broken(title, int(wide / 8))),
            *((line, TEXT_SIZE, False) for line in broken(note, int(wide / 6.7))),
        ]

    def _place_rows(self) -> tuple[list[tuple[float, float, float]], float]:
        """Return top, centre and bottom of every row, and the height of the whole."""
        count = 1 + max(block.at[1] for block in self.diagram.blocks)
        up, down = [20.0] * count, [0.0] * count
        for block in self.diagram.blocks:
            row, size = block.at[1], self.columns.sizes[block.key]
            up[row] = max(up[row], size.up)
            down[row] = max(down[row], size.down)
        high = defaultdict(lambda: 16.0)  # gap below a row -> height of what passes there
        for way in self.diagram.ways:
            gap = way.route.row_gap
            if way.route.upright:
                high[gap] = max(high[gap], 34 if way.arrow.text else 28)
        for arrow in self.diagram.arrows:
            if arrow.weight is not None:
                rows = [self.diagram.at(key)[1] for key in (*arrow.sources, arrow.target)]
                high.update(dict.fromkeys(range(min(rows), max(rows)), 60))
        rows, y = [], MARGIN + 20 * len(self.title)
        for row in range(count):
            top = y + self.edges[TOP][row]
            centre = top + up[row]
            bottom = centre + down[row]
            rows.append((top, centre, bottom))
            y = bottom + self.edges[BOTTOM][row] + (high[row] if row + 1 < count else 0)
            if row in self.channels:
                lines = self.channels[row]
                y += 14 + TURN * (len(lines) - 1) + LABEL * any(lines.values())
        return rows, y + MARGIN

    def channel_y(self, way: Way) -> float:
        """Return the height at which an arrow goes along a gap between rows."""
        gap = way.route.row_gap
        lines = self.channels[gap]
        slot = TURN * list(lines).index(way.stretch)
        bottom = self.rows[gap][2] + self.edges[BOTTOM][gap]
        return bottom + 8 + LABEL * any(lines.values()) + slot

    def middle(self, key: str) -> Point:
        """Return the centre of a block, or of the first block of a bracket."""
        column, row = self.diagram.at(key)
        return self.columns.middles[column], self.rows[row][1]

    def extent(self, key: str) -> Extent:
        """Return where a block, or a bracket, stands."""
        x, y = self.middle(key)
        end = self.diagram[key]
        if isinstance(end, Bracket):
            return Extent(x, y, *self.frame(end))
        size = self.columns.sizes[key]
        wide, high = size.width / 2, size.height / 2
        return Extent(x, y, x - wide - size.labels, x + wide, y - size.up, y + high)

    def frame(self, bracket: Bracket) -> tuple[float, float, float, float]:
        """Return left, right, top and bottom of a bracket."""
        columns, depth = self.columns, [self._depth(bracket, side) for side in range(4)]
        first, last, top_row, bottom_row = self.diagram.span(bracket)
        left = columns.middles[first] - columns.left[first] - EDGE * depth[LEFT] + 4
        right = columns.middles[last] + columns.right[last] + EDGE * depth[RIGHT] - 4
        top = self.rows[top_row][0] - (EDGE + LABEL) * depth[TOP] + 4
        bottom = self.rows[bottom_row][2] + EDGE * depth[BOTTOM] - 4
        return left, max(right, left + text_width(bracket.words, bold=True) + 16), top, bottom


def broken(text: str, most: int) -> list[str]:
    """Break a text into lines of at most so many letters; a Chinese one counts as two.

    >>> broken("one two three", 8), broken("一二，三 four", 7)
    (['one two', 'three'], ['一二，', '三 four'])
    """
    if not any(map(is_wide, text)):
        return wrap(text, most)
    lines = [""]
    for piece in BREAK.split(text):
        letters = sum(1 + is_wide(letter) for letter in (lines[-1] + piece).rstrip())
        if letters > most and lines[-1]:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]
