"""Figures that a notebook shows as a picture and as words at the same time.

Used by ``plots``; a notebook that draws something of its own starts from ``described_figure`` and
sets ``ax.description``. The words are the picture's alt text, and they are what the regression
compares, since pictures themselves can't be compared.
"""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from chapter3_helpers._figures.writing import aligned, written


class DescribedFigure(Figure):
    """A matplotlib figure that a notebook shows as a PNG beside its description in words."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.caption = ""

    @property
    def description(self) -> str:
        """What the figure shows, panel by panel."""
        panels = [getattr(ax, "description", "") for ax in self.axes]
        return "\n".join(part for part in [self.caption, *panels] if part)

    def to_png(self) -> bytes:
        """Render the figure."""
        buffer = io.BytesIO()
        self.savefig(
            buffer, format="png", dpi=100, bbox_inches="tight", metadata={"Software": None}
        )
        return buffer.getvalue()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        description = self.description
        data = {"image/png": self.to_png(), "text/plain": description}
        return data, {"image/png": {"alt": description}}


class DescribedAxes(Axes):
    """Axes that a notebook shows as the whole figure they belong to."""

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
    """
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


def table(matrix: np.ndarray, hide: np.ndarray, queries: Sequence[str], keys: Sequence[str]) -> str:
    """Write a matrix as text, one line per query; hidden cells read ``hidden``."""
    cells = written(matrix, hide, decimals=4)
    rows = [[str(query), *row] for query, row in zip(queries, cells, strict=True)]
    return "\n".join(map(str.rstrip, aligned([["", *map(str, keys)], *rows])))
