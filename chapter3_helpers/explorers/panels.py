"""What an explorer can show, as HTML tables and SVG drawings.

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
from chapter3_helpers._figures.colours import KEY_LABEL, LINE_COLOURS, QUERY_LABEL
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
        values: array or tensor (rows, columns); cells of -inf and NaN
            count as hidden, +inf as the largest number.
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
    """Small multiples: one small matrix a head, all on one scale from 0 to 1.

    Args:
        title: what the numbers are.
        values: array or tensor (heads, rows, columns).
        hidden: boolean (rows, columns), as for ``Matrix``.
        picked: the head to be marked.
        names: one a head (default: ``head 0``, ``head 1``, ...).
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


@dataclass(frozen=True)
class Curves(Panel):
    """Curves over a common x, with a mark at the current place.

    Args:
        title, xlabel, ylabel: the words.
        x: array (points,).
        lines: label -> array (points,).
        mark: the x that the sliders stand at.
        log: logarithmic axes, a subset of ``"xy"``.
    """

    title: str
    xlabel: str
    ylabel: str
    x: Any
    lines: Mapping[str, Any]
    mark: float | None = None
    log: str = ""

    def html(self) -> str:
        width, height, left, bottom, top = 420, 240, 58, 40, 12
        x = to_array(self.x).astype(float)
        lines = {label: to_array(line).astype(float) for label, line in self.lines.items()}
        to_x, x_ticks = _axis(x, left, width - 22, "x" in self.log)
        every = np.concatenate(list(lines.values()))
        to_y, y_ticks = _axis(every, height - bottom, top, "y" in self.log)
        parts = [
            *(
                f'<text x="{to_x(tick):.1f}" y="{height - bottom + 16}" text-anchor="middle">'
                f"{tick:g}</text>"
                for tick in x_ticks
            ),
            *(
                f'<text x="{left - 6}" y="{to_y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
                f'<line class="grid" x1="{left}" x2="{width - 22}" y1="{to_y(tick):.1f}" '
                f'y2="{to_y(tick):.1f}"/>'
                for tick in y_ticks
            ),
            f'<text x="{(left + width) / 2}" y="{height - 6}" text-anchor="middle">'
            f"{escape(self.xlabel)}</text>",
            f'<text transform="translate(12 {(height - bottom) / 2}) rotate(-90)" '
            f'text-anchor="middle">{escape(self.ylabel)}</text>',
        ]
        if self.mark is not None:
            at = to_x(self.mark)
            parts.append(f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="200"/>')
        for colour, (label, line) in zip(_colours(len(lines)), lines.items(), strict=True):
            points = " ".join(
                f"{to_x(a):.1f},{to_y(b):.1f}"
                for a, b in zip(x, line, strict=True)
                if math.isfinite(b)
            )
            parts.append(
                f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2">'
                f"<title>{escape(label)}</title></polyline>"
            )
        legend = "".join(
            f'<span><i style="background:{colour}"></i>{escape(label)}</span>'
            for colour, label in zip(_colours(len(lines)), lines, strict=True)
        )
        return _svg(self.title, width, height, "".join(parts), f'<p class="c3l">{legend}</p>')


@dataclass(frozen=True)
class Arrows(Panel):
    """Vectors in the plane, drawn from the origin.

    Args:
        title: what the vectors are.
        vectors: label -> (x, y).
        reach: how far the plane goes in every direction.
    """

    title: str
    vectors: Mapping[str, tuple[float, float]]
    reach: float = 2.0

    def html(self) -> str:
        size = 280
        scale = size / 2 / self.reach
        parts = [
            f'<line class="grid" x1="0" x2="{size}" y1="{size / 2}" y2="{size / 2}"/>',
            f'<line class="grid" y1="0" y2="{size}" x1="{size / 2}" x2="{size / 2}"/>',
        ]
        colours = _colours(len(self.vectors))
        for colour, (label, (x, y)) in zip(colours, self.vectors.items(), strict=True):
            end_x, end_y = size / 2 + x * scale, size / 2 - y * scale
            parts.append(
                f'<line x1="{size / 2}" y1="{size / 2}" x2="{end_x:.1f}" y2="{end_y:.1f}" '
                f'stroke="{colour}" stroke-width="3"/>'
                f'<circle cx="{end_x:.1f}" cy="{end_y:.1f}" r="5" fill="{colour}"/>'
                f'<text x="{end_x + 8:.1f}" y="{end_y - 6:.1f}">{escape(label)}</text>'
            )
        return _svg(self.title, size, size, "".join(parts))


def escape(text: str) -> str:
    """Make a text safe inside HTML, in attributes too."""
    return html.escape(str(text), quote=True)


def _axis(values: np.ndarray, start: float, end: float, log: bool) -> tuple[Any, list[float]]:
    """Return a function from numbers to pixels, and where ticks belong."""
    finite = values[np.isfinite(values)]
    finite = finite[finite > 0] if log else finite
    if finite.size:
        low, high = float(finite.min()), float(finite.max())
    else:
        low, high = (1.0, 10.0) if log else (0.0, 1.0)
    if not log:
        low = min(low, 0.0)
    if low == high:
        high = low * 2 if log else low + 1.0
    if log:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        step = max(1, (last - first) // 5)
        ticks = [10.0**power for power in range(first, last + 1, step)]
        ticks = [tick for tick in ticks if low <= tick <= high] or [low, high]

        def place(value: float) -> float:
            share = math.log(max(value, low) / low) / math.log(high / low)
            return start + min(share, 1.0) * (end - start)
    else:
        size = 10 ** math.floor(math.log10((high - low) / 4))
        size = next(size * k for k in (1, 2, 5, 10) if (high - low) / (size * k) <= 5)
        ticks = [size * k for k in range(math.ceil(low / size), math.floor(high / size + 1e-9) + 1)]

        def place(value: float) -> float:
            return start + (value - low) / (high - low) * (end - start)

    return place, ticks


def _colours(count: int) -> list[str]:
    return [LINE_COLOURS[i % len(LINE_COLOURS)] for i in range(count)]


def _svg(title: str, width: int, height: int, inside: str, after: str = "") -> str:
    return (
        f'<figure class="c3v"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="{escape(title)}">{inside}</svg>{after}</figure>'
    )


def render(panels: Sequence[Panel]) -> str:
    """Return the HTML of several panels, side by side where there is room."""
    return f'<div class="c3">{"".join(panel.html() for panel in panels)}</div>'


def render_error(message: str) -> str:
    """Return the HTML of a sentence that says why there is nothing to show."""
    return f'<div class="c3"><p class="error" role="alert">{escape(message)}</p></div>'
