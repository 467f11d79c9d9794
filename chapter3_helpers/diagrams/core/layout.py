"""Where everything of a diagram stands: one layout for the picture and for the live form.

Columns and rows are as wide and high as the largest of their blocks, and the gaps between them as
what has to pass there: the words on arrows, the places where arrows turn, the edges of brackets.
So nothing overlaps, whatever the sizes of the arrays.
"""

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap

from chapter3_helpers._figures.writing import visible
from chapter3_helpers.diagrams.core.graph import Graph, Route
from chapter3_helpers.diagrams.core.painting import NAME_SIZE, TEXT_SIZE, measure
from chapter3_helpers.diagrams.core.parts import Arrow, Bracket
from chapter3_helpers.diagrams.core.scene import text_width

SMALLEST_CELL = 3  # pixels
WIDEST = 604  # with its margins a picture is 620 wide; a window of 900 pixels shows it in 468,
# and then the smallest text, of 12 pixels, is still 9 high
MARGIN = 4
TURN = 9  # between two arrows that turn in one gap
BARE = 22  # the length of an arrow without words
EDGE = 12  # from a block to its bracket
LABEL = 18  # the height of a line of text
TITLE_SIZE = NAME_SIZE + 1
LEFT, RIGHT, TOP, BOTTOM = range(4)  # sides of a bracket


@dataclass(frozen=True)
class Extent:
    """Where arrows meet a block, or a bracket, and its centre."""

    x: float
    y: float
    left: float
    right: float
    top: float
    bottom: float


