"""How blocks look and how much room they take: cells, names, shapes, labels, marks."""

from dataclasses import dataclass
from functools import lru_cache

from chapter3_helpers._figures.colours import ink
from chapter3_helpers.diagrams.core.blocks import Block, Plane
from chapter3_helpers.diagrams.core.plane import paint_plane
from chapter3_helpers.diagrams.core.scene import Box, Cells, Group, Text, text_width
from chapter3_helpers.diagrams.core.shades import HUES, colours_of, written

NAME_SIZE, TEXT_SIZE = 13, 12
MOST_CELLS = 32  # rows or columns; of more, so many are drawn, evenly spaced
PAD = 5  # around a block; that of a lit one is coloured
MOST_LETTERS = 14  # of a label
LABEL_ROW = 15  # the height of labels above columns


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


def measure(thing: Block | Plane, cell: int) -> Size:
    """Return how large a block is, if its cells are so many pixels wide and high, or more."""
    wide = high = cell
    labels = above = 0.0
    if isinstance(thing, Plane):
        width = height = thing.size
    else:
        wide = high = cell * thing.zoom
        texts = texts_of(thing)
        if texts:
            wide = max(wide, 8 + max(text_width(text) for row in texts for text in row))
            high = max(high, 18)
        if thing.columns:
            wide = max(wide, 4 + max(text_width(short(label)) for label in thing.columns))
            above += LABEL_ROW
        if thing.rows:
            high = max(high, 14)
            labels = 8 + max(text_width(short(label), bold=True) for label in thing.rows)
        rows, columns = thing.values.shape
        width, height = wide * len(drawn(columns)), high * len(drawn(rows))
    lines = captions(thing)
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


@lru_cache
def drawn(count: int) -> tuple[int, ...]:
    """Return which of so many rows or columns are drawn: all of them, or evenly spaced ones.

    >>> drawn(4), drawn(768)[:3], drawn(768)[-1]
    ((0, 1, 2, 3), (0, 25, 49), 767)
    """
    if count <= MOST_CELLS:
        return tuple(range(count))
    return tuple(round(step * (count - 1) / (MOST_CELLS - 1)) for step in range(MOST_CELLS))


def captions(thing: Block | Plane) -> list[tuple[str, float, bool]]:
    """Return the lines above a block: text, size, bold."""
    name = thing.name if thing.caption is None else thing.caption
    if not name:
        return []
    lines = [(name, NAME_SIZE, True)]
    return [*lines, (thing.shape, TEXT_SIZE, False)] if thing.shape else lines


def texts_of(block: Block) -> list[list[str]] | None:
    """Return what stands in the cells, if anything does."""
    if block.kind == "tokens":
        return [[short(text) for text in row] for row in written(block)]
    if block.numbers and block.state != "grey":
        return written(block, most=2, hide="")
    return None


def short(text: str) -> str:
    """Cut a token that is too long to stand beside cells.

    >>> short("uncharacteristically"), short("journey")
    ('uncharacteris…', 'journey')
    """
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"


def highlight(size: Size, x: float, y: float) -> Box:
    """Draw the ground on which a lit block stands, its name included."""
    left, up = size.left - 1, size.up - 1
    wide, high = left + size.right - 1, up + size.down - 1
    return Box(x - left, y - up, wide, high, "highlight", "lit", 1.5, 6)


def paint(thing: Block | Plane, size: Size, x: float, y: float) -> Group:
    """Draw a block or a plane around a centre."""
    left, top = x - size.width / 2, y - size.height / 2
    base = top - 5
    if isinstance(thing, Plane):
        items = paint_plane(thing, left, top)
    else:
        items = _paint_cells(thing, size, left, top)
        base -= LABEL_ROW * bool(thing.columns)
    for text, points, bold in reversed(captions(thing)):
        tone = "ink" if bold and thing.state != "grey" else "soft"
        items.append(Text(x, base, text, points, "middle", bold, tone))
        base -= points + 3
    return Group(thing.label, items)


def _edge(block: Block, size: Size, left: float, top: float) -> Box:
    grey = block.state == "grey"
    edge = "faint" if grey else HUES.get(block.kind, "line")
    line = 2 if block.kind in HUES and not grey else 1
    return Box(left, top, size.width, size.height, "", edge, line, dashed=grey)


def _part(block: Block, table: list[list]) -> list[list]:
    """Return the rows and columns that are drawn."""
    rows, columns = map(drawn, block.values.shape)
    if len(rows) == len(table) and len(columns) == len(table[0]):
        return table
    return [[table[i][j] for j in columns] for i in rows]


def _paint_cells(block: Block, size: Size, left: float, top: float) -> list:
    wide, high = size.cell
    rows, columns = map(drawn, block.values.shape)
    colours = _part(block, colours_of(block).tolist())
    hidden, notes = _part(block, block.hidden.tolist()), _part(block, written(block))
    items: list = [Cells(left, top, size.cell, colours, notes, hidden)]
    if block.kind != "tokens":
        items.append(_edge(block, size, left, top))
    texts = texts_of(block)
    for i, row in enumerate(_part(block, texts) if texts else ()):
        for j, text in enumerate(row):
            spot = left + (j + 0.5) * wide, top + (i + 0.5) * high + 4
            items.append(Text(*spot, text, TEXT_SIZE, tone=_ink(block, colours[i][j])))
    if block.picked in rows:
        items += _mark(left, top + rows.index(block.picked) * high, size.width, high)
    if block.picked_column in columns:
        items += _mark(left + columns.index(block.picked_column) * wide, top, wide, size.height)
    for i, k in enumerate(rows if block.rows else ()):
        spot = left - 5, top + (i + 0.5) * high + 4
        items.append(Text(*spot, short(block.rows[k]), TEXT_SIZE, "end", k == block.picked))
    for j, k in enumerate(columns if block.columns else ()):
        spot = left + (j + 0.5) * wide, top - 5
        items.append(Text(*spot, short(block.columns[k]), TEXT_SIZE, bold=k == block.picked_column))
    return items


def _ink(block: Block, ground: str) -> str:
    if len(ground) > 7:  # the page shines through, so its ink can be read
        return "soft" if block.state == "grey" else "ink"
    return ink(ground)


def _mark(x: float, y: float, width: float, height: float) -> list[Box]:
    """Draw a frame that is seen on light and on dark."""
    return [Box(x, y, width, height, "", "halo", 4), Box(x, y, width, height, "", "mark", 2)]
