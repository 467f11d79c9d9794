"""Pictures of attention that also say in words what they show.

Every function here takes arrays or tensors, never modules, draws into ``ax`` (a new figure where
none is given) and returns what a notebook cell shows when it stands on its last line. Besides the
PNG, the cell then holds a description with all the numbers: it is the picture's alt text, and it
is what the regression compares, since pictures themselves can't be compared.

Taught in every notebook.
"""

import functools
import io
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import seaborn
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.patches import Rectangle

QUERY_LABEL = "query (attending)"
KEY_LABEL = "key (attended to)"
WEIGHT_MAP = "viridis"  # safe for colour-blind readers
SIGNED_MAP = "RdBu_r"  # for scores: white at zero
LONGEST_LABEL = 14
MOST_ANNOTATED = 14  # rows or columns; beyond that the numbers in the cells would collide


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
        [_add_axes(figure, rows, columns, row * columns + column + 1) for column in range(columns)]
        for row in range(rows)
    ]
    return figure, np.array(axes, dtype=object)


def heatmap(
    weights: Any,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    hidden: Any = None,
    title: str = "attention weights",
    signed: bool = False,
    xlabel: str = KEY_LABEL,
    ylabel: str = QUERY_LABEL,
    annotate: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a matrix of attention weights, one row a query, one column a key.

    Args:
        weights: array or tensor (queries, keys). Cells of -inf or NaN count as hidden.
        queries: one label a row.
        keys: one label a column (default: the queries).
        hidden: boolean (queries, keys), True where a cell is drawn hatched and not described.
        title: what the numbers are.
        signed: False for weights, on a fixed scale from 0 to 1; True for scores and other signed
            numbers, on a diverging scale centred at 0.
        xlabel, ylabel: other names for the axes, where a matrix is not queries by keys.
        annotate: whether numbers stand in the cells (default: while they fit).
        ax: where to draw (default: a new figure).

    Returns:
        The axes; their ``description`` holds the title and every number.

    Raises:
        ValueError: ``weights`` has not two dimensions, or labels or ``hidden`` do not fit it.

    >>> heatmap([[1.0, 0.0], [0.5, 0.5]], ["a", "b"], hidden=[[False, True], [False, False]]
    ... ).description.splitlines()[0]
    'Heatmap: attention weights. Rows: query (attending); columns: key (attended to).'
    """
    matrix, hide = _matrix_and_hidden(weights, hidden)
    keys = queries if keys is None else keys
    _check_labels("queries", queries, matrix.shape[0])
    _check_labels("keys", keys, matrix.shape[1])
    rows, columns = matrix.shape
    ax = _own_axes((2.2 + 0.62 * columns, 1.2 + 0.5 * rows)) if ax is None else ax
    seaborn.heatmap(
        np.ma.filled(np.ma.array(matrix, mask=hide), 0.0),
        mask=hide,
        annot=max(rows, columns) <= MOST_ANNOTATED if annotate is None else annotate,
        fmt=".2f",
        annot_kws={"fontsize": 9},
        square=True,
        linewidths=0.5,
        cbar_kws={"shrink": 0.8},
        ax=ax,
        **_scale(matrix, hide, signed),
    )
    _hatch(ax, hide, offset=0.0)
    ax.set_title(title, parse_math=False)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    _label_ticks(ax.xaxis, np.arange(columns) + 0.5, keys, rotation=45)
    _label_ticks(ax.yaxis, np.arange(rows) + 0.5, queries, rotation=0)
    ax.description = (
        f"Heatmap: {title}. Rows: {ylabel}; columns: {xlabel}.\n"
        f"{_table(matrix, hide, queries, keys)}"
    )
    return ax


def head_grid(
    weights: Any,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    hidden: Any = None,
    titles: Sequence[str] | None = None,
    columns: int = 4,
    title: str = "attention weights of every head",
    signed: bool = False,
) -> DescribedFigure:
    """Draw one small heatmap a head, all on one scale and with one colour bar.

    Args:
        weights: array or tensor (heads, queries, keys).
        queries: one label a row.
        keys: one label a column (default: the queries).
        hidden: boolean (queries, keys) or (heads, queries, keys), as for ``heatmap``.
        titles: one a head (default: ``head 0``, ``head 1``, ...).
        columns: the most heads in one row of the grid.
        title: what the numbers are.
        signed: as for ``heatmap``; the scale is shared by all heads.

    Returns:
        The figure; its ``description`` holds every number.

    Raises:
        ValueError: ``weights`` has not three dimensions, or labels do not fit it.
    """
    stack = to_array(weights)
    if stack.ndim != 3 or stack.size == 0:
        raise ValueError(f"weights must have shape (heads, queries, keys), got {stack.shape}")
    heads, num_queries, num_keys = stack.shape
    keys = queries if keys is None else keys
    titles = [f"head {head}" for head in range(heads)] if titles is None else titles
    _check_labels("queries", queries, num_queries)
    _check_labels("keys", keys, num_keys)
    _check_labels("titles", titles, heads)
    hide = ~np.isfinite(stack)
    if hidden is not None:
        hide = hide | np.broadcast_to(to_array(hidden).astype(bool), stack.shape)
    columns = min(columns, heads)
    rows = -(-heads // columns)
    scale = _scale(stack, hide, signed)
    colours = ScalarMappable(Normalize(scale["vmin"], scale["vmax"]), scale["cmap"])
    panel = (0.5 + 0.28 * num_keys, 0.8 + 0.28 * num_queries)
    figure = DescribedFigure(
        figsize=(panel[0] * columns + 1.5, panel[1] * rows + 0.6), layout="constrained"
    )
    figure.suptitle(title, parse_math=False)
    figure.caption = (
        f"Grid of {heads} heatmaps: {title}. Rows: {QUERY_LABEL}; columns: {KEY_LABEL}."
    )
    for head in range(heads):
        ax = _add_axes(figure, rows, columns, head + 1)
        ax.imshow(np.ma.array(stack[head], mask=hide[head]), **scale, interpolation="nearest")
        _hatch(ax, hide[head], offset=-0.5)
        ax.set_title(titles[head], fontsize=10, parse_math=False)
        bottom, left = head + columns >= heads, head % columns == 0
        _label_ticks(ax.xaxis, np.arange(num_keys), keys if bottom else [""] * num_keys, 90)
        _label_ticks(ax.yaxis, np.arange(num_queries), queries if left else [""] * num_queries, 0)
        ax.description = f"{titles[head]}:\n{_table(stack[head], hide[head], queries, keys)}"
    figure.supxlabel(KEY_LABEL, fontsize=10)
    figure.supylabel(QUERY_LABEL, fontsize=10)
    figure.colorbar(colours, ax=figure.axes, shrink=0.7)
    return figure


def line_plot(
    x: Any,
    lines: Mapping[str, Any],
    *,
    xlabel: str,
    ylabel: str,
    title: str,
    logx: bool = False,
    logy: bool = False,
    marker: str = "o",
    decimals: int = 4,
    describe_values: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw one or several curves over the same x.

    Args:
        x: array (points,).
        lines: label -> array (points,); several curves get a legend.
        xlabel, ylabel, title: the words on the figure; units belong into the labels.
        logx, logy: logarithmic axes.
        marker: matplotlib's name of the mark at every point, ``""`` for none.
        decimals: how many digits the description gives.
        describe_values: False where the numbers are timings, which differ from run to run.
        ax: where to draw (default: a new figure).

    Returns:
        The axes; their ``description`` holds the title and the numbers of every curve.
    """
    ax = _own_axes((6.0, 3.6)) if ax is None else ax
    points = to_array(x)
    description = [f"Line plot: {title}. Horizontal: {xlabel}; vertical: {ylabel}."]
    if describe_values:
        description.append(f"{xlabel}: {' '.join(f'{value:g}' for value in points)}")
    styles = ("-", "--", "-.", ":")
    for i, (label, values) in enumerate(lines.items()):
        values = to_array(values)
        ax.plot(points, values, styles[i % len(styles)], marker=marker, markersize=4, label=label)
        numbers = " ".join(f"{value:.{decimals}f}" for value in values)
        description.append(f"{label}: {numbers}" if describe_values else f"curve: {label}")
    ax.set_xscale("log" if logx else "linear")
    ax.set_yscale("log" if logy else "linear")
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    ax.grid(alpha=0.3)
    if len(lines) > 1:
        ax.legend()
    ax.description = "\n".join(description)
    return ax


def to_array(values: Any) -> np.ndarray:
    """Turn an array, a list or a tensor (with or without gradient, on any device) into NumPy.

    bfloat16, which NumPy lacks, becomes float32. Torch itself is never imported here.
    """
    if hasattr(values, "detach"):  # a torch tensor
        values = values.detach().cpu()
        values = values.float() if "bfloat16" in str(values.dtype) else values
        return values.numpy()
    return np.asarray(values)


def describe(title: str, weights: Any, queries: Sequence[str], keys: Sequence[str]) -> str:
    """Describe a matrix in words and numbers, as the pictures here do.

    >>> print(describe("weights", [[1.0, 0.25]], ["a"], ["b", "c"]))
    weights
            b      c
    a  1.0000 0.2500
    """
    matrix, hide = _matrix_and_hidden(weights, None)
    return f"{title}\n{_table(matrix, hide, queries, keys)}"


def _matrix_and_hidden(weights: Any, hidden: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix, and a boolean matrix of the cells that show no number."""
    matrix = to_array(weights)
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(f"weights must have shape (queries, keys), got {matrix.shape}")
    matrix = matrix.astype(float)
    hide = ~np.isfinite(matrix)
    if hidden is None:
        return matrix, hide
    hidden = to_array(hidden).astype(bool)
    if hidden.shape != matrix.shape:
        raise ValueError(f"hidden must have shape {matrix.shape}, got {hidden.shape}")
    return matrix, hide | hidden


def _check_labels(name: str, labels: Sequence[str], expected: int) -> None:
    if len(labels) != expected:
        raise ValueError(f"{name} must hold {expected} labels, got {len(labels)}")


def _scale(matrix: np.ndarray, hide: np.ndarray, signed: bool) -> dict[str, Any]:
    """Choose the colour scale: 0 to 1 for weights, symmetric around 0 for signed numbers."""
    if not signed:
        return {"vmin": 0.0, "vmax": 1.0, "cmap": WEIGHT_MAP}
    shown = np.abs(matrix[~hide])
    limit = float(shown.max()) if shown.size and shown.max() > 0 else 1.0
    return {"vmin": -limit, "vmax": limit, "cmap": SIGNED_MAP}


def _table(
    matrix: np.ndarray, hide: np.ndarray, queries: Sequence[str], keys: Sequence[str]
) -> str:
    """Write the matrix as text, one row a query; hidden cells read ``hidden``."""
    cells = [
        ["hidden" if hide[i, j] else f"{matrix[i, j]:.4f}" for j in range(matrix.shape[1])]
        for i in range(matrix.shape[0])
    ]
    header = ["", *(str(key) for key in keys)]
    table = [header] + [[str(query), *row] for query, row in zip(queries, cells, strict=True)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    return "\n".join(
        " ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in table
    )


def _add_axes(figure: Figure, rows: int, columns: int, index: int) -> DescribedAxes:
    return figure.add_subplot(rows, columns, index, axes_class=DescribedAxes)


def _own_axes(size: tuple[float, float]) -> DescribedAxes:
    """Make a figure of one panel; unlike pyplot's, nothing has to close it."""
    return _add_axes(DescribedFigure(figsize=size, layout="constrained"), 1, 1, 1)


def _hatch(ax: Axes, hide: np.ndarray, offset: float) -> None:
    """Hatch the hidden cells, so that hidden never looks like a weight of zero."""
    for row, column in np.argwhere(hide):
        corner = (column + offset, row + offset)
        ax.add_patch(
            Rectangle(corner, 1, 1, facecolor="0.92", edgecolor="0.7", hatch="////", linewidth=0)
        )


def _label_ticks(axis: Any, positions: Iterable[float], labels: Sequence[str], rotation: int):
    axis.set_ticks(positions)
    texts = [printable_label(label) for label in labels]
    turned = {"rotation": rotation, "rotation_mode": "anchor" if rotation == 45 else "default"}
    if axis.axis_name == "x":
        turned["ha"] = "right" if rotation == 45 else "center"
    for tick, text in zip(axis.set_ticklabels(texts, **turned), texts, strict=True):
        tick.set(parse_math=False, fontfamily=font_families(text))


def printable_label(label: str) -> str:
    """Shorten a label, make its invisible characters visible, and replace what no font has.

    >>> printable_label("uncharacteristically"), printable_label("a\\tb")
    ('uncharacteris…', 'a\\\\tb')
    """
    text = "".join(
        character if unicodedata.category(character)[0] != "C" else repr(character)[1:-1]
        for character in str(label)
    )
    if len(text) > LONGEST_LABEL:
        text = text[: LONGEST_LABEL - 1] + "…"
    if font_families(text) is None:
        default = _font_characters(font_manager.findfont("DejaVu Sans"))
        text = "".join(c if ord(c) in default else f"U+{ord(c):04X}" for c in text)
    return text


@functools.lru_cache(maxsize=4096)
def font_families(text: str) -> tuple[str, ...] | None:
    """Find installed fonts that together have every character of ``text``; None if none do."""
    families = ["DejaVu Sans"]
    missing = set(map(ord, text)) - _font_characters(font_manager.findfont("DejaVu Sans"))
    for entry in font_manager.fontManager.ttflist if missing else ():
        if "Last Resort" in entry.name:  # it has a box for every character
            continue
        found = missing & _font_characters(entry.fname)
        if found:
            families.append(entry.name)
            missing -= found
        if not missing:
            break
    return None if missing else tuple(families)


@functools.lru_cache(maxsize=1024)
def _font_characters(path: str) -> frozenset[int]:
    """Return the code points that a font file can draw."""
    try:
        return frozenset(FT2Font(path).get_charmap())
    except (RuntimeError, OSError):  # a font that matplotlib lists but can't read
        return frozenset()
