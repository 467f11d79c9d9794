"""A diagram as SVG, for explorers: it follows the theme, can be hovered over and read aloud."""

import html
import json
import math

from chapter3_helpers._figures.colours import CELL_BORDER
from chapter3_helpers._figures.writing import visible
from chapter3_helpers._language import say
from chapter3_helpers.diagrams.core.painting import EMPTY, drawn
from chapter3_helpers.diagrams.core.parts import Block
from chapter3_helpers.diagrams.core.scene import (
    Box,
    Cells,
    Grip,
    Group,
    Line,
    Scene,
    Text,
    colour_of,
)

# all cells of a block are of one size, said once
SIZES = "<style>.c3cells rect{width:var(--w);height:var(--h)}</style>"


def draw(scene: Scene, description: str, strips: bool) -> str:
    """Return a scene as an ``svg`` element.

    Args:
        scene: what is drawn.
        description: the same in words, the title on the first line.
        strips: whether each block is a button.
    """
    lines = description.split("\n", 1)
    first = next(item for item in scene.items if isinstance(item, Group))
    pieces = [
        f'<svg viewBox="0 0 {scene.width:.0f} {scene.height:.0f}" width="{scene.width:.0f}" '
        f'role="group" aria-label="{_escape(lines[0])}" '
        'style="max-width:100%;height:auto;font-family:var(--jp-ui-font-family,sans-serif)">'
        f"<desc>{html.escape(lines[-1])}</desc>{SIZES}"
    ]
    for item in scene.items:
        if isinstance(item, Group):
            pieces.append(_group(item, strips, item is first))
        else:
            pieces.append(_paint(item))
    return "".join([*pieces, "</svg>"])


def _group(group: Group, strips: bool, first: bool) -> str:
    """Draw a block under its name."""
    block = group.block
    label = _escape(block.label)
    if strips:
        stop = f"data-stop=strip tabindex={0 if first else -1}"
        role = f'role="button" data-strip="{_escape(block.name)}" {stop}'
    elif any(isinstance(part, Grip) for part in group.items):
        role = 'role="group"'
    else:
        role = 'role="img"'
    inside = "".join(
        _cells(part, _sides(block)) if isinstance(part, Cells) else _paint(part)
        for part in group.items
    )
    return f'<g {role} aria-label="{label}"><title>{label}</title>{inside}</g>'


def _sides(block: Block) -> tuple[list[str], list[str]]:
    """Return the attributes that say which query or key each row and each column is."""
    rows, columns = (
        ["" if not side or n is None else f" data-{side}={n}" for n in numbers]
        for side, numbers in zip(block.sides, drawn(block), strict=True)
    )
    return rows, columns


def _paint(item) -> str:
    if isinstance(item, Text):
        bold = " font-weight=600" if item.bold else ""
        return (
            f"<text x={item.x:.1f} y={item.y:.1f} font-size={item.size:g} "
            f'text-anchor={item.anchor} fill="{_tone(item.tone)}"{bold} '
            f'style="pointer-events:none">{_escape(item.text)}</text>'
        )
    if isinstance(item, Grip):
        return _grip(item)
    if isinstance(item, Box):
        dashes = ' stroke-dasharray="3 3"' if item.dashed else ""
        return (
            f"<rect x={item.x:.1f} y={item.y:.1f} width={item.width:.1f} height={item.height:.1f} "
            f'rx={item.radius:g} fill="{_tone(item.fill)}" stroke="{_tone(item.edge)}" '
            f'stroke-width={item.line:g}{dashes} pointer-events="none"/>'
        )
    return _line(item)


def _grip(item: Grip) -> str:
    """Draw nothing but a place for mouse, finger and keyboard."""
    x, y = item.vector
    moves = html.escape(json.dumps(item.moves, separators=(",", ":")))
    name = _escape(item.moves["name"])
    label = _escape(say("head of {name}, moved by the four arrow keys", name=item.moves["name"]))
    return (
        f'<circle data-drag="{moves}" data-stop="drag {name}" tabindex=0 role=slider '
        f'aria-label="{label}" '
        f'aria-valuenow={math.hypot(x, y):.1f} aria-valuetext="({x:z.2f}, {y:z.2f})" '
        f'cx={item.tip[0]:.1f} cy={item.tip[1]:.1f} r=16 fill="#0000"/>'
    )


def _escape(text: str) -> str:
    """Make a text safe inside SVG, in attributes too."""
    return html.escape(visible(text))


def _tone(tone: str) -> str:
    return colour_of(tone, live=True)


def _cells(item: Cells, sides: tuple[list[str], list[str]]) -> str:
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
    of_rows, of_columns = sides
    for i, row in enumerate(zip(item.colours, item.notes, item.crossed, strict=True)):
        parts.append(
            f'<g transform="translate({item.x:.5g} {item.y + i * high:.5g})"{of_rows[i]}>'
            f"<title>{html.escape(' '.join(row[1]))}</title>"
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
