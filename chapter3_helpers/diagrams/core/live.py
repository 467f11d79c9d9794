"""A diagram as SVG, for explorers: it follows the theme, can be hovered over and read aloud."""

import html
import math
from typing import TYPE_CHECKING

from chapter3_helpers._figures.colours import CELL_BORDER
from chapter3_helpers.diagrams.core import drawing
from chapter3_helpers.diagrams.core.scene import Box, Cells, Group, Line, Text
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


def draw(diagram: "Diagram") -> str:
    """Return a diagram as an ``svg`` element; its description says every arrow."""
    scene = drawing.draw(diagram)
    said = describe(diagram, numbers=False).split("\n", 1)  # cells say their own
    inside = "".join(map(_paint, scene.items))
    return (
        f'<svg viewBox="0 0 {scene.width:.0f} {scene.height:.0f}" width="{scene.width:.0f}" '
        f'role="group" aria-label="{html.escape(said[0])}" '
        'style="max-width:100%;height:auto;font-family:var(--jp-ui-font-family,sans-serif)">'
        f"<desc>{html.escape(said[-1])}</desc>{inside}</svg>"
    )


def _paint(item) -> str:
    if isinstance(item, Group):
        label = html.escape(item.label)
        inside = "".join(map(_paint, item.items))
        return f'<g role="img" aria-label="{label}"><title>{label}</title>{inside}</g>'
    if isinstance(item, Cells):
        return _cells(item)
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
    """Draw one rectangle a cell, with its number for whoever points at it."""
    wide, high = item.cell
    size = f"width={wide:.5g} height={high:.5g}"
    parts = []
    for i, (colours, notes) in enumerate(zip(item.colours, item.notes, strict=True)):
        y = f"{item.y + i * high:.5g}"
        parts += [
            f"<rect x={item.x + j * wide:.5g} y={y} {size} fill={colour}><title>"
            f"{_safe(note)}</title></rect>"
            for j, (colour, note) in enumerate(zip(colours, notes, strict=True))
        ]
    border = f" stroke={CELL_BORDER} stroke-width=.4" if min(wide, high) >= 6 else ""
    parts = [f"<g{border}>", *parts, "</g>"]
    crosses = item.crosses()
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
