"""What an explorer can show, as HTML tables; ``drawings`` has more, as SVG.

Tables were chosen over pictures by measuring: a key press reaches the screen several times sooner
than with an image, since nothing has to be rendered, encoded and decoded. They also stay sharp at
any zoom, take text of any script, follow the light or dark theme, and can be read aloud.

Every panel keeps its numbers as attributes, so that a test can ask for them without any HTML;
``html()`` escapes every text that came from a reader. Colours are classes (``w37`` is the weight
0.37), defined once in ``style``, which keeps the message for 24 heads small.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import hidden_cells, to_array
from chapter3_helpers._figures.colours import KEY_LABEL, QUERY_LABEL, levels
from chapter3_helpers._figures.writing import some_of
from chapter3_helpers._language import say
from chapter3_helpers.explorers.core.marks import SIDES, click_attribute, mark, stop
from chapter3_helpers.explorers.core.style import (
    HIDDEN,
    colour_classes,
    decimals_for,
    escape,
    png,
    written,
)


class Panel:
    """Something an explorer shows; subclasses say what."""

    picture = True  # whether it can stand alone when an explorer is presented
    beside = False  # whether it then belongs to the picture before it
    explains = False  # whether it is the arithmetic of what was clicked
    marked_row: int | None = None
    click: Mapping[str, Any] | None = None  # the settings that a click changes, as in ``hands.js``

    def html(self) -> str:
        """Return the panel as HTML."""
        raise NotImplementedError

    def presented(self) -> "Panel":
        """Return the panel as it is shown while the explorer is presented."""
        return self


@dataclass(frozen=True)
class Matrix(Panel):
    """One matrix in large, a number in every cell; of more than 16 rows or columns some.

    Pointing at a cell or a label marks the query and the key that it stands for, wherever they are
    drawn; ``sides`` says what rows and columns stand for. The keyboard does the same: Tab reaches
    the labels, and the arrows walk on.

    Args:
        title: what the numbers are.
        values: array or tensor (rows, columns). Cells of -inf and NaN count as hidden; +inf has
            the colour of the largest number.
        rows, columns: labels (``columns`` default: the rows').
        hidden: boolean (rows, columns), True where a cell is hatched.
        signed: weights on a scale from 0 to 1, or signed numbers centred at 0.
        marked_row: the row to be marked.
        corner: what rows and columns are, in words (default: queries and keys).
        sides: what a row and a column stand for where they are pointed at and clicked:
            ``"query"``, ``"key"``, ``"row"`` or ``"column"`` of parameters, or ``""`` for nothing.
        texts: what to write in the cells in place of the numbers.
        marked_column: the column to be marked.
        dropped: boolean (rows, columns), True where a cell carries a cross instead of a number.
        decimals: how many to write (default: two, or four where two would hide the differences).
        beside: whether it belongs to the picture before it, from the back row too.
        click: the settings that a click on a cell or a label changes, as in ``hands.js``.
        narrow: whether the columns' labels are turned, so that several stand side by side.
    """

    title: str
    values: Any
    rows: Sequence[str]
    columns: Sequence[str] | None = None
    hidden: Any = None
    signed: bool = False
    marked_row: int | None = None
    corner: tuple[str, str] | None = None
    sides: tuple[str, str] = ("query", "key")
    texts: Sequence[Sequence[str]] | None = None
    marked_column: int | None = None
    dropped: Any = None
    decimals: int | None = None
    beside: bool = False
    click: Mapping[str, Any] | None = None
    narrow: bool = False

    def __post_init__(self) -> None:
        check_sides(self.title, self.sides, self.click)
        columns = self.rows if self.columns is None else self.columns
        check_fit(self.title, self.values, self.rows, columns)

    def presented(self) -> "Matrix":
        return replace(self, decimals=2)

    def html(self) -> str:
        columns = self.rows if self.columns is None else self.columns
        across = some_of(len(columns), self.marked_column)
        wide = max((len(columns[j]) for j in across if j is not None), default=0)
        turned = " c3t c3s" if self.narrow else " c3t" * (len(across) > 10 and wide > 4)
        labels = (say("query"), say("key")) if self.narrow else (QUERY_LABEL, KEY_LABEL)
        corner = self.corner or labels
        down, over = self.sides
        head = [f'<tr><th class="corner">{escape(corner[1])} →<br>{escape(corner[0])} ↓</th>']
        for j in across:
            if j is None:
                head.append("<th>…")
                continue
            marked = ' class="marked"' * (j == self.marked_column)
            reach = f"{mark(over, j)}{stop(over, j == 0)}" if over else ""
            head.append(f'<th scope="col"{marked}{reach}><span>{escape(columns[j])}</span></th>')
        lines = ["".join(head) + "</tr>"]
        cells = self._cells()
        for i in some_of(len(self.rows), self.marked_row):
            if i is None:
                lines.append("<tr><th>⋮" + "<td class=gap>" * len(across) + "</tr>")
                continue
            marked = ' class="marked"' * (i == self.marked_row)
            reach = stop(down, i == 0) if down else ""
            inside = "".join("<td class=gap>…" if j is None else cells(i, j) for j in across)
            lines.append(table_row(escape(self.rows[i]), inside, f"{marked}{mark(down, i)}", reach))
        shown = table(f"c3m{turned}", self.title, lines, self.click, any(self.sides))
        return f'<div class="c3w">{shown}</div>'

    def _cells(self) -> Callable[[int, int], str]:
        """Return what writes the cell of a row and a column."""
        values = to_array(self.values).astype(float)
        classes = colour_classes(values, self.hidden, self.signed)
        decimals = decimals_for(values[classes != "h"]) if self.decimals is None else self.decimals
        dropped = None if self.dropped is None else to_array(self.dropped)
        keys = [mark(self.sides[1], j) for j in range(values.shape[1])]
        out, gone = escape(say("hidden")), escape(say("dropped"))

        def cell(i: int, j: int) -> str:
            colour, at = classes[i, j], " at" * (i == self.marked_row and j == self.marked_column)
            if colour == "h":
                return f'<td class="h{at}" aria-label="{out}"{keys[j]}></td>'
            if dropped is not None and dropped[i, j]:
                return f'<td class="w0 x{at}" aria-label="{gone}"{keys[j]}>×</td>'
            kind = f'"{colour}{at}"' if at else colour
            if self.texts is not None:
                return f"<td class={kind}{keys[j]}>{escape(self.texts[i][j])}"
            return f"<td class={kind}{keys[j]}>{written(values[i, j], decimals)}"

        return cell


@dataclass(frozen=True)
class Heads(Panel):
    """Small pictures to choose from, one per head, all on one scale from 0 to 1.

    They lie under the buttons of a ``Thumbnails`` control, which have the names.

    Args:
        values: array or tensor (heads, rows, columns).
        hidden: boolean (rows, columns), as for ``Matrix``.
    """

    values: Any
    hidden: Any = None

    def html(self) -> str:
        images = []
        for weights in to_array(self.values).astype(float):
            hide = hidden_cells(weights, self.hidden)
            places = np.where(hide, HIDDEN, levels(weights, hide, signed=False))
            images.append(f'<img alt="" decoding=sync src="{png(places)}">')
        return f'<div class="c3g">{"".join(images)}</div>'

    def layers(self) -> list[str]:
        """Return what lies one over the other under the buttons, the lowest first: as many as the
        control has a place for (``Control.place``), one in ``Thumbnails`` and two in a ``Board``.
        """
        return [self.html()]


@dataclass(frozen=True)
class Bars(Panel):
    """Numbers as horizontal bars, such as one row of attention weights.

    Bars of negative numbers go to the left of zero. The longest is that of 1, or of what is larger.

    Args:
        title: what the numbers are.
        labels: one per number.
        values: array or tensor (numbers,).
        decimals: how many to write (default: two, or four where two would hide the differences).
        beside: as for ``Matrix``.
        side: ``"query"`` or ``"key"``, if the numbers are those of queries or of keys.
        click: the settings that a click on a bar changes, as in ``hands.js``.
        marked_row: the bar to be marked.
        scale: further numbers for which there has to be room, such as those of the bars beside it.
        numbers: of the queries or keys, where not every one has a bar; bars behind these are sums.
    """

    title: str
    labels: Sequence[str]
    values: Any
    decimals: int | None = None
    beside: bool = False
    side: str = ""
    click: Mapping[str, Any] | None = None
    marked_row: int | None = None
    scale: Any = ()
    numbers: Sequence[int] | None = None

    def __post_init__(self) -> None:
        check_sides(self.title, (self.side,), self.click)
        check_fit(self.title, self.values, self.labels)

    def presented(self) -> "Bars":
        return replace(self, decimals=2 if self.decimals is None else min(2, self.decimals))

    def html(self) -> str:
        values = to_array(self.values).astype(float)
        decimals = decimals_for(values) if self.decimals is None else self.decimals
        drawn = [0.0, 1.0, *values, *to_array(self.scale).astype(float)]
        low, high = min(drawn), max(drawn)
        cell, scale = '<td class="b">', 100 / (high - low)
        if low < 0:
            cell = f'<td class="b z" style="--zero:{-low * scale:.1f}%">'
        numbers = range(len(values)) if self.numbers is None else self.numbers
        lines = []
        for n, (label, value) in enumerate(zip(self.labels, values, strict=True)):
            marked = ' class="marked"' * (n == self.marked_row)
            reach = ""
            if self.side and n < len(numbers):
                marked, reach = marked + mark(self.side, numbers[n]), stop("bar", n == 0)
            left = f"margin-left:{(min(value, 0.0) - low) * scale:.1f}%;" if low < 0 else ""
            bar = f'<div style="{left}width:{abs(value) * scale:.1f}%"></div>'
            inside = f'<td class="n">{written(value, decimals)}</td>{cell}{bar}</td>'
            lines.append(table_row(escape(label), inside, marked, reach))
        return table("c3b", self.title, lines, self.click, bool(self.side))


@dataclass(frozen=True)
class Facts(Panel):
    """Names and what they are: shapes, counts, sums."""

    values: Mapping[str, Any]
    title: str = ""
    picture = False

    def html(self) -> str:
        lines = [
            table_row(escape(name), f"<td>{escape(str(value))}</td>")
            for name, value in self.values.items()
        ]
        return table("c3f", self.title, lines)


def table(
    kind: str,
    title: str,
    lines: Sequence[str],
    click: Mapping[str, Any] | None = None,
    grid: bool = False,
) -> str:
    """Return the HTML of a table; ``grid`` says that the arrow keys walk over it."""
    role, caption = " role=grid" * grid, f"<caption>{escape(title)}</caption>" if title else ""
    return f'<table class="{kind}"{role}{click_attribute(click)}>{caption}{"".join(lines)}</table>'


def table_row(label: str, cells: str, attributes: str = "", reach: str = "") -> str:
    """Return the HTML of a row: its label, which ``reach`` lets the keyboard stop at, and cells."""
    return f'<tr{attributes}><th scope="row"{reach}>{label}</th>{cells}</tr>'


@dataclass(frozen=True)
class Note(Panel):
    """A sentence; from the back row a shorter one, if there is one."""

    text: str
    brief: str = ""
    picture = False

    def presented(self) -> "Note":
        return Note(self.brief or self.text)

    def html(self) -> str:
        return f'<p class="c3n">{escape(self.text)}</p>'


def check_sides(title: str, sides: Sequence[str], click: Mapping[str, Any] | None) -> None:
    """Refuse sides that nothing has, and a click on one that a picture has not.

    Raises:
        TypeError: the picture and its click do not belong together.
    """
    for side in filter(None, sides):
        if side not in SIDES:
            raise TypeError(
                f"sides of “{title}” must be among {', '.join(SIDES)} or empty, got {side!r}"
            )
    for side, letter in SIDES.items():
        if letter in (click or ()) and side not in sides:
            raise TypeError(
                f"click of “{title}” must set something by one of its sides, which are "
                f"{' and '.join(filter(None, sides)) or 'none'}, got {click!r}, where {letter!r} "
                f"means a {side}: say sides=(..., ...)"
            )


def check_fit(title: str, values: Any, *labels: Sequence[str]) -> None:
    """Refuse numbers that are more or fewer than their labels, in each direction.

    Raises:
        TypeError: the numbers and the labels do not belong together.
    """
    shape, expected = to_array(values).shape, tuple(map(len, labels))
    if shape != expected:
        raise TypeError(f"“{title}” has labels for values of shape {expected}, got {shape}")


def render(panels: Sequence[Panel], present: bool = False) -> str:
    """Return the HTML of several panels, side by side where there is room.

    While an explorer is presented, only the notes, the first picture and the panels that belong
    beside it are shown; once a number was clicked, the picture that it stands in and its
    arithmetic. ``Heads`` are left out, since the widget draws them under the buttons of their
    control.
    """
    panels = [panel for panel in panels if not isinstance(panel, Heads)]
    kind = ""
    if present:
        explained = any(panel.explains for panel in panels)
        pictures = [panel for panel in panels if panel.picture and not panel.explains]
        having = [panel for panel in pictures if explained and panel.marked_row is not None]
        first = next(iter(having or pictures), None)
        panels = [
            panel.presented()
            for panel in panels
            if panel is first
            or isinstance(panel, Note)
            or (panel.explains if explained else panel.beside)
        ]
        alone = sum(panel.picture and not panel.explains for panel in panels) == 1
        kind = " c3-presented" + " c3-alone" * alone
    inside = "".join(panel.html() for panel in panels)
    return f'<div class="c3{kind}">{inside}</div>'


class UnreadableError(ValueError):
    """What a reader typed cannot be read: why, in a sentence, and more that is folded below it.

    Args:
        message: the sentence.
        summary, more: what opens, and what is then there.
    """

    def __init__(self, message: str, summary: str, more: str):
        super().__init__(message)
        self.summary, self.more = summary, more


def render_error(error: Exception | str) -> str:
    """Return the HTML of what is said about an error, by the controls."""
    folded = ""
    if isinstance(error, UnreadableError):
        summary, more = escape(error.summary), escape(error.more)
        folded = f"<details><summary>{summary}</summary>{more}</details>"
    said = f"<p>{escape(str(error))}</p>{folded}"
    return f'<div class="c3"><div class="error" role="alert">{said}</div></div>'


def render_waiting(line: str, before: str) -> str:
    """Return the HTML of a progress bar, with the picture from before it dimmed below."""
    return f'<div class="c3"><pre role="status">{escape(line)}</pre></div>{render_dimmed(before)}'


def render_dimmed(before: str) -> str:
    """Return a picture from before, dimmed."""
    return f'<div class="c3-stale" aria-hidden="true">{before}</div>' if before else ""
