"""What a diagram consists of: blocks of numbers, vectors in a plane, arrows, brackets.

All of it is data. ``at=(column, row)`` says where a block or a plane stands, in whole steps from
the upper left; how large it is follows from its numbers.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import check_count, check_labels, hidden_cells, to_floats
from chapter3_helpers._figures.writing import HIDDEN, LONGEST_NAME, visible, written

VECTOR_KINDS = ("signed", "query", "key", "value")
KINDS = (*VECTOR_KINDS, "weights", "owner", "tokens")
STATES = ("known", "lit", "grey")
WAYS = (None, "below", "right")
LONGEST_TEXT = 200  # letters of a token, as it is described


@dataclass(eq=False)
class GridPart:
    """What blocks and planes have in common."""

    name: str
    at: tuple[int, int] = (0, 0)
    _: KW_ONLY
    state: str = "known"
    shape: str | None = None
    caption: str | None = None
    key: str = ""

    def __post_init__(self):
        self.key = self.key or self.name
        _check_choice("state", self.state, STATES)
        if len(self.at) != 2 or not all(isinstance(n, Integral) and n >= 0 for n in self.at):
            raise ValueError(
                f"at of {self.name!r} must be (column, row), counted from 0, got {self.at!r}"
            )

    @property
    def label(self) -> str:
        """The name with the shape, ``queries (6, 2)``."""
        return f"{self.name} {self.shape}" if self.shape else self.name


@dataclass(eq=False)
class Block(GridPart):
    """A matrix or a vector, drawn as a small heat strip: one cell for each of its numbers.

    Args:
        name: what it is called in words.
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
        key: what arrows and brackets call it (default: its name); no two blocks have the same.
        marked_row, marked_column: a row, a column to be marked.
        hidden: boolean, of the shape of ``values``, True where a cell is crossed out.
        rows, columns: labels at the left, and on top.
        numbers: whether the numbers stand in the cells.
        limit: the size that has the darkest colour (default: the largest one in the block).
        zoom: how many times larger than others its cells are.
        sides: ``"q"`` where its rows, its columns are queries, ``"k"`` where they are keys; a live
            diagram marks those that are pointed at elsewhere.

    Raises:
        TypeError, ValueError: it has no numbers, or something does not fit them.

    >>> Block("queries", (0, 1), [[0.5, -1.0], [2.0, 0.0], [1.0, 1.0]], kind="query").label
    'queries (3, 2)'
    """

    values: Any = ()
    _: KW_ONLY
    kind: str = "signed"
    marked_row: int | None = None
    marked_column: int | None = None
    hidden: Any = None
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    numbers: bool = False
    limit: float | None = None
    zoom: int = 1
    sides: tuple[str, str] = ("", "")
    in_letters: bool = field(init=False, default=False)  # whether its shape was given

    def __post_init__(self):
        super().__post_init__()
        _check_choice("kind", self.kind, KINDS)
        check_count("zoom", self.zoom)
        for side in self.sides:
            _check_choice("side", side, ("", "q", "k"))
        if self.kind == "tokens":  # below each other
            values = np.array([visible(text, LONGEST_TEXT) for text in self.values], dtype=object)
            self.hidden = np.zeros((len(values), 1), bool)
        else:
            values = to_floats(self.values, f"values of block {self.name!r}")
            self.hidden = np.atleast_2d(hidden_cells(values, self.hidden))
            whole = np.isfinite(values) & (values == np.round(values))
            if self.kind == "owner" and not whole.all():
                raise ValueError(f"owners of block {self.name!r} must be whole numbers")
        if self.limit is not None and not 0 <= self.limit < math.inf:
            raise ValueError(f"limit must be a finite number from 0 on, got {self.limit!r}")
        if values.ndim not in (1, 2) or values.size == 0:
            raise ValueError(
                f"values of block {self.name!r} must be a vector or a matrix, got {values.shape}"
            )
        self.in_letters = self.shape is not None
        if self.shape is None:
            self.shape = str(values.shape)
        # from here on a matrix; a vector is one row
        self.values = values[:, None] if self.kind == "tokens" else np.atleast_2d(values)
        height, width = self.values.shape
        _check_index("marked_row", self.marked_row, height)
        _check_index("marked_column", self.marked_column, width)
        self.rows = _labels("rows", self.rows, height)
        self.columns = _labels("columns", self.columns, width)

    def written(self, decimals: int = 4, hidden: str = HIDDEN) -> list[list[str]]:
        """Write every cell; where all numbers are whole, such as counts, without decimals."""
        if self.kind == "tokens":
            return self.values.tolist()
        shown = self.values[~self.hidden]
        whole = (shown == np.round(shown)).all()
        return written(self.values, self.hidden, 0 if whole else decimals, hidden)


def one_word(name: str, at: tuple[int, int], word: str) -> Block:
    """Return a block that shows a word and no name."""
    return Block(name, at, [word], kind="tokens", caption="")


@dataclass(eq=False)
class Plane(GridPart):
    """Vectors of two numbers as arrows from the origin; a circle makes a clock of them.

    Args:
        name, at, state, shape, caption, key: as for ``Block``.
        vectors: array or tensor (n, 2).
        labels: one a vector, written at its tip (``""`` for none).
        kinds: one a vector, as for ``Block``: ``signed``, ``query``, ``key`` or ``value``.
        shadow: (i, j), to drop vector i on the line of vector j.
        angle: (i, j), to draw the arc from vector i to vector j.
        ghosts: (m, 2), what vectors were before, to be drawn faintly under them.
        circle: whether the unit circle is drawn.
        reach: how far the plane goes in every direction (default: beyond the longest).
        size: width and height in pixels.
        drags: one a vector, what moves with its head in a live drawing, as in ``hands.js``; None
            where it cannot be dragged.

    Raises:
        TypeError, ValueError: something does not fit the vectors.
    """

    vectors: Any = ()
    _: KW_ONLY
    labels: Sequence[str] | None = None
    kinds: Sequence[str] | None = None
    shadow: tuple[int, int] | None = None
    angle: tuple[int, int] | None = None
    ghosts: Any = ()
    circle: bool = False
    reach: float | None = None
    size: int = 150
    drags: Sequence[Mapping[str, Any] | None] = ()

    def __post_init__(self):
        super().__post_init__()
        self.vectors = vectors = _pairs(f"vectors of plane {self.name!r}", self.vectors)
        ghosts = [*self.ghosts] or np.zeros((0, 2))
        self.ghosts = _pairs(f"ghosts of plane {self.name!r}", ghosts)
        count = len(vectors)
        for name in ("shadow", "angle"):
            for index in getattr(self, name) or ():
                _check_index(name, index, count)
        self.labels = _labels("labels", self.labels, count) or ("",) * count
        self.kinds = _labels("kinds", self.kinds, count) or ("signed",) * count
        for kind in self.kinds:
            _check_choice("kind", kind, VECTOR_KINDS)
        if self.reach is None:
            longest = float(np.hypot(*vectors.T).max(initial=0.0))
            self.reach = 1.4 * max(longest, float(self.circle)) or 1.0
        if not 0 < self.reach < math.inf:
            raise ValueError(f"reach must be a finite number above 0, got {self.reach!r}")
        check_count("size", self.size)

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


@dataclass(frozen=True)
class Arrow:
    """An arrow from one block, or from several, to what is made of them.

    Args:
        source: the key of a block, or several keys.
        target: the key of a block, or the text of a bracket: then it ends at the frame, before
            the first of its blocks.
        text: what happens on the way, ``@ W_query``.
        weight: from 0 on, how thick a straight line down is to be; its text is said, not drawn.
        via: the way to take: ``right`` leads out and in again at the right, within a column;
            ``below`` out at the bottom and along the gap there, to a row further down or the same.
        sign: whether the text alone is drawn, between two neighbours, as in ``weights @ values``.

    Raises:
        ValueError: it leads nowhere, or there is no such way or weight.
    """

    source: str | tuple[str, ...]
    target: str
    text: str = ""
    weight: float | None = None
    via: str | None = None
    sign: bool = False

    def __post_init__(self):
        _check_choice("via", self.via, WAYS)
        if not self.sources or self.target in self.sources:
            raise ValueError(
                f"an arrow must lead from one block to another, got {self.source!r} to "
                f"{self.target!r}"
            )
        if self.weight is not None and not 0 <= self.weight < math.inf:
            raise ValueError(f"weight must be a finite number from 0 on, got {self.weight!r}")
        object.__setattr__(self, "text", visible(self.text, LONGEST_NAME))

    @property
    def sources(self) -> tuple[str, ...]:
        """The keys of the blocks that it comes from."""
        return (self.source,) if isinstance(self.source, str) else tuple(self.source)


@dataclass(frozen=True)
class Bracket:
    """A frame around blocks that belong together, such as those of one head.

    Args:
        text: what they are, ``head 0``.
        blocks: their keys. Nothing else may stand between them; two brackets lie one within the
            other, or apart.
        state: as for a block.
    """

    text: str
    blocks: tuple[str, ...]
    state: str = "known"

    def __post_init__(self):
        _check_choice("state", self.state, STATES)
        if not self.blocks:
            raise ValueError(f"bracket {self.text!r} must go round a block, got none")

    @property
    def label(self) -> str:
        """What it is called in words."""
        return self.text

    @property
    def words(self) -> str:
        """What is written on the frame."""
        return visible(self.text, LONGEST_NAME)


def _pairs(name: str, values: Any) -> np.ndarray:
    """Return vectors of two numbers, (n, 2)."""
    vectors = to_floats(values, name)
    if vectors.ndim != 2 or vectors.shape[1] != 2 or not np.isfinite(vectors).all():
        raise ValueError(f"{name} must be finite and (n, 2), got {vectors.shape}")
    return vectors


def _check_choice(name: str, value: Any, choices: tuple) -> None:
    """Refuse a word that would be drawn as another one."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def _check_index(name: str, value: int | None, count: int) -> None:
    if value is not None and not (isinstance(value, Integral) and 0 <= value < count):
        raise ValueError(f"{name} must be from 0 to {count - 1}, got {value!r}")


def _labels(name: str, labels: Sequence[str] | None, count: int) -> tuple[str, ...] | None:
    if labels is None:
        return None
    check_labels(count, **{name: labels})
    return tuple(map(visible, labels))
