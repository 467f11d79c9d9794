"""A diagram as SVG, for explorers: it follows the theme, can be hovered over and read aloud.

While a slider moves, only the numbers change: all else is kept as a template, text with places for
the cells of each block.
"""

import html
import math
from typing import TYPE_CHECKING

from chapter3_helpers._figures.colours import CELL_BORDER
from chapter3_helpers.diagrams.core import drawing
from chapter3_helpers.diagrams.core.blocks import Plane
from chapter3_helpers.diagrams.core.painting import paint_numbers
from chapter3_helpers.diagrams.core.scene import Box, Cells, Group, Line, Text
from chapter3_helpers.diagrams.core.shades import EMPTY
from chapter3_helpers.diagrams.core.words import describe

if TYPE_CHECKING:
    from chapter3_helpers.diagrams.core.diagram import Diagram

INK = "var(--jp-content-font-color1,#222)"
SOFT = "var(--jp-content-font-color2,#555)"
TONES = {
    "ink": INK,
    "soft": SOFT,
    "faint": "#888",
    "line": "#7d7d7d",  # not seen through, since lines share stretches
    "weight": "#7d7d7d",
    "lit": "#c07a00",
    "highlight": "#ffc10730",
    "ground": "#8080800f",
    "mark": "#000",
    "halo": "#fff",
    "shadow": "#8888",
}


# all cells of a block are of one size, said once
SIZES = "<style>.c3cells rect{width:var(--w);height:var(--h)}</style>"
MOST_KEPT = 16  # templates
_templates: dict[tuple, tuple] = {}


def draw(diagram: "Diagram") -> str:
    """Return a diagram as an ``svg`` element; its description says every arrow."""
    key = _structure(diagram)
    template = _templates.pop(key, None) or _template(diagram)
    if key is not None:
        _templates[key] = template  # as the newest
        if len(_templates) > MOST_KEPT:
            del _templates[next(iter(_templates))]
    texts, places = template
    parts = [texts[0]]
    for (number, *place), text in zip(places, texts[1:], strict=True):
        parts += [_cells(paint_numbers(diagram.blocks[number], *place)), text]
    return "".join(parts)


def _structure(diagram: "Diagram") -> tuple | None:
    """Return all on which a drawing depends but the numbers; None where it depends on them, too.

    It holds texts and numbers alone: what is kept keeps no tensor alive.
    """
    parts: list = [diagram.title, diagram.note, diagram.cell]
    for thing in diagram.blocks:
        if isinstance(thing, Plane) or thing.numbers:
            return None
        tokens = thing.kind == "tokens"
        values = thing.values if tokens or thing.values is None else thing.values.shape
        if tokens:
            values = tuple(values[:, 0])
        parts += [thing.name, thing.at, thing.state, thing.shape, thing.caption, thing.kind]
        parts += [values, thing.picked, thing.picked_column, thing.rows, thing.columns, thing.zoom]
    for end in (*diagram.arrows, *diagram.brackets):
        parts += vars(end).values()
    return tuple(tuple(part) if isinstance(part, list) else part for part in parts)


def _template(diagram: "Diagram") -> tuple[tuple[str, ...], tuple]:
    """Return the texts between the cells of the blocks, and where these stand: (which block,
    size of a cell, left, top)."""
    scene = drawing.draw(diagram)
    said = describe(diagram, numbers=False).split("\n", 1)  # cells say their own
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
        pieces.append(f'<g role="img" aria-label="{label}"><title>{label}</title>')
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
    return TONES.get(tone, tone) or "none"


def _cells(item: Cells) -> str:
    """Draw a rectangle a cell, with the numbers of its row for whoever points there.

    What is hidden is one ground for all of it, under crosses.
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
    for i, row in enumerate(zip(item.colours, item.notes, item.crossed, strict=True)):
        parts.append(
            f'<g transform="translate({item.x:.5g} {item.y + i * high:.5g})">'
            f"<title>{_safe(' '.join(row[1]))}</title>"
        )
        parts += [
            f"<rect x={x} fill={colour} />"
            for x, colour, crossed in zip(columns, row[0], row[2], strict=True)
            if not crossed
        ]
        parts.append("</g>")
    parts.append("</g>")
    if crosses:
        path = "".join(f"M{a:.5g} {b:.5g}L{c:.5g} {d:.5g}" for (a, b), (c, d) in crosses)
        parts.append(f'<path d="{path}" stroke="{TONES["faint"]}" pointer-events="none"/>')
    return "".join(parts)


def _line(item: Line) -> str:
    colour = _tone(item.tone)
    points = list(item.points)
    head = ""
    if item.head:
        (x0, y0), (x1, y1) = points[-2:]
        length = math.hypot(x1 - x0, y1 - y0) or 1.0
        a, b = (x1 - x0) / length, (y1 - y0) / length
        size = 5 + item.width
        x, y = x1 - size * a, y1 - size * b
        wing = 0.5 * size
        head = (
            f'<path d="M{x1:.1f} {y1:.1f}L{x - wing * b:.1f} {y + wing * a:.1f}'
            f'L{x + wing * b:.1f} {y - wing * a:.1f}Z" fill="{colour}"/>'
        )
        points[-1] = (x, y)
    dashes = ' stroke-dasharray="4 3"' if item.dashed else ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width={item.width:g}'
        f'{dashes} stroke-linejoin="round" pointer-events="none"/>{head}'
    )
