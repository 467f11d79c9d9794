"""A diagram as the lines, texts and cells that it is drawn with."""

from itertools import pairwise

from chapter3_helpers.diagrams.core.graph import Graph
from chapter3_helpers.diagrams.core.layout import MARGIN, TURN, Layout
from chapter3_helpers.diagrams.core.painting import highlight, paint
from chapter3_helpers.diagrams.core.parts import Bracket
from chapter3_helpers.diagrams.core.routes import Way
from chapter3_helpers.diagrams.core.scene import Box, Line, Point, Scene, Text, text_width

ORDER = ("grey", "known", "lit")  # what is lit lies on top
LINES = {"grey": "faint", "known": "line", "lit": "lit"}
INKS = {"grey": "soft", "known": "ink", "lit": "ink"}


def draw(diagram: Graph) -> Scene:
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