class Layout:
    """All positions of a graph, with the largest cells with which it is narrow enough."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.columns = 1 + max(thing.at[0] for thing in graph.blocks)
        self.rows = 1 + max(thing.at[1] for thing in graph.blocks)
        self._extents: dict[str, Extent] = {}
        self._find_room()
        self._fit()
        self.title = self._heading()
        wide = (text_width(*words) + 2 * MARGIN for words in self.title)
        self.width = max([self.width, *wide])

    def _heading(self) -> list[tuple[str, float, bool]]:
        """Return the lines of the title and of the note: text, size, bold."""
        wide = max(self.width, 300)
        return [
            *((line, TITLE_SIZE, True) for line in wrap(visible(self.graph.title), int(wide / 8))),
            *((line, TEXT_SIZE, False) for line in wrap(visible(self.graph.note), int(wide / 6.7))),
        ]

    def _find_room(self) -> None:
        """Find what has to pass between the columns; it does not depend on the size of cells."""
        self.room = room = defaultdict(lambda: 16.0)  # gap -> its width, without the turns in it
        room[self.columns - 1] = 0.0
        self.beside: list[tuple[Route, float]] = []  # upright arrows, and how wide their words are
        self.turns: dict[tuple, list] = defaultdict(list)  # (gap, side) -> which arrows turn there
        for arrow, source, route in self.graph.ways:
            start, end = sorted((route.source[0], route.target[0]))
            for gap in range(start, end):
                room[gap] = max(room[gap], BARE * (not arrow.sign))
            if route.turn_gap:
                who = turning(arrow, source)
                if who not in self.turns[route.turn_gap]:
                    self.turns[route.turn_gap].append(who)
                room[route.turn_gap[0]] = max(room[route.turn_gap[0]], 8)
            if arrow.text and source == arrow.sources[0] and route.turn != "below":
                wide = text_width(arrow.text, bold=self.graph.state_of(arrow) == "lit")
                if route.upright:
                    self.beside.append((route, wide + 8))
                else:
                    room[route.word_gap] = max(room[route.word_gap], wide + 10 - 4 * arrow.sign)
        self.before, self.after = self._bracket_room(LEFT), self._bracket_room(RIGHT)

    def _fit(self) -> None:
        """Choose the largest cells, of those with which it is no wider than ``WIDEST``."""
        self._place_columns(self.graph.cell)
        if self.width <= WIDEST:
            return
        cells = range(min(self.graph.cell, SMALLEST_CELL), self.graph.cell + 1)
        self._place_columns(cells[0])
        widest = max(WIDEST, self.width)  # names and words alone may need more

        def too_wide(cell: int) -> bool:
            self._place_columns(cell)
            return self.width > widest

        self._place_columns(cells[bisect_left(cells, True, lo=1, key=too_wide) - 1])

    def _place_columns(self, cell: int) -> None:
        self.sizes = {thing.name: measure(thing, cell) for thing in self.graph.blocks}
        self.left, self.right = [0.0] * self.columns, [0.0] * self.columns
        for thing in self.graph.blocks:
            column, size = thing.at[0], self.sizes[thing.name]
            self.left[column] = max(self.left[column], size.left)
            self.right[column] = max(self.right[column], size.right)
        self._place_beside()
        self.gaps: dict[int, tuple[float, float]] = {}  # where arrows run, between the brackets
        self.centre_x: list[float] = []
        x: float = MARGIN
        for column in range(self.columns):
            x += self.before[column] + self.left[column]
            self.centre_x.append(x)
            start = x + self.right[column] + self.after[column]
            turns = len(self.turns[column, "left"]) + len(self.turns[column, "right"])
            x = start + TURN * turns + self.room[column]
            self.gaps[column] = (start, x)
        self.width = x + MARGIN

    def _place_beside(self) -> None:
        """Put words at the right of upright arrows; at the left in the last column, if they fit.

        They may reach into the gap, where nothing turns in it, no bracket ends there, and no other
        column's words do.
        """
        self.words_left: set[Route] = set()
        reached_by: dict[tuple, int] = {}  # (gap, row gap) -> column
        for route, wide in self.beside:
            column = route.target[0]
            last = column + 1 == self.columns
            gap = column - 1 if last else column
            edges = self.after[gap] + self.before[column] * last
            turned = self.turns[gap, "left"] or self.turns[gap, "right"]
            free = (
                not turned
                and not edges
                and reached_by.setdefault((gap, route.row_gap), column) == column
            )
            over = self.room[gap] if free and gap >= 0 else 0.0
            if last and over:
                self.words_left.add(route)
                self.left[column] = max(self.left[column], wide - over)
            else:
                self.right[column] = max(self.right[column], wide - over)

    @cached_property
    def row_edges(self) -> list[tuple[float, float, float]]:
        """Top, centre and bottom of every row."""
        up, down = [20.0] * self.rows, [0.0] * self.rows
        for name, size in self.sizes.items():
            row = self.graph.at(name)[1]
            up[row] = max(up[row], size.up)
            down[row] = max(down[row], size.down)
        high = defaultdict(lambda: 16.0)  # gap below a row -> height of what passes there
        for arrow, _, route in self.graph.ways:
            if route.upright:
                high[route.row_gap] = max(high[route.row_gap], 34 if arrow.text else 28)
        for arrow in self.graph.arrows:
            if arrow.weight is not None:
                rows = [self.graph.at(name)[1] for name in (*arrow.sources, arrow.target)]
                for row in range(min(rows), max(rows)):
                    high[row] = 60
        before, after = self._bracket_room(TOP), self._bracket_room(BOTTOM)
        edges = []
        y = MARGIN + 20 * len(self.title)
        for row in range(self.rows):
            top = y + before[row]
            centre = top + up[row]
            bottom = centre + down[row]
            edges.append((top, centre, bottom))
            last = row + 1 == self.rows
            y = bottom + after[row] + high[row] * (not last) + self._channel_room(row)
        self.height = y + MARGIN
        return edges

    @cached_property
    def channels(self) -> dict[int, dict]:
        """Gap below a row -> whose line runs along it -> whether it has words."""
        channels = defaultdict(dict)
        for arrow, source, route in self.graph.ways:
            if route.turn == "below":
                lines, line = channels[route.row_gap], turning(arrow, source)
                lines[line] = lines.get(line, False) or bool(arrow.text)
        return channels

    def _channel_room(self, gap: int) -> float:
        if gap not in self.channels:
            return 0.0
        lines = self.channels[gap]
        return 14.0 + TURN * (len(lines) - 1) + LABEL * any(lines.values())

    def channel_y(self, arrow: Arrow, source: str, route: Route) -> float:
        """Return the height at which an arrow goes along a gap between rows."""
        lines = self.channels[route.row_gap]
        slot = TURN * list(lines).index(turning(arrow, source))
        bottom = self.row_edges[route.row_gap][2] + self._bracket_room(BOTTOM)[route.row_gap]
        return bottom + 8 + LABEL * any(lines.values()) + slot

    def extent(self, name: str) -> Extent:
        """Return where a block, or a bracket, stands."""
        if name not in self._extents:
            self._extents[name] = self._find_extent(name)
        return self._extents[name]

    def _find_extent(self, name: str) -> Extent:
        column, row = self.graph.at(name)
        x, y = self.centre_x[column], self.row_edges[row][1]
        end = self.graph[name]
        if isinstance(end, Bracket):
            return Extent(x, y, *self.frame(end))
        size = self.sizes[name]
        wide, high = size.width / 2, size.height / 2
        return Extent(x, y, x - wide - size.labels, x + wide, y - size.up, y + high)

    def frame(self, bracket: Bracket) -> tuple[float, float, float, float]:
        """Return left, right, top and bottom of a bracket."""
        depth = [self._depth(bracket, side) for side in range(4)]
        first, last, top_row, bottom_row = self.graph.span(bracket)
        left = self.centre_x[first] - self.left[first] - EDGE * depth[LEFT] + 4
        right = self.centre_x[last] + self.right[last] + EDGE * depth[RIGHT] - 4
        top = self.row_edges[top_row][0] - (EDGE + LABEL) * depth[TOP] + 4
        bottom = self.row_edges[bottom_row][2] + EDGE * depth[BOTTOM] - 4
        return left, max(right, left + text_width(bracket.words, bold=True) + 16), top, bottom

    def _depth(self, bracket: Bracket, side: int) -> int:
        """Return how many edges lie at a side of a bracket, its own and those within it."""
        inside = [
            self._depth(other, side)
            for other in self.graph.brackets
            if set(other.blocks) < set(bracket.blocks)
            and self.graph.span(other)[side] == self.graph.span(bracket)[side]
        ]
        return 1 + max(inside, default=0)

    def _bracket_room(self, side: int) -> dict[int, float]:
        """Return the room that brackets take at one side of each column, or row."""
        room = defaultdict(float)
        for bracket in self.graph.brackets:
            at = self.graph.span(bracket)[side]
            edge = EDGE + LABEL if side == TOP else EDGE
            room[at] = max(room[at], edge * self._depth(bracket, side))
        return room


def turning(arrow: Arrow, source: str) -> tuple:
    """Return what names a turn, or a line between rows: all arrows from one source share it, or all
    to one target."""
    return ("from", source) if len(arrow.sources) == 1 else ("to", arrow.target)
