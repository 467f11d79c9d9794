"""How blocks and planes look: the colours of cells, names and shapes, vectors and tips."""

import math
from functools import lru_cache

import numpy as np

from chapter3_helpers._figures.colours import (
    KEY_COLOUR,
    QUERY_COLOUR,
    SIGNED_COLOURS,
    VALUE_COLOUR,
    WEIGHT_COLOURS,
    ink,
    shade,
)
from chapter3_helpers.diagrams.blocks import Block, Plane, Thing
from chapter3_helpers.diagrams.scene import Box, Cells, Group, Line, Point, Text, text_width

NAME_SIZE = 13
LEVELS = 100  # colours a scale is divided into
MOST_CELLS = 32  # rows or columns; of more, so many are drawn, evenly spaced
HUES = {"query": QUERY_COLOUR, "key": KEY_COLOUR, "value": VALUE_COLOUR}
NEGATIVE = "#4a4a4a"  # what is below zero is grey in queries, keys and values
OWNERS = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#0072B2", "#F0E442", "#D55E00", "#999999")
EMPTY = "#80808033"  # a cell that is not reached yet


@lru_cache
def palette(kind: str) -> np.ndarray:
    """Return the colours of a kind, from its smallest number to its largest, as #rrggbb."""
    if kind in HUES:
        scale = (NEGATIVE, "#ffffff", HUES[kind])
    else:
        scale = WEIGHT_COLOURS if kind == "weights" else SIGNED_COLOURS
    return np.array([shade(level / LEVELS, scale) for level in range(LEVELS + 1)])


def is_dark(colour: str) -> bool:
    """Return whether white text is easier to read on a colour than black."""
    return len(colour) == 7 and ink(colour) == "#ffffff"


def colours_of(block: Block) -> np.ndarray:
    """Return the colour of every cell."""
    if block.kind == "tokens":
        return np.full(block.values.shape, "#80808022")
    if block.state == "grey":
        return np.full(block.values.shape, EMPTY)
    if block.kind == "owner":
        return np.array(OWNERS)[block.values.astype(int) % len(OWNERS)]
    shown = np.where(block.hidden, 0.0, block.values)
    if block.kind != "weights":
        limit = block.limit or np.abs(shown).max() or 1.0
        shown = (shown / limit + 1) / 2
    levels = np.clip(np.rint(shown * LEVELS), 0, LEVELS).astype(int)
    return np.where(block.hidden, EMPTY, palette(block.kind)[levels])


def decimals_of(block: Block, most: int = 4) -> int:
    """Return 0 for a block of whole numbers, such as counts, and ``most`` for any other."""
    shown = block.values[~block.hidden]
    return 0 if (shown == np.round(shown)).all() else most


def texts_of(block: Block) -> np.ndarray | None:
    """Return what stands in the cells, if anything does."""
    if block.kind == "tokens":
        return block.values
    if not block.numbers or block.state == "grey":
        return None
    texts = _numbers(block.values, block.hidden, decimals_of(block, 2), "")
    return np.array(texts, dtype=object)


