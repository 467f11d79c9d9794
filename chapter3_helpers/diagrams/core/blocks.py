"""What stands in a diagram: blocks of numbers, and vectors in a plane.

All of it is data. Where a thing stands is said by ``at=(column, row)``, in whole steps from the
upper left; how large it is follows from its numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chapter3_helpers._checks.numbers import check_choice
from chapter3_helpers._figures.arrays import check_labels, hidden_cells, to_array

KINDS = ("signed", "query", "key", "value", "weights", "owner", "tokens")
STATES = ("known", "lit", "grey")


@dataclass(frozen=True, kw_only=True, eq=False)
class Thing:
    """What blocks and planes have in common."""

    name: str
    at: tuple[int, int] = (0, 0)
    state: str = "known"
    shape: str | None = None
    caption: str | None = None

    def __post_init__(self):
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a text, got {type(self.name).__name__}")
        check_choice("state", self.state, STATES)

    @property
    def label(self) -> str:
        """The name with the shape, ``queries (6, 2)``."""
        return f"{self.name} {self.shape}" if self.shape else self.name

    def _set_labels(self, name: str, count: int) -> None:
        labels = getattr(self, name)
        if labels is not None:
            check_labels(count, **{name: labels})
            self._set(name, tuple(map(str, labels)))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True, eq=False)
class Block(Thing):
    """A matrix or a vector, drawn as a small heat strip: one cell for each of its numbers.

    Args:
        name: what arrows and brackets call it; no two blocks have the same.
        at: (column, row).
        values: array or tensor (rows, columns) or (columns,); for tokens their texts, one a row.
            Cells of -inf and NaN count as hidden.
        kind: what the numbers are, which chooses their colours: ``signed``, ``query``, ``key``,
            ``value``, ``weights`` (from 0 to 1), ``owner`` (integers: whose number it is) or
            ``tokens``.
        state: ``known``, ``lit`` (what this picture is about) or ``grey`` (not reached yet).
        shape: what to write for the shape (default: that of ``values``), in letters: ``(T, d)``.
            The values are an example then, and are not said in words.
        caption: what to write above it (default: its name; ``""`` for nothing).
        picked, picked_column: a row, a column to be marked.
        hidden: boolean, of the shape of ``values``, True where a cell is crossed out.
        rows, columns: labels at the left, and on top.
        numbers: whether the numbers stand in the cells.
        limit: the size that has the darkest colour (default: the largest one in the block).
        zoom: how many times larger than others its cells are.
        sides: ``"q"`` where its rows, its columns are queries, ``"k"`` where they are keys; a live
            diagram marks those that are pointed at elsewhere.

    Raises:
        TypeError, ValueError: it has no numbers, or something does not fit them.

    >>> Block(name="queries", values=[[0.5, -1.0], [2.0, 0.0], [1.0, 1.0]], kind="query").label
    'queries (3, 2)'
    """

    values: Any
    kind: str = "signed"
    picked: int | None = None
    picked_column: int | None = None
    hidden: Any = None
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    numbers: bool = False
    limit: float | None = None
    zoom: int = 1
    sides: tuple[str, str] = ("", "")
    lettered: bool = field(init=False, default=False)  # its shape was given, in letters

    def __post_init__(self):
        super().__post_init__()
        check_choice("kind", self.kind, KINDS)
        self._set("lettered", self.shape is not None)
        values = self._read_values()
        if self.shape is None:
            self._set("shape", str(values.shape))
        # from here on a matrix: tokens stand below each other, a vector is one row
        hidden = None if self.hidden is None else to_array(self.hidden)
        if self.kind == "tokens":
            values, hide = values[:, None], np.zeros((len(values), 1), bool)
        else:
            hide = np.atleast_2d(hidden_cells(values, hidden))
            values = np.atleast_2d(values)
        self._set("values", values)
        self._set("hidden", hide)
        height, width = values.shape
        check_index("picked", self.picked, height)
        check_index("picked_column", self.picked_column, width)
        self._set_labels("rows", height)
        self._set_labels("columns", width)

    def _read_values(self) -> np.ndarray:
        if self.kind == "tokens":
            if isinstance(self.values, str) or not all(isinstance(v, str) for v in self.values):
                raise TypeError(f"values of block {self.name!r} must be texts, got {self.values!r}")
            values = np.array(tuple(self.values), dtype=object)
        else:
            values = to_array(self.values)
            if values.dtype.kind not in "fiub":
                raise TypeError(
                    f"values of block {self.name!r} must be real numbers, got {values.dtype}"
                )
            values = values.astype(float)
        if values.ndim not in (1, 2) or values.size == 0:
            raise ValueError(
                f"values of block {self.name!r} must be a vector or a matrix, got {values.shape}"
            )
        return values


@dataclass(frozen=True, kw_only=True, eq=False)
class Plane(Thing):
    """Vectors of two numbers as arrows from the origin; a circle makes a clock of them.

    Args:
        name, at, state, shape, caption: as for ``Block``.
        vectors: array or tensor (n, 2).
        labels: one a vector, written at its tip (``""`` for none).
        kinds: one a vector, as for ``Block``: ``signed``, ``query``, ``key`` or ``value``.
        shadow: (i, j), to drop vector i on the line of vector j.
        angle: (i, j), to draw the arc from vector i to vector j.
        circle: whether the unit circle is drawn.
        reach: how far the plane goes in every direction (default: beyond the longest).
        size: width and height in pixels.

    Raises:
        TypeError, ValueError: something does not fit the vectors.
    """

    vectors: Any
    labels: Sequence[str] | None = None
    kinds: Sequence[str] | None = None
    shadow: tuple[int, int] | None = None
    angle: tuple[int, int] | None = None
    circle: bool = False
    reach: float | None = None
    size: int = 150

    def __post_init__(self):
        super().__post_init__()
        vectors = to_array(self.vectors).astype(float)
        if vectors.ndim != 2 or vectors.shape[1] != 2 or not np.isfinite(vectors).all():
            raise ValueError(
                f"vectors of plane {self.name!r} must be finite and (n, 2), got {vectors.shape}"
            )
        count = len(vectors)
        self._set("vectors", vectors)
        self._set("labels", ("",) * count if self.labels is None else self.labels)
        self._set("kinds", ("signed",) * count if self.kinds is None else self.kinds)
        self._set_labels("labels", count)
        self._set_labels("kinds", count)
        if self.reach is None:
            longest = float(np.linalg.norm(vectors, axis=1).max(initial=0.0))
            self._set("reach", 1.4 * max(longest, float(self.circle)) or 1.0)
        if self.shape is None:
            self._set("shape", "")

    def turned(self) -> float:
        """Return by how much the second vector of ``angle`` is turned from the first, in radians,
        from -pi to pi."""
        (ax, ay), (bx, by) = self.vectors[list(self.angle)]
        return math.atan2(ax * by - ay * bx, ax * bx + ay * by)

    def shadow_of(self) -> np.ndarray:
        """Return where the shadow ends: the foot of vector i on the line of vector j."""
        falls, ground = self.vectors[list(self.shadow)]
        square = float(ground @ ground)
        return ground * float(falls @ ground) / square if square else np.zeros(2)


def check_index(name: str, value: int | None, count: int) -> None:
    if value is not None and not 0 <= value < count:
        raise ValueError(f"{name} must be from 0 to {count - 1}, got {value!r}")
