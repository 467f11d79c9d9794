"""A diagram as SVG, for explorers: it follows the theme, can be hovered over and read aloud.

While a slider moves, only the numbers change: all else is kept as a template, text with places for
the cells of each block.
"""

import html
from dataclasses import fields

from chapter3_helpers._figures.colours import CELL_BORDER
from chapter3_helpers.diagrams.core import drawing
from chapter3_helpers.diagrams.core.blocks import Block, Plane
from chapter3_helpers.diagrams.core.graph import Graph
from chapter3_helpers.diagrams.core.painting import drawn, paint_numbers
from chapter3_helpers.diagrams.core.scene import Box, Cells, Group, Line, Text, colour_of
from chapter3_helpers.diagrams.core.shades import EMPTY
from chapter3_helpers.diagrams.core.words import describe

# all cells of a block are of one size, said once
SIZES = "<style>.c3cells rect{width:var(--w);height:var(--h)}</style>"
MOST_KEPT = 16  # templates
NUMBERS = ("values", "hidden", "limit")  # of a block: a template has places for them
_templates: dict[tuple, tuple] = {}


def draw(graph: Graph, strips: bool = False) -> str:
    """Return a diagram as an ``svg`` element; its description says every arrow.

    Args:
        strips: whether each block is a button.
    """
    key = _structure(graph, strips)
    template = _templates.pop(key, None) or _template(graph, strips)
    if key is not None:
        _templates[key] = template  # as the newest
        if len(_templates) > MOST_KEPT:
            del _templates[next(iter(_templates))]
    texts, places = template
    parts = [texts[0]]
    for (number, *place), text in zip(places, texts[1:], strict=True):
        block = graph.blocks[number]
        parts += [_cells(paint_numbers(block, *place), _sides(block)), text]
    return "".join(parts)


def _sides(block: Block) -> tuple[list[str], list[str]] | None:
    """Return the attributes that say which query or key a row and a column are."""
    if not any(block.sides):
        return None
    rows, columns = (
        [f" data-{side}={n}" if side else "" for n in drawn(count)]
        for side, count in zip(block.sides, block.values.shape, strict=True)
    )
    return rows, columns


def _structure(graph: Graph, strips: bool) -> tuple | None:
    """Return everything that shapes a drawing, except the numbers that colour its cells.

    Numbers that are written out or drawn as arrows shape it, too: then None. The key holds texts
    and sizes alone, so the arrays of an earlier diagram are not kept in memory.
    """
    parts: list = [graph.title, graph.note, graph.cell, strips]
    for thing in graph.blocks:
        if isinstance(thing, Plane) or thing.numbers:
            return None
        tokens = thing.kind == "tokens"
        sized = thing.values is not None and not tokens
        parts.append(thing.values.shape if sized else tokens and tuple(thing.values[:, 0]))
    for thing in (*graph.blocks, *graph.arrows, *graph.brackets):
        texts = (getattr(thing, part.name) for part in fields(thing) if part.name not in NUMBERS)
        parts += [tuple(text) if isinstance(text, list) else text for text in texts]
    return tuple(parts)


def _template(graph: Graph, strips: bool) -> tuple[tuple[str, ...], tuple]:
    """Return the texts between the cells of the blocks, and where these stand: (which block,
    size of a cell, left, top)."""
    scene = drawing.draw(graph)
    said = describe(graph, numbers=False).split("\n", 1)  # rows of cells say their numbers
    pieces = [
        f'<svg viewBox="0 0 {scene.width:.0f} {scene.height:.0f}" width="{scene.width:.0f}" '
        f'role="group" aria-label="{html.escape(said[0])}" '
        'style="max-width:100%;height:auto;font-family:var(--jp-ui-font-family,sans-serif)">'
        f"<desc>{html.escape(said[-1])}</desc>{SIZES}"
    ]
    texts, places, block = [], [], -1
    for item in scene.items:
        if not isinstance(item, Group):
            pieces.append(_paint(item))
            continue
        block += 1  # blocks stand in their order
        label = html.escape(item.label)
        button = ""
        if strips:
            name = html.escape(graph.blocks[block].name)
            button = f' data-strip="{name}" data-stop=strip tabindex={-1 if block else 0}'
        role = "button" if strips else "img"
        pieces.append(f'<g role="{role}" aria-label="{label}"{button}><title>{label}</title>')
        for part in item.items:
            if isinstance(part, Cells):
                texts.append("".join(pieces))
                places.append((block, part.cell, part.x, part.y))
                pieces = []
            else:
                pieces.append(_paint(part))
        pieces.append("</g>")
    return (*texts, "".join([*pieces, "</svg>"])), tuple(places)


