"""Where everything of a diagram is drawn: the one layout that the page and the live form share.

Columns and rows are as wide and high as the largest of their blocks, and the gaps between them as
what has to pass there: the words on arrows, the places where arrows turn, the edges of brackets.
So nothing overlaps, whatever the sizes of the arrays.
"""

from collections import defaultdict
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from chapter3_helpers.diagrams.blocks import Arrow, Block, Bracket, Thing
from chapter3_helpers.diagrams.painting import (
    NAME_SIZE,
    body_size,
    captions,
    highlight,
    paint,
    row_label_width,
)
from chapter3_helpers.diagrams.routes import Route
from chapter3_helpers.diagrams.scene import Box, Line, Scene, Text, text_width

if TYPE_CHECKING:
    from chapter3_helpers.diagrams.diagram import Diagram

SMALLEST_CELL = 4  # pixels
WIDEST = 604  # with its margins a picture is 620 wide; a window of 900 pixels shows it in 468,
# and then the smallest text, of 12 pixels, is still 9 high
MARGIN = 4
TURN = 9  # between two arrows that turn in one gap
EDGE = 12  # from a block to its bracket
LABEL = 18  # the height of a line of text
LEFT, RIGHT, TOP, BOTTOM = range(4)  # sides of a bracket


@dataclass
class Extent:
    """How far a block reaches from the centre of its body: all of it, and the body alone."""

    left: float
    right: float
    up: float
    down: float
    body: tuple[float, float]
    labels: float  # what stands at the left of the body


def lay_out(diagram: "Diagram") -> Scene:
    """Draw a diagram with the largest cells with which it is no wider than ``WIDEST``."""
    layout = Layout(diagram, diagram.cell)
    if layout.width > WIDEST:
        narrowest = max(WIDEST, Layout(diagram, min(diagram.cell, SMALLEST_CELL)).width)
        layouts = (Layout(diagram, cell) for cell in range(diagram.cell, 0, -1))
        layout = next(layout for layout in layouts if layout.width <= narrowest)
    return layout.scene()


