"""How blocks and planes look and how much room they take: colours, names, labels, marks."""

import math
from dataclasses import dataclass

import numpy as np

from chapter3_helpers._figures.colours import (
    KEY_COLOUR,
    QUERY_COLOUR,
    SIGNED_COLOURS,
    VALUE_COLOUR,
    WEIGHT_COLOURS,
    ink,
    levels,
    palette,
)
from chapter3_helpers._figures.writing import LONGEST_NAME, short, some_of, visible
from chapter3_helpers.diagrams.core.parts import Block, Plane
from chapter3_helpers.diagrams.core.scene import (
    Box,
    Cells,
    Grip,
    Group,
    Line,
    Point,
    Text,
    text_width,
)

NAME_SIZE, TEXT_SIZE = 13, 12
MOST_CELLS = 32  # rows or columns
PAD = 5  # around a block; that of a lit one is coloured
LABEL_ROW = 15  # the height of labels above columns
HUES = {"query": QUERY_COLOUR, "key": KEY_COLOUR, "value": VALUE_COLOUR}
NEGATIVE = "#4a4a4a"  # what is below zero is grey in queries, keys and values
SCALES = {kind: (NEGATIVE, "#ffffff", hue) for kind, hue in HUES.items()}
SCALES |= {"weights": WEIGHT_COLOURS, "signed": SIGNED_COLOURS}
OWNERS = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#0072B2", "#F0E442", "#D55E00", "#999999")
TOKEN = "#80808022"
EMPTY = "#80808033"  # a cell that is hidden, or not reached yet
GAP = "none"  # where rows or columns are left out


@dataclass(frozen=True, slots=True)
class Size:
    """How large a block is: its body, one cell of it, and how far all of it reaches from the
    centre of the body."""

    width: float
    height: float
    cell: tuple[float, float]
    left: float
    right: float
    up: float
    down: float
    labels: float  # of what stands at the left of the body


def measure(block: Block | Plane, cell: int) -> Size:
    """Return how large a block is, if its cells are so many pixels wide and high, or more."""
    wide = high = cell
    labels = above = 0.0
    if isinstance(block, Plane):
        width = height = block.size
    else:
        wide = high = cell * block.zoom
        texts = texts_of(block)
        if texts:
            wide = max(wide, 8 + max(text_width(text) for row in texts for text in row))
            high = max(high, 18)
        if block.columns:
            wide = max(wide, 4 + max(text_width(short(label)) for label in block.columns))
            above += LABEL_ROW
        if block.rows:
            high = max(high, 14)
            labels = 8 + max(text_width(short(label), bold=True) for label in block.rows)
        rows, columns = drawn(block)
        width, height = wide * len(columns), high * len(rows)
    lines = captions(block)
    half = max([width / 2, *(text_width(*line) / 2 for line in lines)])
    above += sum(size + 3 for _, size, _ in lines) + 2
    return Size(
        width,
        height,
        (wide, high),
        left=max(half, width / 2 + labels) + PAD,
        right=half + PAD,
        up=height / 2 + above + PAD,
        down=height / 2 + PAD,
        labels=labels,
    )


def drawn(block: Block) -> tuple[list[int | None], list[int | None]]:
    """Return which rows and which columns of a block are drawn, None for a gap."""
    rows, columns = block.values.shape
    return (
        some_of(rows, block.marked_row, MOST_CELLS),
        some_of(columns, block.marked_column, MOST_CELLS),
    )


def colours_of(block: Block) -> np.ndarray:
    """Return the colour of every cell."""
    if block.kind == "tokens":
        return np.full(block.values.shape, TOKEN)
    if block.state == "grey":
        return np.full(block.values.shape, EMPTY)
    if block.kind == "owner":
        return np.array(OWNERS)[(block.values % len(OWNERS)).astype(int)]
    places = levels(block.values, block.hidden, block.kind != "weights", block.limit)
    return np.where(block.hidden, EMPTY, palette(SCALES[block.kind])[places])


def captions(block: Block | Plane) -> list[tuple[str, float, bool]]:
    """Return the lines above a block: text, size, bold."""
    name = block.name if block.caption is None else block.caption
    if not name:
        return []
    lines = [(visible(name, LONGEST_NAME), NAME_SIZE, True)]
    if block.shape:
        lines.append((visible(block.shape, LONGEST_NAME), TEXT_SIZE, False))
    return lines


def texts_of(block: Block) -> list[list[str]] | None:
    """Return what stands in the cells, if anything does."""
    if block.kind == "tokens":
        return [[short(text) for text in row] for row in block.written()]
    if block.numbers and block.state != "grey":
        return block.written(decimals=2, hidden="")
    return None


def highlight(size: Size, x: float, y: float) -> Box:
    """Draw the ground on which a lit block stands, its name included."""
    left, up = size.left - 1, size.up - 1
    wide, high = left + size.right - 1, up + size.down - 1
    return Box(x - left, y - up, wide, high, "highlight", "lit", 1.5, 6)


def paint(block: Block | Plane, size: Size, x: float, y: float) -> Group:
    """Draw a block or a plane around a centre."""
    left, top = x - size.width / 2, y - size.height / 2
    base = top - 5
    if isinstance(block, Plane):
        items = paint_plane(block, left, top)
    else:
        items = _paint_cells(block, size, left, top)
        base -= LABEL_ROW * bool(block.columns)
    for text, points, bold in reversed(captions(block)):
        tone = "ink" if bold and block.state != "grey" else "soft"
        items.append(Text(x, base, text, points, "middle", bold, tone))
        base -= points + 3
    return Group(block, items)


