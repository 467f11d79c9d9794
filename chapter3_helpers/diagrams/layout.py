"""Where everything of a diagram stands: the one layout that the page and the live form share.

Columns and rows are as wide and high as the largest of their blocks, and the gaps between them as
what has to pass there: the words on arrows, the places where arrows turn, the edges of brackets.
So nothing overlaps, whatever the sizes of the arrays.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap
from typing import TYPE_CHECKING

from chapter3_helpers.diagrams.blocks import Arrow, Block, Bracket, Plane
from chapter3_helpers.diagrams.painting import NAME_SIZE, body_size, captions, row_label_width
from chapter3_helpers.diagrams.routes import Route
from chapter3_helpers.diagrams.scene import text_width

if TYPE_CHECKING:
    from chapter3_helpers.diagrams.diagram import Diagram

SMALLEST_CELL = 3  # pixels
WIDEST = 604  # with its margins a picture is 620 wide; a window of 900 pixels shows it in 468,
# and then the smallest text, of 12 pixels, is still 9 high
MARGIN = 4
PAD = 5  # around a block, which the ground of a lit one fills
TURN = 9  # between two arrows that turn in one gap
BARE = 22  # the length of an arrow without words
EDGE = 12  # from a block to its bracket
LABEL = 18  # the height of a line of text
TITLE_SIZE = NAME_SIZE + 1
LEFT, RIGHT, TOP, BOTTOM = range(4)  # sides of a bracket


@dataclass(frozen=True)
class Extent:
    """A block, or a bracket: its centre, where arrows meet it, and how far all of it reaches."""

    x: float
    y: float
    left: float
    right: float
    top: float
    bottom: float
    reach: tuple[float, float, float, float]  # left, right, top, bottom, from the centre


class Layout:
    """All positions of a diagram, for one size of its cells."""

    def __init__(self, diagram: "Diagram", cell: int):
        self.diagram = diagram
        self.things = {thing.name: thing for thing in diagram.blocks}
        self.cell = cell
        self.sizes = {thing.name: measure(thing, self.cell) for thing in diagram.blocks}
        self.columns = 1 + max(thing.at[0] for thing in diagram.blocks)
        self.rows = 1 + max(thing.at[1] for thing in diagram.blocks)
        self.routes = [
            (arrow, source, route)
            for arrow in diagram.arrows
            if arrow.weight is None
            for source, route in zip(arrow.sources, diagram.ways(arrow), strict=True)
        ]
        self._place_columns()

    def _place_columns(self) -> None:
        self.left, self.right = left, right = [0.0] * self.columns, [0.0] * self.columns
        for name, reach in self.sizes.items():
            column = self.things[name].at[0]
            left[column] = max(left[column], reach[LEFT])
            right[column] = max(right[column], reach[RIGHT])
        room = defaultdict(lambda: 16.0)  # gap -> width of what passes there
        room[self.columns - 1] = 0.0
        beside: list[tuple[Route, float]] = []  # upright arrows, and how wide their words are
        self.turns: dict[tuple, list] = defaultdict(list)  # (gap, side) -> who turns there
        for arrow, source, route in self.routes:
            start, end = sorted((route.source[0], route.target[0]))
            for gap in range(start, end):
                room[gap] = max(room[gap], BARE * (not arrow.sign))
            if route.turn_gap:
                who = turning(arrow, source)
                if who not in self.turns[route.turn_gap]:
                    self.turns[route.turn_gap].append(who)
                room[route.turn_gap[0]] = max(room[route.turn_gap[0]], 8)
            if arrow.text and source == arrow.sources[0] and not round_about(route):
                wide = text_width(arrow.text, bold=self.diagram.state_of(arrow) == "lit")
                if route.upright:
                    beside.append((route, wide + 8))
                else:
                    room[route.word_gap] = max(room[route.word_gap], wide + 10 - 4 * arrow.sign)
        before, after = self._bracket_room(LEFT), self._bracket_room(RIGHT)
        self._place_beside(beside, room, before, after)
        self.gaps: dict[int, tuple[float, float]] = {}  # where arrows run, between the brackets
        self.centre_x: list[float] = []
        x: float = MARGIN
        for column in range(self.columns):
            x += before[column] + left[column]
            self.centre_x.append(x)
            start = x + right[column] + after[column]
            turns = len(self.turns[column, "left"]) + len(self.turns[column, "right"])
            x = start + TURN * turns
            x += room[column]
            self.gaps[column] = (start, x)
        self.width = x + MARGIN
        self.title = wrap(self.diagram.title, int(max(self.width, 300) / 8))
        wide = (text_width(line, TITLE_SIZE, True) + 2 * MARGIN for line in self.title)
        self.width = max(self.width, *wide)

    def _place_beside(self, beside, room, before, after) -> None:
        """Put words at the right of upright arrows; at the left in the last column, if they fit.

        They may reach into the gap where nothing turns there and no bracket ends.
        """
        self.words_left: set[Route] = set()

        def free(gap: int) -> bool:
            return not any(self.turns[gap, side] for side in ("left", "right"))

        for route, wide in beside:
            column = route.target[0]
            last = column + 1 == self.columns
            if last and column and free(column - 1) and not before[column] + after[column - 1]:
                self.words_left.add(route)
                self.left[column] = max(self.left[column], wide - room[column - 1])
            else:
                over = room[column] if free(column) and not (last or after[column]) else 0.0
                self.right[column] = max(self.right[column], wide - over)

    @cached_property
    def row_edges(self) -> list[tuple[float, float, float]]:
        """Top, centre and bottom of every row."""
        up, down = [20.0] * self.rows, [0.0] * self.rows
        for name, reach in self.sizes.items():
            row = self.things[name].at[1]
            up[row] = max(up[row], reach[TOP])
            down[row] = max(down[row], reach[BOTTOM])
        high = defaultdict(lambda: 16.0)  # gap below a row -> height of what passes there
        for arrow, _, route in self.routes:
            if route.upright:
                high[route.row_gap] = max(high[route.row_gap], 34 if arrow.text else 28)
        for arrow in self.diagram.arrows:
            if arrow.weight is not None:
                rows = [self.at(name)[1] for name in (*arrow.sources, arrow.target)]
                for row in range(min(rows), max(rows)):
                    high[row] = max(high[row], 60)
        before, after = self._bracket_room(TOP), self._bracket_room(BOTTOM)
        edges = []
        y = MARGIN + 20 * len(self.title) + self._channel_room(-1)
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
    def channels(self) -> dict[tuple[int, str], list]:
        """(gap below a row, way round) -> the arrows that go there, round what is in between."""
        channels = defaultdict(list)
        for arrow, source, route in self.routes:
            if round_about(route):
                channels[route.row_gap, route.turn].append((arrow, source))
        return channels

    def _channel_room(self, gap: int) -> float:
        return sum(
            14.0 + TURN * (len(arrows) - 1) + LABEL * any(arrow.text for arrow, _ in arrows)
            for (row_gap, _), arrows in self.channels.items()
            if row_gap == gap
        )

    def at(self, name: str) -> tuple[int, int]:
        """Return column and row of a block, or of the first block of a bracket."""
        bracket = self.diagram.bracket(name)
        return self.things[bracket.blocks[0] if bracket else name].at

    def extent(self, name: str) -> Extent:
        """Return where a block, or a bracket, stands."""
        column, row = self.at(name)
        x, y = self.centre_x[column], self.row_edges[row][1]
        bracket = self.diagram.bracket(name)
        if bracket:
            return Extent(x, y, *self.frame(bracket), reach=(0, 0, 0, 0))
        thing, reach = self.things[name], self.sizes[name]
        width, height = body_size(thing, self.cell)
        return Extent(
            x,
            y,
            x - width / 2 - row_label_width(thing),
            x + width / 2,
            y - reach[TOP],
            y + height / 2,
            reach,
        )

    def frame(self, bracket: Bracket) -> tuple[float, float, float, float]:
        """Return left, right, top and bottom of a bracket."""
        depth = [self._depth(bracket, side) for side in range(4)]
        first, last, top_row, bottom_row = self._span(bracket)
        left = self.centre_x[first] - self.left[first] - EDGE * depth[LEFT] + 4
        right = self.centre_x[last] + self.right[last] + EDGE * depth[RIGHT] - 4
        top = self.row_edges[top_row][0] - (EDGE + LABEL) * depth[TOP] + 4
        bottom = self.row_edges[bottom_row][2] + EDGE * depth[BOTTOM] - 4
        return left, max(right, left + text_width(bracket.text, bold=True) + 16), top, bottom

    def _span(self, bracket: Bracket) -> tuple[int, int, int, int]:
        """Return the first and last column, and the first and last row, of a bracket."""
        columns, rows = zip(*(self.things[name].at for name in bracket.blocks), strict=True)
        return min(columns), max(columns), min(rows), max(rows)

    def _depth(self, bracket: Bracket, side: int) -> int:
        """Return how many edges lie at a side of a bracket, its own and those within it."""
        inside = [
            self._depth(other, side)
            for other in self.diagram.brackets
            if set(other.blocks) < set(bracket.blocks)
            and self._span(other)[side] == self._span(bracket)[side]
        ]
        return 1 + max(inside, default=0)

    def _bracket_room(self, side: int) -> dict[int, float]:
        """Return the room that brackets take at one side of each column, or row."""
        room = defaultdict(float)
        for bracket in self.diagram.brackets:
            at = self._span(bracket)[side]
            edge = EDGE + LABEL if side == TOP else EDGE
            room[at] = max(room[at], edge * self._depth(bracket, side))
        return room


def fit(diagram: "Diagram") -> Layout:
    """Return the layout with the largest cells with which it is no wider than ``WIDEST``."""
    layout = Layout(diagram, diagram.cell)
    if layout.width > WIDEST:
        narrowest = max(WIDEST, Layout(diagram, min(diagram.cell, SMALLEST_CELL)).width)
        layouts = (Layout(diagram, cell) for cell in range(diagram.cell, 0, -1))
        layout = next(layout for layout in layouts if layout.width <= narrowest)
    return layout


def turning(arrow: Arrow, source: str) -> tuple:
    """Return with whom an arrow shares its turn: others from its source, or all to one target."""
    return ("from", source) if len(arrow.sources) == 1 else ("to", arrow.target)


def round_about(route: Route) -> bool:
    return route.turn in ("above", "below")


def measure(thing: Block | Plane, cell: int) -> tuple[float, float, float, float]:
    """Return how far a block reaches from its centre: left, right, up and down."""
    width, height = body_size(thing, cell)
    lines = captions(thing)
    above = sum(size + 3 for _, size, _ in lines) + 2
    above += 15 if isinstance(thing, Block) and thing.columns else 0
    half = max([width / 2, *(text_width(*line) / 2 for line in lines)])
    left = max(half, width / 2 + row_label_width(thing))
    return left + PAD, half + PAD, height / 2 + above + PAD, height / 2 + PAD