class Layout:
    """All positions of a diagram, for one size of its cells."""

    def __init__(self, diagram: "Diagram", cell: int):
        self.diagram = diagram
        self.cell = cell
        self.things = {thing.name: thing for thing in diagram.blocks}
        labelled = any(isinstance(thing, Block) and thing.rows for thing in diagram.blocks)
        self.cell_size = (cell, max(cell, 14) if labelled else cell)
        self.extents = {thing.name: measure(thing, self.cell_size) for thing in diagram.blocks}
        self.columns = 1 + max(thing.at[0] for thing in diagram.blocks)
        self.rows = 1 + max(thing.at[1] for thing in diagram.blocks)
        self.routes = [
            (arrow, source, route)
            for arrow in diagram.arrows
            if arrow.weight is None
            for source, route in zip(arrow.sources, diagram.ways(arrow), strict=True)
        ]
        self._place_columns()
        self._place_rows()

    def _place_columns(self) -> None:
        left, right = [0.0] * self.columns, [0.0] * self.columns
        for name, extent in self.extents.items():
            column = self.things[name].at[0]
            left[column] = max(left[column], extent.left)
            right[column] = max(right[column], extent.right)
        words, crossed = defaultdict(float), set()
        self.turns: dict[tuple, list] = defaultdict(list)  # (gap, side) -> who turns there
        for arrow, source, route in self.routes:
            wide = text_width(arrow.text, bold=self.diagram.state_of(arrow) == "lit")
            column = route.target[0]
            crossed.update(range(min(route.source[0], column), max(route.source[0], column)))
            turn = turn_place(route)
            if turn is not None:
                who = bus(arrow, source)
                if who not in self.turns[turn]:
                    self.turns[turn].append(who)
            if source != arrow.sources[0] or route.turn in ("above", "below"):
                continue
            if route.upright:
                right[column] = max(right[column], wide + 8)
            else:
                gap = route.target_gap
                words[gap] = max(words[gap], wide)
        before, after = self._room(LEFT), self._room(RIGHT)
        self.gaps: dict[int, tuple[float, float]] = {}  # where arrows run, between the brackets
        self.centre_x: list[float] = []
        x = MARGIN
        for column in range(self.columns):
            x += before[column] + left[column]
            self.centre_x.append(x)
            x += right[column] + after[column]
            if column + 1 < self.columns:
                start = x
                turns = len(self.turns[column, "left"]) + len(self.turns[column, "right"])
                if column in crossed:
                    x += TURN * turns + (words[column] + 10 if words[column] else 22)
                else:
                    x += 16
                self.gaps[column] = (start, x)
        self.width = x + MARGIN

    def _place_rows(self) -> None:
        up, down = [20.0] * self.rows, [0.0] * self.rows
        for name, extent in self.extents.items():
            row = self.things[name].at[1]
            up[row] = max(up[row], extent.up)
            down[row] = max(down[row], extent.down)
        high = defaultdict(float)
        self.channels: dict[tuple, list] = defaultdict(list)  # (row gap, side) -> arrows in it
        for arrow, source, route in self.routes:
            if route.turn in ("above", "below"):
                side = "low" if route.turn == "above" else "high"
                self.channels[route.row_gap, side].append((arrow, source))
            elif route.upright:
                high[route.row_gap] = max(high[route.row_gap], 34 if arrow.text else 28)
        for arrow in self.diagram.arrows:
            if arrow.weight is not None:
                rows = sorted({self.things[name].at[1] for name in (*arrow.sources, arrow.target)})
                for row in range(rows[0], rows[-1]):
                    high[row] = max(high[row], 60)
        before, after = self._room(TOP), self._room(BOTTOM)
        self.title = wrap(self.diagram.title, int(max(self.width, 300) / 8))
        y = MARGIN + 20 * len(self.title)
        self.centre_y: list[float] = []
        self.row_edges: list[tuple[float, float]] = []
        y += self._channel_height(-1)
        for row in range(self.rows):
            y += before[row]
            top = y
            y += up[row]
            self.centre_y.append(y)
            y += down[row]
            self.row_edges.append((top, y))
            y += after[row]
            if row + 1 < self.rows:
                y += max(high[row], 16) + self._channel_height(row)
        self.height = y + self._channel_height(self.rows - 1) + MARGIN
        self.width = max(
            self.width, *(text_width(line, NAME_SIZE + 1, True) + 2 * MARGIN for line in self.title)
        )

    def _channel_height(self, gap: int) -> float:
        return sum(
            14.0 + max([LABEL * bool(arrow.text) for arrow, _ in self.channels[gap, side]])
            for side in ("high", "low")
            if self.channels[gap, side]
        )

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

    def _room(self, side: int) -> dict[int, float]:
        """Return the room that brackets take at one side of each column, or row."""
        room = defaultdict(float)
        for bracket in self.diagram.brackets:
            at = self._span(bracket)[side]
            edge = EDGE + LABEL if side == TOP else EDGE
            room[at] = max(room[at], edge * self._depth(bracket, side))
        return room

    def centre(self, name: str) -> tuple[float, float]:
        """Return the centre of a block's body."""
        column, row = self.things[name].at
        return self.centre_x[column], self.centre_y[row]

    def scene(self) -> Scene:
        """Return everything that is drawn, from the bottom up."""
        scene = Scene(self.width, self.height)
        for line, text in enumerate(self.title):
            scene.items.append(
                Text(MARGIN, MARGIN + 14 + 20 * line, text, NAME_SIZE + 1, "start", True)
            )
        for bracket in sorted(self.diagram.brackets, key=lambda bracket: -len(bracket.blocks)):
            scene.items.extend(self._frame(bracket))
        scene.items += [
            highlight(thing, *self.centre(thing.name), self.cell_size)
            for thing in self.diagram.blocks
            if thing.state == "lit"
        ]
        for arrow in self.diagram.arrows:
            if arrow.weight is not None:
                for source in arrow.sources:
                    scene.items.append(self._beam(arrow, source))
        order = {"grey": 0, "known": 1, "lit": 2}  # what is lit lies on top
        for arrow, source, route in sorted(
            self.routes, key=lambda way: order[self.diagram.state_of(way[0])]
        ):
            scene.items.extend(self._arrow(arrow, source, route))
        for thing in self.diagram.blocks:
            scene.items.append(paint(thing, *self.centre(thing.name), self.cell_size))
        return scene

    def _frame(self, bracket: Bracket) -> list:
        spots = [(self.centre(name), self.extents[name]) for name in bracket.blocks]
        depth = [self._depth(bracket, side) for side in range(4)]
        top_row, bottom_row = self._span(bracket)[TOP:]
        left = min(x - extent.left for (x, _), extent in spots) - EDGE * depth[LEFT] + 4
        right = max(x + extent.right for (x, _), extent in spots) + EDGE * depth[RIGHT] - 4
        top = self.row_edges[top_row][0] - (EDGE + LABEL) * depth[TOP] + 4
        bottom = self.row_edges[bottom_row][1] + EDGE * depth[BOTTOM] - 4
        right = max(right, left + text_width(bracket.text, bold=True) + 16)
        tone = {"lit": "lit", "grey": "faint"}.get(bracket.state, "line")
        dashed = bracket.state == "grey"
        fill, line = ("highlight", 2) if bracket.state == "lit" else ("ground", 1.2)
        return [
            Box(left, top, right - left, bottom - top, fill, tone, line, 8, dashed),
            Text(left + 8, top + 16, bracket.text, 12, "start", True, ink(bracket.state)),
        ]

    def _beam(self, arrow: Arrow, source: str) -> Line:
        """Draw a straight line as thick as its weight."""
        (x0, y0), (x1, y1) = self.centre(source), self.centre(arrow.target)
        start, end = self.extents[source], self.extents[arrow.target]
        if abs(y1 - y0) < 1:
            side = 1 if x1 > x0 else -1
            points = [(x0 + side * (start.right + 2), y0), (x1 - side * (end.left + 2), y1)]
        elif y1 > y0:
            points = [(x0, y0 + start.down + 2), (x1, y1 - end.up - 4)]
        else:
            points = [(x0, y0 - start.up - 2), (x1, y1 + end.down + 4)]
        tone = "faint" if self.diagram.state_of(arrow) == "grey" else "weight"
        return Line(points, tone, 0.6 + 8 * arrow.weight)

    def _arrow(self, arrow: Arrow, source: str, route: Route) -> list:
        state = self.diagram.state_of(arrow)
        tone = {"lit": "lit", "grey": "faint"}.get(state, "line")
        points = self._points(arrow, source, route)
        items: list = [Line(points, tone, 2 if state == "lit" else 1.5, head=True)]
        if arrow.text and source == arrow.sources[0]:
            if route.turn in ("above", "below"):
                (x0, y0), (x1, _) = points[1:3]
                x, y, anchor = (x0 + x1) / 2, y0 - 5, "middle"
            elif route.upright:
                top, bottom = self._row_gap(route)
                x, y, anchor = points[-1][0] + 7, (top + bottom) / 2 + 4, "start"
            else:
                start, end = self._words(route.target_gap)
                x, anchor = (start + end) / 2, "middle"
                y = points[0 if route.turn == "late" else -1][1] - 5
            items.append(Text(x, y, arrow.text, 12, anchor, state == "lit", ink(state)))
        return items

    def _row_gap(self, route: Route) -> tuple[float, float]:
        """Return top and bottom of an upright arrow's last stretch."""
        name = next(n for n, thing in self.things.items() if thing.at == route.target)
        extent, y = self.extents[name], self.centre(name)[1]
        if route.falls:
            return self.row_edges[route.row_gap][1], y - extent.up
        return y + extent.down, self.row_edges[route.row_gap + 1][0]

    def _words(self, gap: int) -> tuple[float, float]:
        """Return where words stand in a gap between columns: beside the turns."""
        start, end = self.gaps[gap]
        left, right = len(self.turns[gap, "left"]), len(self.turns[gap, "right"])
        return start + TURN * left, end - TURN * right

    def _turn_x(self, arrow: Arrow, source: str, route: Route) -> float:
        gap, side = turn_place(route)
        start, end = self.gaps[gap]
        slot = self.turns[gap, side].index(bus(arrow, source))
        return start + 5 + TURN * slot if side == "left" else end - 8 - TURN * slot

    def _points(self, arrow: Arrow, source: str, route: Route) -> list[tuple[float, float]]:
        (x0, y0), (x1, y1) = self.centre(source), self.centre(arrow.target)
        start, end = self.extents[source], self.extents[arrow.target]
        leave_right = x0 + start.body[0] / 2 + 3
        leave_left = x0 - start.body[0] / 2 - start.labels - 3
        enter_left = x1 - end.body[0] / 2 - end.labels - 4
        enter_right = x1 + end.body[0] / 2 + 4
        leave = (leave_right if route.right else leave_left, y0)
        enter = (enter_left if route.right else enter_right, y1)
        low, high = (x0, y0 + start.body[1] / 2 + 3), (x0, y0 - start.up - 1)
        enter_top, enter_low = (x1, y1 - end.up - 2), (x1, y1 + end.body[1] / 2 + 4)
        if route.turn in ("above", "below"):
            return self._round(arrow, source, route, low, high, enter_top, enter_low)
        if route.turn in ("early", "late"):
            x = self._turn_x(arrow, source, route)
            return [leave, (x, y0), (x, y1), enter]
        if route.turn == "over":
            return [leave, (x1, y0), enter_top if route.falls else enter_low]
        if route.turn == "down":
            return [low if route.falls else high, (x0, y1), enter]
        if route.upright:
            return [low, enter_top] if route.falls else [high, enter_low]
        return [leave, enter]

    def _round(self, arrow, source, route, low, high, enter_top, enter_low) -> list:
        """Return the way round what stands in between, above or below it."""
        above = route.turn == "above"
        side = "low" if above else "high"
        slot = self.channels[route.row_gap, side].index((arrow, source))
        edge = self.row_edges[route.source[1]][0 if above else 1]
        y = edge - 6 - TURN * slot if above else edge + 10 + LABEL * bool(arrow.text) + TURN * slot
        first, last = (high, enter_top) if above else (low, enter_low)
        return [first, (first[0], y), (last[0], y), last]


def bus(arrow: Arrow, source: str) -> tuple:
    """Return with whom an arrow shares its turn: others from its source, or all to one target."""
    return ("from", source) if len(arrow.sources) == 1 else ("to", arrow.target)


def turn_place(route: Route) -> tuple[int, str] | None:
    """Return the gap between columns in which an arrow turns, and at which side of it."""
    if route.turn == "early":
        return route.source_gap, "left" if route.right else "right"
    if route.turn == "late":
        return route.target_gap, "right" if route.right else "left"
    return None


def ink(state: str) -> str:
    return "soft" if state == "grey" else "ink"


def measure(thing: Thing, cell: tuple[int, int]) -> Extent:
    """Return how far a block reaches from its centre."""
    width, height = body_size(thing, cell)
    labels = row_label_width(thing)
    lines = captions(thing)
    above = sum(size + 3 for _, size, _ in lines)
    above += 15 if isinstance(thing, Block) and thing.columns else 0
    half = max([width / 2, *(text_width(*line) / 2 for line in lines)])
    pad = 5
    return Extent(
        left=max(half, width / 2 + labels) + pad,
        right=half + pad,
        up=height / 2 + above + pad + 2,
        down=height / 2 + pad,
        body=(width, height),
        labels=labels,
    )
