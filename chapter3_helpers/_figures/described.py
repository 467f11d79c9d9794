"""Figures that a notebook shows as a picture and as words at the same time.

Used by ``plots``; a notebook that draws something of its own starts from ``described_figure`` and
sets ``ax.description``. The words are the picture's alt text, and they are what the regression
compares, since pictures themselves can't be compared. ``ax.numbers`` holds what differs from run to
run: it stands in the alt text alone.
"""

import io
from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from chapter3_helpers._figures.arrays import check_count
from chapter3_helpers._figures.writing import LONGEST_NAME, aligned, some_of, visible, written
from chapter3_helpers._language import say, to_say

MOST_DESCRIBED = 400  # numbers of a matrix; of a larger one some are written


class DescribedFigure(Figure):
    """A matplotlib figure that a notebook shows as a PNG beside its description in words."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.caption = ""

    @property
    def description(self) -> str:
        """What the figure shows, panel by panel, as far as it is the same in every run."""
        panels = (getattr(ax, "description", "") for ax in self.axes)
        return "\n".join(filter(None, [self.caption, *panels]))

    @property
    def alt(self) -> str:
        """The description, with the numbers that differ from run to run."""
        panels = []
        for ax in self.axes:
            description, numbers = (getattr(ax, name, "") for name in ("description", "numbers"))
            panels += [numbers] if description in numbers else [description, numbers]
        return "\n".join(filter(None, [self.caption, *panels]))

    @property
    def shows(self) -> str:
        """``cells`` where colours are numbers, which no page may change; ``ink`` otherwise."""
        return "cells" if any(getattr(ax, "has_cells", False) for ax in self.axes) else "ink"

    def to_png(self) -> bytes:
        """Render the figure."""
        buffer = io.BytesIO()
        self.savefig(
            buffer, format="png", dpi=100, bbox_inches="tight", metadata={"Software": None}
        )
        return buffer.getvalue()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data = {"image/png": self.to_png(), "text/plain": self.description}
        return data, {"image/png": {"alt": self.alt, "shows": self.shows}}


class DescribedAxes(Axes):
    """Axes that a notebook shows as the whole figure they belong to."""

    description: str
    numbers: str
    has_cells: bool

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        return self.figure._repr_mimebundle_(include, exclude)


def described_figure(
    rows: int = 1, columns: int = 1, panel: tuple[float, float] = (4.2, 3.6), caption: str = ""
) -> tuple[DescribedFigure, np.ndarray]:
    """Make a figure with a grid of panels to draw into.

    Args:
        rows, columns: the grid.
        panel: width and height of one panel in inches.
        caption: a sentence on the whole, put before the panels' descriptions.

    Returns:
        The figure, to be the last line of a cell, and its axes as an array (rows, columns).

    Raises:
        ValueError: ``rows`` or ``columns`` is not an integer of at least 1.
    """
    rows, columns = check_count("rows", rows), check_count("columns", columns)
    figure = DescribedFigure(figsize=(panel[0] * columns, panel[1] * rows), layout="constrained")
    figure.caption = caption
    axes = [
        [add_axes(figure, rows, columns, row * columns + column + 1) for column in range(columns)]
        for row in range(rows)
    ]
    return figure, np.array(axes, dtype=object)


def add_axes(figure: Figure, rows: int, columns: int, index: int) -> DescribedAxes:
    return figure.add_subplot(rows, columns, index, axes_class=DescribedAxes)


def own_axes(size: tuple[float, float]) -> DescribedAxes:
    """Make a figure of one panel; unlike pyplot's, nothing has to close it."""
    return add_axes(DescribedFigure(figsize=size, layout="constrained"), 1, 1, 1)


def table(
    matrix: np.ndarray,
    hide: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    most: int = MOST_DESCRIBED,
) -> str:
    """Write a matrix as text, one line per query; hidden cells read ``hidden``.

    Of a matrix of more than ``most`` numbers the first and the last rows and columns are written,
    below a line that says how many there are and from where to where they reach.
    """
    head, rows, columns = [], *map(range, matrix.shape)
    if matrix.size > most:
        rows, columns = (some_of(count, most=isqrt(most)) for count in matrix.shape)
        shown, (down, across) = matrix[~hide], matrix.shape
        of = {"down": f"{down:,}", "across": f"{across:,}", "gone": f"{hide.sum():,}"}
        if shown.size:
            of |= {"low": f"{shown.min():.4f}", "high": f"{shown.max():.4f}"}
        words = to_say("{down} x {across} numbers from {low} to {high}. Some of them:")
        if hide.all():
            words = to_say("{down} x {across} numbers, {gone} of them hidden. Some of them:")
        elif hide.any():
            words = to_say(
                "{down} x {across} numbers from {low} to {high}, {gone} of them hidden. "
                "Some of them:"
            )
        head = [say(words, **of)]

    def line(name: str, cells: Sequence[str]) -> list[str]:
        return [name, *("…" if j is None else cells[j] for j in columns)]

    queries, keys = ([visible(name, LONGEST_NAME) for name in names] for names in (queries, keys))
    lines = [line("", keys)]
    for i in rows:
        if i is None:
            lines.append(["…"] * (1 + len(columns)))
        else:
            (cells,) = written(matrix[[i]], hide[[i]], decimals=4)
            lines.append(line(queries[i], cells))
    return "\n".join([*head, *map(str.rstrip, aligned(lines))])
