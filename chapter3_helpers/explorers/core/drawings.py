"""Panels drawn as SVG: diagrams, and curves over a common x."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers._figures.colours import LINE_COLOURS
from chapter3_helpers.diagrams import Diagram
from chapter3_helpers.explorers.core.marks import click_attribute
from chapter3_helpers.explorers.core.panels import Panel
from chapter3_helpers.explorers.core.style import escape


@dataclass(frozen=True)
class Flow(Panel):
    """A diagram: blocks, the arrows between them, and a number under the mouse in every cell.

    Args:
        diagram: what is drawn.
        large: what stands for it in the back row's view.
        click: the settings that a click on a block or a row changes, as in ``hands.js``.
        beside: as for ``Matrix``.
        narrow: whether it is higher than wide, so that others stand at its side.
    """

    diagram: Diagram
    large: Callable[[], Diagram] | None = None
    click: Mapping[str, Any] | None = None
    beside: bool = False
    narrow: bool = False

    def presented(self) -> "Flow":
        return replace(self, diagram=self.large(), large=None) if self.large else self

    def html(self) -> str:
        drawn = self.diagram.svg(bool(self.click))
        narrow = " c3narrow" * self.narrow
        return f'<div class="c3w{narrow}"{click_attribute(self.click)}>{drawn}</div>'


@dataclass(frozen=True)
class Curves(Panel):
    """Curves over a common x, with a mark at the current place.

    Args:
        title, xlabel, ylabel: the words.
        x: array (points,).
        lines: label -> array (points,).
        mark: the x that the sliders stand at.
        log: logarithmic axes, a subset of ``"xy"``; all their numbers are above 0.
        limits: (lowest, highest) y, so that the scale stays while the curves move.
        ticks: where x is numbered (default: at round numbers).
        beside: as for ``Matrix``.
    """

    title: str
    xlabel: str
    ylabel: str
    x: Any
    lines: Mapping[str, Any]
    mark: float | None = None
    log: str = ""
    limits: tuple[float, float] | None = None
    ticks: Sequence[float] | None = None
    beside: bool = False

    def html(self) -> str:
        width, height, left, right, floor, top = 400, 246, 58, 378, 200, 12
        x = to_array(self.x).astype(float)
        lines = {label: to_array(line).astype(float) for label, line in self.lines.items()}
        to_x, x_ticks = _axis(x, left, right, "x" in self.log)
        every = np.concatenate([*lines.values(), self.limits or ()])
        to_y, y_ticks = _axis(every, floor, top, "y" in self.log)
        parts = [
            _word(f"{to_x(tick):.1f}", floor + 20, "middle", _short(tick))
            for tick in self.ticks or x_ticks
        ]
        for tick in y_ticks:
            y = f"{to_y(tick):.1f}"
            parts.append(_word(left - 6, f"{to_y(tick) + 4:.1f}", "end", _short(tick)))
            parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>')
        parts.append(_word((left + width) / 2, height - 6, "middle", escape(self.xlabel)))
        parts.append(
            f'<text transform="translate(12 {floor / 2}) rotate(-90)" text-anchor="middle">'
            f"{escape(self.ylabel)}</text>"
        )
        if self.mark is not None:
            at = f"{to_x(self.mark):.1f}"
            parts.append(f'<line class="mark" x1="{at}" x2="{at}" y1="{top}" y2="{floor}"/>')
        colours = dict(zip(lines, cycle(LINE_COLOURS), strict=False))
        for label, line in lines.items():
            points = " ".join(
                f"{to_x(a):.1f},{to_y(b):.1f}"
                for a, b in zip(x, line, strict=True)
                if math.isfinite(b)
            )
            parts.append(
                f'<polyline points="{points}" fill="none" stroke="{colours[label]}" '
                'stroke-width="2">'
                f"<title>{escape(label)}</title></polyline>"
            )
        named = {} if list(lines) == [self.ylabel] else lines  # the axis has said it
        legend = "".join(
            f'<span><i style="background:{colours[label]}"></i>{escape(label)}</span>'
            for label in named
        )
        title = escape(self.title)
        return (
            f'<figure class="c3v"><figcaption>{title}</figcaption>'
            f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" '
            f'aria-label="{title}">{"".join(parts)}</svg><p class="c3l">{legend}</p></figure>'
        )


def _word(x: float | str, y: float | str, anchor: str, text: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'


def _short(tick: float) -> str:
    """Write 1e6, not 1e+06."""
    mantissa, e, power = f"{tick:g}".partition("e")
    return (f"{mantissa}e{int(power)}" if e else mantissa).replace("-", "−")


def _axis(values: np.ndarray, start: float, end: float, log: bool) -> tuple[Any, list[float]]:
    """Return a function from numbers to pixels, and where ticks belong."""
    finite = values[np.isfinite(values)]
    low, high = float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf))
    if log:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        step = max(1, (last - first) // 5)
        ticks = [10.0**power for power in range(first, last + 1, step)]
        ticks = [tick for tick in ticks if low <= tick <= high] or [low, high]

        def place(value: float) -> float:
            return start + math.log(value / low) / math.log(high / low) * (end - start)
    else:
        low = min(low, 0.0)
        high = high if high > low else low + 1.0
        size = 10 ** math.floor(math.log10((high - low) / 4))
        size = next(size * k for k in (1, 2, 5, 10) if (high - low) / (size * k) <= 5)
        ticks = [size * k for k in range(math.ceil(low / size), math.floor(high / size + 1e-9) + 1)]

        def place(value: float) -> float:
            return start + (value - low) / (high - low) * (end - start)

    return place, ticks
