"""Which ways arrows take, and a diagram as the lines, texts and cells that it is drawn with."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from chapter3_helpers.diagrams.core.layout import MARGIN, TURN, Layout
from chapter3_helpers.diagrams.core.painting import highlight, paint
from chapter3_helpers.diagrams.core.parts import Arrow, Bracket
from chapter3_helpers.diagrams.core.scene import Box, Line, Point, Scene, Text, text_width

if TYPE_CHECKING:
    from chapter3_helpers.diagrams.core.diagram import Diagram

At = tuple[int, int]  # (column, row)
ORDER = ("grey", "known", "lit")  # what is lit lies on top
LINES = {"grey": "faint", "known": "line", "lit": "lit"}
INKS = {"grey": "soft", "known": "ink", "lit": "ink"}


@dataclass(frozen=True)
class Route:
    """One way from a block to another. Gap ``c`` between columns lies right of column ``c``.

    ``turn`` says where it turns: ``nowhere``, ``early`` (in the gap beside the source), ``late``
    (in the gap beside the target), ``right`` (out at the right and in again at the right, within a
    column), ``below`` (out at the bottom, along the gap below the source's row, and into the
    target: from above, or from below where it stands in the same row).
    """

    source: At
    target: At
    turn: str

    @property
    def leaves_right(self) -> bool:
        return self.target[0] > self.source[0] or self.turn == "right"

    @property
    def falls(self) -> bool:
        return self.target[1] > self.source[1]

    @property
    def upright(self) -> bool:
        """Whether it enters the target from above or below, without a turn."""
        return self.turn == "nowhere" and self.source[0] == self.target[0]

    @property
    def gap_of_words(self) -> int:
        """The gap between columns in which its words stand, beside the target."""
        column = self.target[0]
        return column - 1 if column > self.source[0] else column

    @property
    def spot_of_words(self) -> tuple:
        """What no two arrows may share if both carry words."""
        if self.upright or self.turn == "below":
            return self.turn, self.target[0], self.row_gap
        return "gap", self.gap_of_words, self.source[1] if self.turn == "late" else self.target[1]

    @property
    def turn_gap(self) -> tuple[int, str] | None:
        """The gap between columns in which it turns, and at which side of that."""
        column = self.source[0]
        if self.turn == "right":
            return column, "right"
        if self.turn == "early":
            return (column, "left") if self.leaves_right else (column - 1, "right")
        if self.turn == "late":
            return self.gap_of_words, "right" if self.leaves_right else "left"
        return None

    @property
    def row_gap(self) -> int:
        """The gap below row ``r`` through which it comes to the target."""
        if self.turn == "below":
            return self.source[1]
        return self.target[1] - 1 if self.falls else self.target[1]


@dataclass(frozen=True)
class Way:
    """How an arrow gets from one of its sources to its target."""

    arrow: Arrow
    source: str
    route: Route
    state: str

    @property
    def words(self) -> str:
        """What is written on it; of several sources only the first has the words."""
        return self.arrow.text if self.source == self.arrow.sources[0] else ""

    @property
    def stretch(self) -> tuple[str, str]:
        """Whose turns lie on each other: those of all ways from a source, or to a target."""
        single = len(self.arrow.sources) == 1
        return ("from", self.source) if single else ("to", self.arrow.target)


def find_route(
    source: At,
    target: At,
    taken: Iterable[At],
    via: str | None = None,
    words: Iterable[tuple] = (),
) -> Route | None:
    """Return the first way that crosses no other block; None if there is none.

    Args:
        source, target: where it starts and ends.
        taken: where blocks stand.
        via: the way to take, as for ``Arrow``.
        words: spots at which its own words could not stand, since others do.

    >>> find_route((0, 0), (2, 1), taken=[(1, 1)]).turn
    'late'
    """
    (c0, r0), (c1, r1) = source, target
    columns = range(min(c0, c1) + 1, max(c0, c1))
    down = {(c1, row) for row in range(min(r0, r1) + 1, max(r0, r1))}
    early, late = ({(column, row) for column in columns} for row in (r1, r0))
    if source == target or (via == "right" and c0 != c1) or (via == "below" and r0 > r1):
        turns = {}
    elif via == "right":
        turns = {"right": set()}
    elif c0 == c1 or (r0 == r1 and via is None):
        turns = {"nowhere": down | early}
    elif via == "below":
        turns = {"below": down}
    else:
        turns = {"early": early, "late": late}
    routes = (Route(source, target, turn) for turn, way in turns.items() if way.isdisjoint(taken))
    return next((route for route in routes if route.spot_of_words not in words), None)


def draw(diagram: "Diagram") -> Scene:
    """Return everything that is drawn, from the bottom up."""
    layout = Layout(diagram)
    items: list = [
        Text(MARGIN, MARGIN + 14 + 20 * line, text, size, "start", bold)
        for line, (text, size, bold) in enumerate(layout.title)
    ]
    ways = sorted(diagram.ways, key=lambda way: ORDER.index(way.state))
    arrows = [item for way in ways for item in draw_way(layout, way)]
    for bracket in sorted(diagram.brackets, key=lambda bracket: -len(bracket.blocks)):
        items += draw_bracket(layout, bracket, arrows)
    placed = [
        (block, layout.columns.sizes[block.key], *layout.middle(block.key))
        for block in diagram.blocks
    ]
    items += [highlight(*spot) for block, *spot in placed if block.state == "lit"]
    for arrow in diagram.arrows:
        if arrow.weight is not None:  # a straight line down, as thick as its weight
            width, end = 0.6 + 5 * arrow.weight, layout.extent(arrow.target)
            for start in map(layout.extent, arrow.sources):
                points = [(start.x, start.bottom + 2), (end.x, end.top - 2)]
                items.append(Line(points, "line", width, head=True))
    return Scene(layout.width, layout.height, [*items, *arrows, *(paint(*spot) for spot in placed)])


def draw_bracket(layout: Layout, bracket: Bracket, arrows: list) -> list:
    """Draw a frame, and its text at the left or in the middle: where no arrow is."""
    left, right, top, bottom = layout.frame(bracket)
    wide = text_width(bracket.words, bold=True)
    starts = [left + 8, (left + right - wide) / 2]
    crossed = [
        x
        for line in arrows
        if isinstance(line, Line)
        for (x, y), (_, end) in pairwise(line.points)
        if min(y, end) < top + 16 and top + 6 < max(y, end)
    ]
    free = [start for start in starts if not any(start < x < start + wide for x in crossed)]
    edge, dashed = LINES[bracket.state], bracket.state == "grey"
    line = 2.5 if bracket.state == "lit" else 1.2
    return [
        Box(left, top, right - left, bottom - top, "ground", edge, line, 8, dashed),
        Text((free or starts)[0], top + 16, bracket.words, 12, "start", True, INKS[bracket.state]),
    ]


def draw_way(layout: Layout, way: Way) -> list:
    """Draw an arrow from one of its sources, with its words."""
    lit, points = way.state == "lit", corners(layout, way)
    items: list = []
    if not way.arrow.sign:
        items.append(Line(points, LINES[way.state], 2 if lit else 1.5, head=True))
    if way.words:
        x, y, anchor = place_of_words(layout, way, points)
        items.append(Text(x, y, way.words, 12, anchor, lit, INKS[way.state]))
    return items


def place_of_words(layout: Layout, way: Way, points: list[Point]) -> tuple[float, float, str]:
    """Return where the words on an arrow stand: beside its last stretch, next to the target."""
    route = way.route
    if route.turn == "below":
        return (points[1][0] + points[2][0]) / 2, points[1][1] - 5, "middle"
    if route.upright:
        _, _, top = layout.rows[route.row_gap]
        bottom, _, _ = layout.rows[route.row_gap + 1]
        at_left = route in layout.columns.words_left
        x = points[-1][0] + (-7 if at_left else 7)
        return x, (top + bottom) / 2 + 4, "end" if at_left else "start"
    start, end = layout.columns.gaps[route.gap_of_words]
    start += TURN * len(layout.turns[route.gap_of_words, "left"])
    end -= TURN * len(layout.turns[route.gap_of_words, "right"])
    line = points[0 if route.turn == "late" else -1][1]
    return (start + end) / 2, line + (4 if way.arrow.sign else -5), "middle"


def corners(layout: Layout, way: Way) -> list[Point]:
    """Return the corners of an arrow, its ends included."""
    route = way.route
    start, end = layout.extent(way.source), layout.extent(way.arrow.target)
    out = (start.right + 3 if route.leaves_right else start.left - 3, start.y)
    low, into_top = (start.x, start.bottom + 3), (end.x, end.top + 3)
    into = (end.left - 4 if end.x > start.x else end.right + 4, end.y)
    if route.turn == "below":
        y = layout.channel_y(way)
        return [low, (start.x, y), (end.x, y), into_top if route.falls else (end.x, end.bottom + 4)]
    if route.turn_gap:
        gap, side = route.turn_gap
        left, right = layout.columns.gaps[gap]
        slot = TURN * layout.turns[gap, side].index(way.stretch)
        x = left + 5 + slot if side == "left" else right - 8 - slot
        return [out, (x, out[1]), (x, into[1]), into]
    if route.upright:
        rises = [(start.x, start.top + 4), (end.x, end.bottom + 4)]
        return [low, into_top] if route.falls else rises
    return [out, into]
