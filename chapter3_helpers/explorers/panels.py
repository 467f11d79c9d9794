"""What an explorer can show, as HTML tables and SVG drawings.

Tables were chosen over pictures by measuring: a key press reaches the screen several times sooner
than with an image, since nothing has to be rendered, encoded and decoded. They also stay sharp at
any zoom, take text of any script, follow the light or dark theme, and can be read aloud.

Every panel keeps its numbers as attributes, so that a test can ask for them without any HTML;
``html()`` escapes every text that came from a reader. Colours are classes (``w37`` is the weight
0.37), defined once by ``STYLE``, which keeps the message for 24 heads small.
"""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps

from chapter3_helpers.described import KEY_LABEL, QUERY_LABEL, SIGNED_MAP, WEIGHT_MAP, to_array

LEVELS = 100  # colours a scale is divided into
LINE_COLOURS = ("#2a7fba", "#d9622b", "#3a9b5c", "#9467bd")  # legible on light and dark


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
        values: array or tensor (rows, columns); cells of -inf and NaN count as hidden.
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
    """Numbers as horizontal bars, such as one row of attention weights; NaN reads ``hidden``."""

    title: str
    labels: Sequence[str]
    values: Any
    largest: float = 1.0

    def html(self) -> str:
        rows = []
        for label, value in zip(self.labels, to_array(self.values).astype(float), strict=True):
            known = math.isfinite(value)
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
        to_x, x_ticks = _axis(x, left, width - 12, "x" in self.log)
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
                f'<line class="grid" x1="{left}" x2="{width - 12}" y1="{to_y(tick):.1f}" '
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


def colour_classes(values: np.ndarray, hidden: Any = None, signed: bool = False) -> np.ndarray:
    """Return the CSS class of every cell: ``w0`` to ``w100`` for weights, ``s0`` to ``s100`` for
    signed numbers (``s50`` is zero), ``h`` for hidden ones."""
    hide = ~np.isfinite(values)
    if hidden is not None:
        hide = hide | to_array(hidden).astype(bool)
    shown = np.where(hide, 0.0, values)
    if signed:
        limit = np.abs(shown).max() or 1.0
        shown = (shown / limit + 1) / 2
    levels = np.clip(np.rint(shown * LEVELS), 0, LEVELS).astype(int)
    return np.where(hide, "h", (_SIGNED if signed else _WEIGHTS)[levels])


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


def _colour_rules(prefix: str, name: str) -> str:
    """Write one CSS rule a colour, with the ink that is legible on it."""
    rules = []
    for level, (red, green, blue, _) in enumerate(colormaps[name](np.linspace(0, 1, LEVELS + 1))):
        ink = "#000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else "#fff"
        ground = "".join(f"{round(255 * part):02x}" for part in (red, green, blue))
        rules.append(f".c3 td.{prefix}{level}{{background:#{ground};color:{ink}}}")
    return "".join(rules)


_WEIGHTS = np.array([f"w{level}" for level in range(LEVELS + 1)])
_SIGNED = np.array([f"s{level}" for level in range(LEVELS + 1)])

STYLE = (
    "<style>"
    ".c3{margin-top:8px;display:flex;flex-wrap:wrap;gap:12px 28px;align-items:flex-start;"
    "color:var(--jp-content-font-color1,#222);font:13px/1.35 var(--jp-ui-font-family,sans-serif)}"
    ".c3 table{border-collapse:collapse;width:auto;margin:0}"
    ".c3 caption,.c3 h4,.c3 figcaption{text-align:left;font-weight:600;margin:0 0 4px;"
    "padding:0;color:inherit;font-size:13px}"
    ".c3 th{font-weight:400;color:inherit;background:none;white-space:pre}"
    ".c3 tr{background:none!important}"
    ".c3 .c3m td{min-width:3em;padding:5px 6px;text-align:center;"
    "font-variant-numeric:tabular-nums;border:1px solid var(--jp-layout-color1,#fff)}"
    ".c3 .c3m th{padding:2px 8px;text-align:right}"
    ".c3 .c3m th[scope=col]{text-align:center}"
    ".c3 .c3m .corner{font-size:11px;color:var(--jp-content-font-color2,#666)}"
    ".c3 .c3m .picked th{font-weight:700}"
    ".c3-view .widget-html-content{min-width:0}.c3>*{max-width:100%;min-width:0}"
    ".c3 .c3w{overflow-x:auto}"
    ".c3 .c3m .picked td{border-top:2px solid #d9622b;border-bottom:2px solid #d9622b}"
    ".c3 td.h{background:repeating-linear-gradient(45deg,#8886 0 2px,#8882 2px 6px)}"
    ".c3 .c3g{display:flex;flex-wrap:wrap;gap:10px}"
    ".c3 .c3h td{width:var(--cell);min-width:var(--cell);height:var(--cell);padding:0;border:0}"
    ".c3 .c3h{outline:1px solid var(--jp-border-color1,#bbb);outline-offset:1px}"
    ".c3 .c3h.picked{outline:3px solid #d9622b}"
    ".c3 .c3h caption{font-weight:400;font-size:11px;margin:0 0 3px}"
    ".c3 .c3b th,.c3 .c3f th{text-align:left;padding:2px 12px 2px 0;"
    "color:var(--jp-content-font-color2,#555)}"
    ".c3 .c3f td,.c3 .c3b td{text-align:left;padding:2px 8px 2px 0;"
    "font-variant-numeric:tabular-nums;max-width:44em;overflow-wrap:anywhere}"
    ".c3 .c3b .b{width:180px;padding:0;border-left:1px solid var(--jp-border-color1,#bbb)}"
    ".c3 .c3b .b div{height:14px;background:#2a7fba}"
    ".c3 .c3n{margin:0;flex:0 0 100%}"
    ".c3 .c3v{margin:0}.c3 .c3v svg{max-width:100%;height:auto;font-size:11px;fill:currentColor}"
    ".c3 .c3v .grid{stroke:currentColor;opacity:.2}.c3 .c3v .mark{stroke:#d9622b;"
    "stroke-dasharray:4 3;stroke-width:2}"
    ".c3 .c3l{margin:2px 0 0}.c3 .c3l span{margin-right:14px}"
    ".c3 .c3l i{display:inline-block;width:14px;height:4px;margin:0 5px 3px 0}"
    ".c3 .error{flex-basis:100%;margin:0;padding:8px 12px;border-left:4px solid #d9622b}"
    ".c3 pre{margin:0;padding:8px 12px;overflow-x:auto;"
    "background:var(--jp-cell-editor-background,#f5f5f5);"
    "color:inherit;font:12px/1.5 var(--jp-code-font-family,monospace)}"
    + _colour_rules("w", WEIGHT_MAP)
    + _colour_rules("s", SIGNED_MAP)
    + "</style>"
)


def render(panels: Sequence[Panel]) -> str:
    """Return the HTML of several panels, side by side where there is room."""
    return f'<div class="c3">{"".join(panel.html() for panel in panels)}</div>'


def render_error(message: str) -> str:
    """Return the HTML of a sentence that says why there is nothing to show."""
    return f'<div class="c3"><p class="error" role="alert">{escape(message)}</p></div>'
