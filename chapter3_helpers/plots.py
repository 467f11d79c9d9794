"""Pictures of attention that also say in words what they show.

Every function here takes arrays or tensors, never modules, draws into ``ax`` (a new figure where
none is given) and returns what a notebook cell shows when it stands on its last line. Besides the
PNG, the cell then holds a description with all the numbers: it is the picture's alt text, and it
is what the regression compares, since pictures themselves can't be compared.

Taught in every notebook.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from chapter3_helpers._checks.numbers import check_sizes
from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers._figures.colours import KEY_LABEL, QUERY_LABEL, SIGNED_MAP, WEIGHT_MAP
from chapter3_helpers._figures.described import (
    DescribedFigure,
    add_axes,
    described_figure,
    own_axes,
)
from chapter3_helpers._figures.labels import LONGEST_LABEL, label_ticks, title_words

__all__ = [
    "KEY_LABEL",
    "QUERY_LABEL",
    "described_figure",
    "head_grid",
    "heatmap",
    "line_plot",
    "to_array",
]

MOST_ANNOTATED = 14  # rows or columns; beyond that the numbers in the cells would collide
MOST_TICKS = 12  # points with a label of their own under a logarithmic axis


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
    import seaborn  # here, since it brings pandas, and nothing else in this file needs it

    matrix, hide = _matrix_and_hidden(weights, hidden)
    keys = queries if keys is None else keys
    _check_labels("queries", queries, matrix.shape[0])
    _check_labels("keys", keys, matrix.shape[1])
    rows, columns = matrix.shape
    ax = own_axes((2.8 + 0.62 * columns, 2.2 + 0.5 * rows)) if ax is None else ax
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
    ax.set_title(**title_words(title))
    ax.set(xlabel=xlabel, ylabel=ylabel)
    label_ticks(ax.xaxis, np.arange(columns) + 0.5, keys, rotation=45)
    label_ticks(ax.yaxis, np.arange(rows) + 0.5, queries, rotation=0)
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
        TypeError, ValueError: ``weights`` has not three dimensions, labels or ``hidden`` do not
            fit it, or ``columns`` is not an integer of at least 1.
    """
    check_sizes(columns=columns)
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
        hidden = to_array(hidden).astype(bool)
        if hidden.shape not in (stack.shape, stack.shape[1:]):
            raise ValueError(
                f"hidden must have shape {stack.shape[1:]} or {stack.shape}, got {hidden.shape}"
            )
        hide = hide | hidden
    columns = min(columns, heads)
    rows = -(-heads // columns)
    scale = _scale(stack, hide, signed)
    colours = ScalarMappable(Normalize(scale["vmin"], scale["vmax"]), scale["cmap"])
    panel = (max(1.7, 0.5 + 0.28 * num_keys), max(1.7, 0.8 + 0.28 * num_queries))
    figure = DescribedFigure(
        figsize=(panel[0] * columns + 1.8, panel[1] * rows + 1.5), layout="compressed"
    )
    words = title_words(title)
    figure.suptitle(words.pop("label"), **words)
    figure.caption = (
        f"Grid of {heads} heatmaps: {title}. Rows: {QUERY_LABEL}; columns: {KEY_LABEL}."
    )
    for head in range(heads):
        ax = add_axes(figure, rows, columns, head + 1)
        ax.imshow(np.ma.array(stack[head], mask=hide[head]), **scale, interpolation="nearest")
        _hatch(ax, hide[head], offset=-0.5)
        ax.set_title(**title_words(titles[head], LONGEST_LABEL), fontsize=10)
        bottom, left = head + columns >= heads, head % columns == 0
        label_ticks(ax.xaxis, np.arange(num_keys), keys if bottom else [""] * num_keys, 90)
        label_ticks(ax.yaxis, np.arange(num_queries), queries if left else [""] * num_queries, 0)
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
        logx, logy: logarithmic axes; a few marked points have the ticks of ``logx`` under them.
        marker: matplotlib's name of the mark at every point, ``""`` for none.
        decimals: how many digits the description gives.
        describe_values: False where the numbers are timings, which differ from run to run.
        ax: where to draw (default: a new figure).

    Returns:
        The axes; their ``description`` holds the title and the numbers of every curve.
    """
    ax = own_axes((6.0, 3.6)) if ax is None else ax
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
    for axis, log in ((ax.xaxis, logx), (ax.yaxis, logy)):
        if log:
            _label_in_full(axis)
    if logx and marker and len(points) <= MOST_TICKS:
        ax.set_xticks(points, [f"{value:g}" for value in points])
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    ax.grid(alpha=0.3)
    if len(lines) > 1:
        ax.legend()
    ax.description = "\n".join(description)
    return ax


def _label_in_full(axis: Axis) -> None:
    """Put plain numbers at the ticks of a logarithmic axis: 500, not 5 x 10^2."""
    low, high = axis.get_data_interval()
    short = high < 300 * low  # too few powers of ten to read anything off
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if short else (1,)))
    axis.set_minor_locator(NullLocator())
    if low >= 1e-3 and high < 1e5:
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _matrix_and_hidden(weights: Any, hidden: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix, and a boolean matrix of the cells that show no number."""
    matrix = to_array(weights)
    if matrix.dtype.kind not in "biuf":
        got = matrix.dtype if matrix.dtype.kind != "O" else type(weights).__name__
        raise TypeError(f"weights must be an array of real numbers, got {got}")
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
    if not hasattr(labels, "__len__"):
        raise TypeError(f"{name} must be a sequence of labels, got {type(labels).__name__}")
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


def _hatch(ax: Axes, hide: np.ndarray, offset: float) -> None:
    """Hatch the hidden cells, so that hidden never looks like a weight of zero."""
    for row, column in np.argwhere(hide):
        corner = (column + offset, row + offset)
        ax.add_patch(
            Rectangle(corner, 1, 1, facecolor="0.92", edgecolor="0.7", hatch="////", linewidth=0)
        )