def _paint(item) -> str:
    if isinstance(item, Text):
        bold = " font-weight=600" if item.bold else ""
        return (
            f"<text x={item.x:.1f} y={item.y:.1f} font-size={item.size:g} "
            f'text-anchor={item.anchor} fill="{_tone(item.tone)}"{bold} '
            f'style="pointer-events:none">{html.escape(item.text)}</text>'
        )
    if isinstance(item, Box):
        dashes = ' stroke-dasharray="3 3"' if item.dashed else ""
        return (
            f"<rect x={item.x:.1f} y={item.y:.1f} width={item.width:.1f} height={item.height:.1f} "
            f'rx={item.radius:g} fill="{_tone(item.fill)}" stroke="{_tone(item.edge)}" '
            f'stroke-width={item.line:g}{dashes} pointer-events="none"/>'
        )
    return _line(item)


def _safe(text: str) -> str:
    """Escape a text where it may need it; most are numbers."""
    return html.escape(text) if "<" in text or "&" in text else text


def _tone(tone: str) -> str:
    return colour_of(tone, live=True)


def _cells(item: Cells, sides: tuple[list[str], list[str]] | None) -> str:
    """Draw one rectangle for each cell; a row shows its numbers while the mouse is over it.

    Hidden cells have no rectangle of their own: they are crosses on one common ground.
    """
    wide, high = item.cell
    columns = [f"{j * wide:.5g}" for j in range(len(item.colours[0]))]
    border = f" stroke={CELL_BORDER} stroke-width=.4" if min(wide, high) >= 6 else ""
    parts = []
    crosses = item.crosses()
    if crosses:
        across, down = wide * len(columns), high * len(item.colours)
        parts.append(
            f"<rect x={item.x:.5g} y={item.y:.5g} width={across:.5g} height={down:.5g} "
            f'fill="{EMPTY}"/>'
        )
    parts.append(f'<g class="c3cells" style="--w:{wide:.5g}px;--h:{high:.5g}px"{border}>')
    of_rows, of_columns = sides or ([""] * len(item.colours), [""] * len(columns))
    for i, row in enumerate(zip(item.colours, item.notes, item.crossed, strict=True)):
        parts.append(
            f'<g transform="translate({item.x:.5g} {item.y + i * high:.5g})"{of_rows[i]}>'
            f"<title>{_safe(' '.join(row[1]))}</title>"
        )
        parts += [
            f"<rect x={x} fill={colour}{column} />"
            for x, colour, crossed, column in zip(columns, row[0], row[2], of_columns, strict=True)
            if not crossed
        ]
        parts.append("</g>")
    parts.append("</g>")
    if crosses:
        path = "".join(f"M{a:.5g} {b:.5g}L{c:.5g} {d:.5g}" for (a, b), (c, d) in crosses)
        parts.append(
            f'<path d="{path}" stroke="{colour_of("faint", live=True)}" pointer-events="none"/>'
        )
    return "".join(parts)


def _line(item: Line) -> str:
    colour = _tone(item.tone)
    points, corners = item.parts()
    head = "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
    dashes = ' stroke-dasharray="4 3"' if item.dashed else ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width={item.width:g}'
        f'{dashes} stroke-linejoin="round" pointer-events="none"/>'
        + (f'<path d="M{head}Z" fill="{colour}"/>' if corners else "")
    )
