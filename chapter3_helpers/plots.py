"""Pictures of attention that also say in words what they show.

Every function here takes arrays or tensors, never modules, draws into ``ax`` (a new figure where
none is given) and returns what a notebook cell shows when it stands on its last line. Besides the
PNG, the cell then holds a description with all the numbers: it is the picture's alt text, and it
is what the regression compares, since pictures themselves can't be compared.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_hex
from matplotlib.patches import Rectangle

from chapter3_helpers._figures.arrays import (
    check_labels,
    farthest_from_zero,
    hidden_cells,
    to_array,
    to_floats,
)
from chapter3_helpers._figures.colours import (
    CELL_BORDER,
    KEY_LABEL,
    QUERY_LABEL,
    SIGNED_COLOURS,
    WEIGHT_COLOURS,
    ink,
)
from chapter3_helpers._figures.described import (
    DescribedFigure,
    add_axes,
    described_figure,
    own_axes,
    table,
)
from chapter3_helpers._figures.labels import label_in_full, label_ticks, title_words
from chapter3_helpers._figures.writing import LONGEST_LABEL, written

__all__ = [
    "KEY_LABEL",
    "QUERY_LABEL",
    "bar_panels",
    "described_figure",
    "head_grid",
    "heatmap",
    "line_plot",
    "to_array",
]

WEIGHT_MAP = LinearSegmentedColormap.from_list("weights", WEIGHT_COLOURS)
SIGNED_MAP = LinearSegmentedColormap.from_list("signed", SIGNED_COLOURS)
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
    """Draw a matrix of attention weights, one row per query and one column per key.

    Args:
        weights: array or tensor (queries, keys). Cells of -inf or NaN count as hidden; +inf has
            the colour of the largest number.
        queries: one label per row.
        keys: one label per column (default: the queries).
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
        TypeError, ValueError: ``weights`` is not a matrix of real numbers, or labels or
            ``hidden`` do not fit it.

    >>> heatmap([[1.0, 0.0], [0.5, 0.5]], ["a", "b"], hidden=[[False, True], [False, False]]
    ... ).description.splitlines()[0]
    'Heatmap: attention weights. Rows: query (attending); columns: key (attended to).'
    """
    matrix, hide = _read(weights, hidden, "queries", "keys")
    keys = queries if keys is None else keys
    rows, columns = matrix.shape
    check_labels(rows, queries=queries)
    check_labels(columns, keys=keys)
    numbered = max(rows, columns) <= MOST_ANNOTATED if annotate is None else annotate
    wide, high = (0.62, 0.5) if numbered else (0.4, 0.34)  # inches of a cell; numbers need room
    ax = own_axes((2.8 + wide * columns, 2.2 + high * rows)) if ax is None else ax
    colours = _colour_scale(matrix, hide, signed)
    _draw_cells(ax, matrix, hide, colours, cbar_kws={"shrink": 0.8})
    ax.spines[:].set(color=CELL_BORDER, linewidth=0.5)
    bar = ax.collections[-1].colorbar
    bar.outline.set(visible=True, color=CELL_BORDER, linewidth=0.5)
    if signed and not (matrix[~hide] < 0).any():  # no half of it for numbers that are not there
        bar.ax.set_ylim(0, colours.norm.vmax)
    if numbered:
        _write_numbers(ax, matrix, hide, colours)
    ax.set_title(**title_words(title))
    ax.set(xlabel=xlabel, ylabel=ylabel)
    label_ticks(ax.xaxis, np.arange(columns) + 0.5, keys, rotation=45)
    label_ticks(ax.yaxis, np.arange(rows) + 0.5, queries, rotation=0)
    ax.description = (
        f"Heatmap: {title}. Rows: {ylabel}; columns: {xlabel}.\n"
        f"{table(matrix, hide, queries, keys)}"
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
) -> DescribedFigure:
    """Draw one small heatmap per head, all on one scale and with one colour bar.

    Args:
        weights: array or tensor (heads, queries, keys).
        queries: one label per row.
        keys: one label per column (default: the queries).
        hidden: boolean (queries, keys) or (heads, queries, keys), as for ``heatmap``.
        titles: one per head (default: ``head 0``, ``head 1``, ...).
        columns: the most heads in one row of the grid.
        title: what the numbers are.

    Returns:
        The figure; its ``description`` holds every number.

    Raises:
        TypeError, ValueError: ``weights`` is not a stack of matrices of real numbers, labels or
            ``hidden`` do not fit it, or ``columns`` is not an integer of at least 1.
    """
    stack, hide = _read(weights, hidden, "heads", "queries", "keys")
    heads, num_queries, num_keys = stack.shape
    keys = queries if keys is None else keys
    titles = [f"head {head}" for head in range(heads)] if titles is None else titles
    check_labels(num_queries, queries=queries)
    check_labels(num_keys, keys=keys)
    check_labels(heads, titles=titles)
    columns = min(columns, heads)
    rows = -(-heads // columns)
    colours = _colour_scale(stack, hide, signed=False)
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
        _draw_cells(
            ax, stack[head], hide[head], colours, cbar=False, xticklabels=False, yticklabels=False
        )
        ax.set_title(**title_words(titles[head], LONGEST_LABEL), fontsize=10)
        bottom, left = head + columns >= heads, head % columns == 0
        label_ticks(ax.xaxis, np.arange(num_keys) + 0.5, keys if bottom else [""] * num_keys, 90)
        names = queries if left else [""] * num_queries
        label_ticks(ax.yaxis, np.arange(num_queries) + 0.5, names, 0)
        ax.description = f"{titles[head]}:\n{table(stack[head], hide[head], queries, keys)}"
    if columns == 1:
        ax.set_xlabel(KEY_LABEL)  # close to the words, wherever the layout ends
    else:
        figure.supxlabel(KEY_LABEL, fontsize=10)
    figure.supylabel(QUERY_LABEL, fontsize=10)
    figure.colorbar(colours, ax=figure.axes, shrink=0.7)
    return figure


def _read(weights: Any, hidden: Any, *dims: str) -> tuple[np.ndarray, np.ndarray]:
    """Return weights as floats, and a boolean array of the cells that show no number."""
    values = to_floats(weights, "weights")
    if values.ndim != len(dims):
        raise ValueError(f"weights must have shape ({', '.join(dims)}), got {values.shape}")
    return values, np.broadcast_to(hidden_cells(values, hidden), values.shape)


def _colour_scale(values: np.ndarray, hide: np.ndarray, signed: bool) -> ScalarMappable:
    """Choose the colour scale: 0 to 1 for weights, symmetric around 0 for signed numbers.

    Weights after dropout reach beyond 1, and then the scale does.
    """
    limit = farthest_from_zero(values, hide)
    if signed:
        return ScalarMappable(Normalize(-limit, limit), SIGNED_MAP)
    return ScalarMappable(Normalize(0.0, max(1.0, limit)), WEIGHT_MAP)


def _draw_cells(
    ax: Axes, matrix: np.ndarray, hide: np.ndarray, colours: ScalarMappable, **bar: Any
) -> None:
    """Draw the cells of a matrix; hidden ones are hatched, so that none looks like a 0."""
    import seaborn  # here, since it brings pandas, and nothing else in this file needs it

    low, high = colours.get_clim()
    look = {"square": True, "linewidths": 0.5, "linecolor": CELL_BORDER, "cmap": colours.cmap}
    seaborn.heatmap(
        np.clip(matrix, low, high), vmin=low, vmax=high, mask=hide, ax=ax, **look, **bar
    )
    ax.spines[:].set_visible(True)
    for row, column in np.argwhere(hide):
        style = {"facecolor": "0.92", "edgecolor": "0.7", "hatch": "////", "linewidth": 0}
        ax.add_patch(Rectangle((column, row), 1, 1, **style))


def _write_numbers(ax: Axes, matrix: np.ndarray, hide: np.ndarray, colours: ScalarMappable) -> None:
    """Write a number into every cell that is not hidden, in the ink that its colour asks for."""
    grounds, numbers = colours.to_rgba(matrix), written(matrix, hide, decimals=2)
    middle = {"ha": "center", "va": "center", "fontsize": 9}
    for row, column in np.argwhere(~hide):
        tone = ink(to_hex(grounds[row, column]))
        ax.text(column + 0.5, row + 0.5, numbers[row][column], color=tone, **middle)


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
        numbers = " ".join(f"{value:z.{decimals}f}" for value in values)
        description.append(f"{label}: {numbers}" if describe_values else f"curve: {label}")
    ax.set_xscale("log" if logx else "linear")
    ax.set_yscale("log" if logy else "linear")
    for axis, log in ((ax.xaxis, logx), (ax.yaxis, logy)):
        if log:
            label_in_full(axis)
    if not logy and ax.get_ylim()[1] >= 1e6:  # matplotlib would take the zeros off, and write 1e6
        ax.yaxis.set_major_formatter("{x:,.0f}")
    if logx and marker and len(points) <= MOST_TICKS:
        ax.set_xticks(points, [f"{value:g}" for value in points])
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    ax.grid(alpha=0.3)
    if len(lines) > 1:
        ax.legend()
    ax.description = "\n".join(description)
    return ax


def bar_panels(labels: Sequence[str], panels: Mapping[str, Any]) -> DescribedFigure:
    """Draw several numbers of the same things as bars, side by side, each on a scale of its own.

    Args:
        labels: one per bar.
        panels: title -> array (bars,), in the order in which one number is made of another.

    Returns:
        The figure; its ``description`` holds every number.

    Raises:
        ValueError: a panel does not hold one number per label.

    >>> print(bar_panels(["a", "b"], {"score": [1.0, -1.0]}).description)
    Bars: score. a 1.0000, b -1.0000
    """
    width = 1.0 + 0.7 * len(labels)
    figure, axes = described_figure(1, len(panels), panel=(width, 2.6))
    for ax, (title, values) in zip(axes.flat, panels.items(), strict=True):
        values = to_array(values)
        check_labels(len(values), labels=labels)
        places = np.arange(len(values))
        bars = ax.bar(places, values, width=0.6, color=WEIGHT_COLOURS[2])
        ax.bar_label(bars, [f"{value:z.2f}" for value in values], padding=2)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.margins(y=0.15)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_title(**title_words(title))
        label_ticks(ax.xaxis, places, labels, rotation=0)
        numbers = (f"{label} {value:z.4f}" for label, value in zip(labels, values, strict=True))
        ax.description = f"Bars: {title}. {', '.join(numbers)}"
    return figure
