"""A diagram as the lines, texts and cells that it is drawn with."""

from itertools import pairwise

from chapter3_helpers.diagrams.core.graph import Graph, Route
from chapter3_helpers.diagrams.core.layout import MARGIN, TURN, Layout, turning
from chapter3_helpers.diagrams.core.painting import highlight, paint
from chapter3_helpers.diagrams.core.parts import Arrow, Bracket
from chapter3_helpers.diagrams.core.scene import Box, Line, Point, Scene, Text, text_width

ORDER = ("grey", "known", "lit")  # what is lit lies on top
LINES = {"grey": "faint", "known": "line", "lit": "lit"}
INKS = {"grey": "soft", "known": "ink", "lit": "ink"}


def draw(graph: Graph) -> Scene:
    """Return everything that is drawn, from the bottom up."""
    layout = Layout(graph)
    items: list = [
        Text(MARGIN, MARGIN + 14 + 20 * line, text, size, "start", bold)
        for line, (text, size, bold) in enumerate(layout.title)
    ]
    ways = sorted(graph.ways, key=lambda way: ORDER.index(graph.state_of(*way[:2])))
    arrows = [item for way in ways for item in draw_arrow(layout, *way)]
    for bracket in sorted(graph.brackets, key=lambda bracket: -len(bracket.blocks)):
        items += draw_bracket(layout, bracket, arrows)
    spots = {thing: layout.extent(thing.name) for thing in graph.blocks}
    for thing, spot in spots.items():
        if thing.state == "lit":
            items.append(highlight(layout.sizes[thing.name], spot.x, spot.y))
    for arrow in graph.arrows:
        if arrow.weight is not None:
            items += [draw_beam(layout, arrow, source) for source in arrow.sources]
    items += arrows
    items += [
        paint(thing, layout.sizes[thing.name], spot.x, spot.y) for thing, spot in spots.items()
    ]
    return Scene(layout.width, layout.height, items)


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


def draw_beam(layout: Layout, arrow: Arrow, source: str) -> Line:
    """Draw a straight line down, as thick as its weight."""
    start, end = layout.extent(source), layout.extent(arrow.target)
    points = [(start.x, start.bottom + 2), (end.x, end.top - 2)]
    return Line(points, "line", 0.6 + 5 * arrow.weight, head=True)


def draw_arrow(layout: Layout, arrow: Arrow, source: str, route: Route) -> list:
    """Draw an arrow from one of its sources, and the words on it, if it is the first."""
    state = layout.graph.state_of(arrow, source)
    points = way_points(layout, arrow, source, route)
    items: list = []
    if not arrow.sign:
        items.append(Line(points, LINES[state], 2 if state == "lit" else 1.5, head=True))
    if arrow.text and source == arrow.sources[0]:
        x, y, anchor = word_spot(layout, arrow, route, points)
        items.append(Text(x, y, arrow.text, 12, anchor, state == "lit", INKS[state]))
    return items


def word_spot(layout: Layout, arrow: Arrow, route: Route, points: list) -> tuple:
    """Return where the words on an arrow stand: beside its last stretch, next to the target."""
    if route.turn == "below":
        return (points[1][0] + points[2][0]) / 2, points[1][1] - 5, "middle"
    if route.upright:
        gap = route.row_gap
        top, bottom = layout.row_edges[gap][2], layout.row_edges[gap + 1][0]
        left = route in layout.words_left
        return (
            points[-1][0] + (-7 if left else 7),
            (top + bottom) / 2 + 4,
            ("end" if left else "start"),
        )
    start, end = layout.gaps[route.word_gap]
    start += TURN * len(layout.turns[route.word_gap, "left"])
    end -= TURN * len(layout.turns[route.word_gap, "right"])
    line = points[0 if route.turn == "late" else -1][1]
    return (start + end) / 2, line + (4 if arrow.sign else -5), "middle"


def way_points(layout: Layout, arrow: Arrow, source: str, route: Route) -> list[Point]:
    """Return the corners of an arrow, its ends included."""
    start, end = layout.extent(source), layout.extent(arrow.target)
    out = (start.right + 3 if route.right else start.left - 3, start.y)
    low, into_top = (start.x, start.bottom + 3), (end.x, end.top + 3)
    into = (end.left - 4 if end.x > start.x else end.right + 4, end.y)
    if route.turn == "below":
        y = layout.channel_y(arrow, source, route)
        return [low, (start.x, y), (end.x, y), into_top if route.falls else (end.x, end.bottom + 4)]
    if route.turn_gap:  # early, late or side
        x = turn_x(layout, arrow, source, route)
        return [out, (x, out[1]), (x, into[1]), into]
    if route.upright:
        rises = [(start.x, start.top + 4), (end.x, end.bottom + 4)]
        return [low, into_top] if route.falls else rises
    return [out, into]


def turn_x(layout: Layout, arrow: Arrow, source: str, route: Route) -> float:
    gap, side = route.turn_gap
    start, end = layout.gaps[gap]
    slot = layout.turns[gap, side].index(turning(arrow, source))
    return start + 5 + TURN * slot if side == "left" else end - 8 - TURN * slot
