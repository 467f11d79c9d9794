"""What an explorer can show, as HTML tables; ``drawings`` has more, as SVG.

Tables were chosen over pictures by measuring: a key press reaches the screen several times sooner
than with an image, since nothing has to be rendered, encoded and decoded. They also stay sharp at
any zoom, take text of any script, follow the light or dark theme, and can be read aloud.

Every panel keeps its numbers as attributes, so that a test can ask for them without any HTML;
``html()`` escapes every text that came from a reader. Colours are classes (``w37`` is the weight
0.37), defined once by ``style.STYLE``, which keeps the message for 24 heads small.
"""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers._figures.colours import KEY_LABEL, QUERY_LABEL
from chapter3_helpers.explorers.style import colour_classes


class Panel:
    """Something an explorer shows; subclasses say what."""

    def html(self) -> str:
        """Return the panel as HTML."""
        raise NotImplementedError


@dataclass(frozen=True)
class Matrix(Panel):
    """One matrix in large, a number in every cell while they fit.

    Args:
        title: what the numbers are.
        values: array or tensor (rows, columns). Cells of -inf and NaN count as hidden; +inf has
            the colour of the largest number.
        rows, columns: labels (``columns`` default: the rows').
        hidden: boolean (rows, columns), True where a cell is hatched.
        signed: weights on a scale from 0 to 1, or signed numbers centred at 0.
        picked: the row to be marked.
        corner: what rows and columns are.
        texts: what to write in the cells in place of the numbers.
    """

    title: str
    values: Any
    rows: Sequence[str]
    columns: Sequence[str] | None = None
    hidden: Any = None
    signed: bool = False
    picked: int | None = None
    corner: tuple[str, str] = (QUERY_LABEL, KEY_LABEL)
    texts: Sequence[Sequence[str]] | None = None

    def html(self) -> str:
        values = to_array(self.values).astype(float)
        columns = self.rows if self.columns is None else self.columns
        classes = colour_classes(values, self.hidden, self.signed)
        decimals = 4 if values.shape[1] <= 8 else 2
        write = values.shape[1] <= 16
        lines = [
            f'<div class="c3w"><table class="c3m"><caption>{escape(self.title)}</caption>',
            f'<tr><th class="corner">{escape(self.corner[1])} →<br>{escape(self.corner[0])} ↓</th>',
            *(f'<th scope="col">{escape(label)}</th>' for label in columns),
            "</tr>",
        ]
        for i, label in enumerate(self.rows):
            marked = ' class="picked"' if i == self.picked else ""
            lines.append(f'<tr{marked}><th scope="row">{escape(label)}</th>')
            for j, colour in enumerate(classes[i]):
                if colour == "h":
                    lines.append('<td class="h" aria-label="hidden"></td>')
                elif self.texts is not None:
                    lines.append(f"<td class={colour}>{escape(self.texts[i][j])}")
                else:
                    number = f"{values[i, j]:.{decimals}f}" if write else ""
                    lines.append(f"<td class={colour}>{number}")
            lines.append("</tr>")
        return "".join(lines) + "</table></div>"


@dataclass(frozen=True)
class Heads(Panel):
    """Small multiples: one small matrix per head, all on one scale from 0 to 1.

    Args:
        title: what the numbers are.
        values: array or tensor (heads, rows, columns).
        hidden: boolean (rows, columns), as for ``Matrix``.
        picked: the head to be marked.
        names: one per head (default: ``head 0``, ``head 1``, ...).
    """

    title: str
    values: Any
    hidden: Any = None
    picked: int | None = None
    names: Sequence[str] | None = None

    def html(self) -> str:
        values = to_array(self.values).astype(float)
        names = self.names or [f"head {head}" for head in range(len(values))]
        size = max(4, min(16, 120 // values.shape[-1]))
        tables = []
        for head, (name, matrix) in enumerate(zip(names, values, strict=True)):
            rows = "".join(
                "<tr>" + "".join(f"<td class={colour}>" for colour in row)
                for row in colour_classes(matrix, self.hidden)
            )
            marked = " picked" if head == self.picked else ""
            tables.append(
                f'<table class="c3h{marked}" role="img" aria-label="{escape(name)}: largest weight '
                f'{np.nanmax(matrix):.2f}"><caption>{escape(name)}</caption>{rows}</table>'
            )
        return (
            f'<section class="c3s"><h4>{escape(self.title)}</h4>'
            f'<div class="c3g" style="--cell:{size}px">{"".join(tables)}</div></section>'
        )


@dataclass(frozen=True)
class Bars(Panel):
    """Numbers as horizontal bars, such as one row of attention weights.

    NaN and -inf read ``hidden``.
    """

    title: str
    labels: Sequence[str]
    values: Any
    largest: float = 1.0

    def html(self) -> str:
        rows = []
        for label, value in zip(self.labels, to_array(self.values).astype(float), strict=True):
            known = value > -math.inf  # NaN is not
            width = 100 * min(max(value / self.largest, 0.0), 1.0) if known else 0.0
            rows.append(
                f'<tr><th scope="row">{escape(label)}</th><td class="n">'
                f"{f'{value:.4f}' if known else 'hidden'}</td>"
                f'<td class="b"><div style="width:{width:.1f}%"></div></td></tr>'
            )
        return f'<table class="c3b"><caption>{escape(self.title)}</caption>{"".join(rows)}</table>'


@dataclass(frozen=True)
class Facts(Panel):
    """Names and what they are: shapes, counts, sums."""

    values: Mapping[str, Any]
    title: str = ""

    def html(self) -> str:
        rows = "".join(
            f'<tr><th scope="row">{escape(name)}</th><td>{escape(str(value))}</td></tr>'
            for name, value in self.values.items()
        )
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        return f'<table class="c3f">{caption}{rows}</table>'


@dataclass(frozen=True)
class Note(Panel):
    """A sentence."""

    text: str

    def html(self) -> str:
        return f'<p class="c3n">{escape(self.text)}</p>'


def four_decimals(values: Any) -> str:
    """Write numbers side by side, such as the sums of rows."""
    return " ".join(f"{value:.4f}" for value in to_array(values).tolist())


def escape(text: str) -> str:
    """Make a text safe inside HTML, in attributes too."""
    return html.escape(str(text), quote=True)


def render(panels: Sequence[Panel]) -> str:
    """Return the HTML of several panels, side by side where there is room."""
    return f'<div class="c3">{"".join(panel.html() for panel in panels)}</div>'


def render_error(message: str) -> str:
    """Return the HTML of a sentence that says why there is nothing to show."""
    return f'<div class="c3"><p class="error" role="alert">{escape(message)}</p></div>'