def drawn(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows and columns are drawn: all of them, or evenly spaced ones."""
    return tuple(
        np.unique(np.linspace(0, count - 1, min(count, MOST_CELLS)).round().astype(int))
        for count in block.values.shape
    )


def cell_of(block: Block, cell: int) -> tuple[float, float]:
    """Return the width and height of a block's cells; texts in them or beside them need room."""
    wide = high = cell
    texts = texts_of(block)
    if texts is not None:
        wide, high = max(wide, 8 + max(map(text_width, texts.ravel()))), max(high, 18)
    if block.columns:
        wide = max(wide, 4 + max(map(text_width, block.columns)))
    return wide, max(high, 14) if block.rows else high


def body_size(thing: Thing, cell: int) -> tuple[float, float]:
    """Return width and height of the cells of a block, or of a plane."""
    if isinstance(thing, Plane):
        return thing.size, thing.size
    if thing.values is None:
        return 44, 30
    width, height = cell_of(thing, cell)
    rows, columns = drawn(thing)
    return width * len(columns), height * len(rows)


def captions(thing: Thing) -> list[tuple[str, float, bool]]:
    """Return the lines above a block: text, size, bold."""
    name = thing.name if thing.caption is None else thing.caption
    if not name:
        return []
    lines = [(name, NAME_SIZE, True)]
    if thing.shape:
        lines.append((thing.shape, 12, False))
    return lines


def row_label_width(thing: Thing) -> float:
    """Return how much room the labels at the left of a block take."""
    labels = thing.rows if isinstance(thing, Block) else None
    return max(map(text_width, labels)) + 8 if labels else 0.0


def highlight(thing: Thing, x: float, y: float, cell: int) -> Box:
    """Draw the ground on which a lit block stands, its name included."""
    width, height = body_size(thing, cell)
    lines = captions(thing)
    above = height / 2 + sum(size + 3 for _, size, _ in lines) + 6
    half = max([width / 2, *(text_width(*line) / 2 for line in lines)]) + 4
    return Box(x - half, y - above, 2 * half, above + height / 2 + 4, "highlight", "lit", 1.5, 6)


def paint(thing: Thing, x: float, y: float, cell: int) -> Group:
    """Draw a block or a plane around a centre."""
    width, height = body_size(thing, cell)
    left, top = x - width / 2, y - height / 2
    items: list = []
    lines = captions(thing)
    if isinstance(thing, Plane):
        items.extend(_paint_plane(thing, left, top))
    else:
        items.extend(_paint_block(thing, left, top, width, height, cell))
    base = top - 4 - (15 if isinstance(thing, Block) and thing.columns else 0)
    for text, size, bold in reversed(lines):
        tone = "ink" if bold and thing.state != "grey" else "soft"
        items.append(Text(x, base - 1, text, size, "middle", bold, tone))
        base -= size + 3
    return Group(thing.label, items)


def _paint_block(block: Block, left, top, width, height, cell) -> list:
    grey = block.state == "grey"
    edge = "faint" if grey else HUES.get(block.kind, "line")
    line = 2 if block.kind in HUES and not grey else 1
    if block.values is None:
        return [Box(left, top, width, height, "ground", edge, line, 3, dashed=grey)]
    rows, columns = drawn(block)
    part = np.ix_(rows, columns)
    wide, high = cell_of(block, cell)
    colours, hidden, texts = colours_of(block)[part], block.hidden[part], texts_of(block)
    items: list = [Cells(left, top, (wide, high), colours.tolist(), _notes(block, rows, columns))]
    for i, j in np.argwhere(hidden):
        a, b = left + j * wide, top + i * high
        items.append(Line([(a, b + high), (a + wide, b)], "faint", 1))
    if block.kind != "tokens":
        items.append(Box(left, top, width, height, "", edge, line, 0, dashed=grey))
    if texts is not None:
        for i, row in enumerate(texts[part]):
            for j, text in enumerate(row):
                tone = "white" if is_dark(colours[i, j]) else "black"
                if block.kind == "tokens":
                    tone = "soft" if grey else "ink"
                spot = (left + (j + 0.5) * wide, top + (i + 0.5) * high + 4)
                items.append(Text(*spot, text, 12, tone=tone))
    items.extend(_marks(block, left, top, width, height, rows, columns, (wide, high)))
    if block.rows:
        for i, k in enumerate(rows):
            spot = (left - 5, top + (i + 0.5) * high + 4)
            items.append(Text(*spot, block.rows[k], 12, "end", k == block.picked, "ink"))
    if block.columns:
        for j, k in enumerate(columns):
            spot = (left + (j + 0.5) * wide, top - 5)
            items.append(Text(*spot, block.columns[k], 12, "middle", False, "ink"))
    return items


def _marks(block: Block, left, top, width, height, rows, columns, cell) -> list:
    """Draw a frame around the picked row and the picked column."""
    items = []
    if block.picked in rows:
        at = list(rows).index(block.picked) * cell[1]
        items += [
            Box(left, top + at, width, cell[1], "", "halo", 4),
            Box(left, top + at, width, cell[1], "", "mark", 2),
        ]
    if block.picked_column in columns:
        at = list(columns).index(block.picked_column) * cell[0]
        items += [
            Box(left + at, top, cell[0], height, "", "halo", 4),
            Box(left + at, top, cell[0], height, "", "mark", 2),
        ]
    return items


def _notes(block: Block, rows: np.ndarray, columns: np.ndarray) -> list[list[str]]:
    if block.kind == "tokens":
        return [[str(block.values[i, j]) for j in columns] for i in rows]
    part = np.ix_(rows, columns)
    return _numbers(block.values[part], block.hidden[part], decimals_of(block), "hidden")


def _numbers(values: np.ndarray, hidden: np.ndarray, decimals: int, hide: str) -> list[list[str]]:
    """Write numbers, no zero with a sign."""
    rounded = (np.round(np.where(hidden, 0.0, values), decimals) + 0.0).tolist()
    return [
        [hide if hid else f"{value:.{decimals}f}" for value, hid in zip(row, gone, strict=True)]
        for row, gone in zip(rounded, hidden.tolist(), strict=True)
    ]


def _paint_plane(plane: Plane, left: float, top: float) -> list:
    half = plane.size / 2
    scale = half / plane.reach

    def spot(vector) -> tuple[float, float]:
        return left + half + scale * float(vector[0]), top + half - scale * float(vector[1])

    grey = plane.state == "grey"
    items: list = [
        Box(left, top, plane.size, plane.size, "ground", "faint", 1, 4),
        Line([(left + 4, top + half), (left + plane.size - 4, top + half)], "faint", 1),
        Line([(left + half, top + 4), (left + half, top + plane.size - 4)], "faint", 1),
    ]
    if plane.circle:
        turns = np.linspace(0, 2 * math.pi, 73)
        items.append(Line([spot((math.cos(t), math.sin(t))) for t in turns], "faint", 1))
    if plane.angle is not None:
        a, b = (math.atan2(*plane.vectors[i][::-1]) for i in plane.angle)
        b = a + (b - a + math.pi) % (2 * math.pi) - math.pi  # the short way round
        radius = 0.35 * float(np.linalg.norm(plane.vectors[list(plane.angle)], axis=1).min())
        arc = [spot((radius * math.cos(t), radius * math.sin(t))) for t in np.linspace(a, b, 24)]
        items.append(Line(arc, "ink", 1.5))
    shadow = plane.shadow_of()
    if shadow is not None:
        falls = plane.shadow[0]
        items += [
            Line([spot(plane.vectors[falls]), spot(shadow)], "soft", 1.5, dashed=True),
            Line([spot((0, 0)), spot(shadow)], "shadow", 7),
        ]
    for vector, label, kind in zip(plane.vectors, plane.labels, plane.kinds, strict=True):
        tone = "faint" if grey else HUES.get(kind, "ink")
        items.append(Line([spot((0, 0)), spot(vector)], tone, 2.5, head=True))
        if label:
            items.append(_tip(spot(vector), spot((0, 0)), label, (left, left + plane.size)))
    return items


def _tip(tip: Point, origin: Point, label: str, sides: tuple[float, float]) -> Text:
    """Write a vector's label just beyond its tip, and within the plane."""
    x, y = tip[0] - origin[0], tip[1] - origin[1]
    length = math.hypot(x, y) or 1.0
    half = text_width(label, bold=True) / 2
    middle = tip[0] + (6 + half) * x / length
    inside = min(max(middle, sides[0] + half + 2), sides[1] - half - 2)
    baseline = tip[1] + 12 * y / length + 4
    if abs(inside - middle) > 4:  # it had to be moved over the arrow: above it, or below
        baseline = tip[1] + (-9 if y <= 0 else 17)
    return Text(inside, baseline, label, 12, "middle", True)