def _paint_cells(block: Block, size: Size, left: float, top: float) -> list:
    (wide, high), grey = size.cell, block.state == "grey"
    rows, columns = drawn(block)

    def part(table: list[list], gap) -> list[list]:
        """Return what is drawn of a table."""
        if not table or None not in (*rows, *columns):
            return table
        return [[gap if None in (i, j) else table[i][j] for j in columns] for i in rows]

    colours = part(colours_of(block).tolist(), GAP)
    hidden, notes = part(block.hidden.tolist(), False), part(block.written(), "…")
    items: list = [Cells(left, top, size.cell, colours, notes, hidden)]
    if block.kind != "tokens":
        edge = "faint" if grey else HUES.get(block.kind, "line")
        line = 2 if block.kind in HUES and not grey else 1
        items.append(Box(left, top, size.width, size.height, "", edge, line, dashed=grey))
    for i, row in enumerate(part(texts_of(block) or [], "")):
        for j, text in enumerate(row):
            if text:
                spot = left + (j + 0.5) * wide, top + (i + 0.5) * high + 4
                if colours[i][j] in (TOKEN, EMPTY):  # the page shines through
                    tone = "soft" if grey else "ink"
                else:
                    tone = ink(colours[i][j])
                items.append(Text(*spot, text, TEXT_SIZE, tone=tone))
    row = None if block.marked_row is None else rows.index(block.marked_row)
    column = None if block.marked_column is None else columns.index(block.marked_column)
    if row is not None:
        items += _mark(left, top + row * high, size.width, high)
    if column is not None:
        items += _mark(left + column * wide, top, wide, size.height)
    for i, k in enumerate(rows if block.rows else ()):
        label, y = "⋮" if k is None else short(block.rows[k]), top + (i + 0.5) * high + 4
        items.append(Text(left - 5, y, label, TEXT_SIZE, "end", i == row))
    for j, k in enumerate(columns if block.columns else ()):
        label, x = "…" if k is None else short(block.columns[k]), left + (j + 0.5) * wide
        items.append(Text(x, top - 5, label, TEXT_SIZE, bold=j == column))
    return items


def _mark(x: float, y: float, width: float, height: float) -> list[Box]:
    """Draw a frame that is seen on light and on dark."""
    return [Box(x, y, width, height, "", "halo", 4), Box(x, y, width, height, "", "mark", 2)]


def paint_plane(plane: Plane, left: float, top: float) -> list:
    """Draw a plane from its upper left corner."""
    size, half = plane.size, plane.size / 2
    scale = half / plane.reach
    origin = (left + half, top + half)

    def spot(vector) -> Point:
        return origin[0] + scale * float(vector[0]), origin[1] - scale * float(vector[1])

    def arc(radius: float, start: float, end: float, tone: str, width: float) -> Line:
        turns = np.linspace(start, end, 60)
        return Line(
            [spot((radius * math.cos(t), radius * math.sin(t))) for t in turns], tone, width
        )

    items: list = [
        Box(left, top, size, size, "ground", "faint", 1, 4),
        Line([(left + 4, origin[1]), (left + size - 4, origin[1])], "faint", 1),
        Line([(origin[0], top + 4), (origin[0], top + size - 4)], "faint", 1),
    ]
    if plane.circle:
        items.append(arc(1.0, 0.0, 2 * math.pi, "faint", 1))
    if plane.angle is not None:
        a, b = plane.vectors[list(plane.angle)]
        start = math.atan2(a[1], a[0])
        radius = 0.35 * min(float(np.hypot(*a)), float(np.hypot(*b)))
        items.append(arc(radius, start, start + plane.turned(), "ink", 1.5))
    if plane.shadow is not None:
        foot = spot(plane.shadow_of())
        items += [
            Line([spot(plane.vectors[plane.shadow[0]]), foot], "soft", 1.5, dashed=True),
            Line([origin, foot], "shadow", 12),
        ]
    items += [
        Line([origin, spot(ghost)], "faint", 2, head=True, dashed=True) for ghost in plane.ghosts
    ]
    at_tip: dict[tuple, list[str]] = {}
    for vector, label, kind in zip(plane.vectors, plane.labels, plane.kinds, strict=True):
        items.append(Line([origin, spot(vector)], HUES.get(kind, "ink"), 2.5, head=True))
        if label:
            at_tip.setdefault(tuple(np.round(vector, 6) + 0.0), []).append(label)
    for tip, labels in at_tip.items():  # vectors that end in the same place share their words
        items.append(_tip(spot(tip), origin, ", ".join(labels), (left, left + size)))
    for vector, drag in zip(plane.vectors, plane.drags, strict=False):
        if drag:
            moves = {"reach": plane.reach, **drag}
            items.append(Grip(spot(vector), tuple(vector.tolist()), moves))
    return items


def _tip(tip: Point, origin: Point, label: str, sides: tuple[float, float]) -> Text:
    """Write a vector's label just beyond its tip, and within the plane."""
    x, y = tip[0] - origin[0], tip[1] - origin[1]
    length = math.hypot(x, y) or 1.0
    half = text_width(label, bold=True) / 2
    middle = tip[0] + (6 + half) * x / length
    inside = min(max(middle, sides[0] + half + 2), sides[1] - half - 2)
    baseline = tip[1] + 12 * y / length + 4
    if abs(inside - middle) > 4:  # it was moved, and would lie on the arrow
        baseline = tip[1] + (-9 if y <= 0 else 17)
    return Text(inside, baseline, label, 12, "middle", True)
