"""Pictures of attention that also say in words what they show.

Every function here takes arrays or tensors, never modules, draws into ``ax`` (a new figure where
none is given) and returns what a notebook cell shows when it stands on its last line. Besides the
PNG, the cell then holds a description with all the numbers: it is the picture's alt text, and it
is what the regression compares, since pictures themselves can't be compared. A figure is at most 12
inches wide; of many numbers the description gives some.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_hex
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from chapter3_helpers._figures.arrays import (
    check_count,
    check_labels,
    coarse,
    farthest_from_zero,
    hidden_cells,
    to_array,
    to_floats,
)
from chapter3_helpers._figures.colours import (
    CELL_BORDER,
    SIGNED_COLOURS,
    WEIGHT_COLOURS,
    ink,
)
from chapter3_helpers._figures.described import (
    DescribedAxes,
    DescribedFigure,
    add_axes,
    described_figure,
    own_axes,
    table,
)
from chapter3_helpers._figures.labels import label_in_full, label_ticks, write
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers._figures.writing import (
    LONGEST_LABEL,
    LONGEST_NAME,
    excerpt,
    number,
    some_of,
    visible,
    written,
)
from chapter3_helpers._language import say, sentences

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

QUERY_LABEL, KEY_LABEL = say_drawn("query (attending)"), say_drawn("key (attended to)")
WEIGHTS_TITLE = say_drawn("attention weights")
HEADS_TITLE = say_drawn("attention weights of every head")
WEIGHT_MAP = LinearSegmentedColormap.from_list("weights", WEIGHT_COLOURS)
SIGNED_MAP = LinearSegmentedColormap.from_list("signed", SIGNED_COLOURS)
MOST_ANNOTATED = 14  # rows or columns; beyond that the numbers in the cells would collide
MOST_NUMBERED = 28  # the same where they are asked for, and small
MOST_TICKS = 12  # points with a label of their own under a logarithmic axis
MOST_SAID = 100  # numbers of a curve, or bars, in a description
MOST_PARTS = 20  # curves, or heads, in a description
LONGEST_SAID = 200  # letters of a title in a description
LARGEST = 1e300  # beyond it the scales of matplotlib overflow
# in inches
WIDEST = 12.0  # a figure
ROOM = 9.2  # all cells of a matrix
NARROWEST = 0.7  # all cells, where these need not be square
BORDERED = 0.08  # a cell with a border
LINE = 0.17  # from one label to the next
FINEST = 450  # rows or columns that can be told apart; of more, several share a cell


def heatmap(
    weights: Any,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    hidden: Any = None,
    title: str = WEIGHTS_TITLE,
    signed: bool = False,
    xlabel: str = KEY_LABEL,
    ylabel: str = QUERY_LABEL,
    annotate: bool | None = None,
    describe_values: bool = True,
    ax: Axes | None = None,
) -> DescribedAxes:
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
        annotate: whether numbers stand in the cells (default: up to 14 rows and columns; beyond
            28 they never do).
        describe_values: False where the numbers differ from run to run: they are then in the alt
            text alone, which is not compared.
        ax: where to draw (default: a new figure).

    Returns:
        The axes; their ``description`` holds the title and the numbers, of a large matrix some.

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
    most = MOST_ANNOTATED if annotate is None else MOST_NUMBERED
    numbered = annotate is not False and max(rows, columns) <= most
    cell = (0.62, 0.5) if numbered else (0.4, 0.34)  # inches; numbers need room
    wide, high = cell = _fitting(cell, (columns, rows), (ROOM, ROOM))
    if ax is None:
        ax = own_axes((2.8 + wide * columns, 2.2 + high * rows))
    else:
        size = ax.get_window_extent().size / ax.figure.dpi
        wide, high = cell = size[0] / columns, size[1] / rows
    colours = _colour_scale(matrix, hide, signed)
    _draw_cells(ax, matrix, hide, colours, cell, cbar_kws={"shrink": 0.8})
    ax.spines[:].set(color=CELL_BORDER, linewidth=0.5)
    bar = ax.collections[-1].colorbar
    bar.outline.set(visible=True, color=CELL_BORDER, linewidth=0.5)
    if signed and not (matrix[~hide] < 0).any():  # no half of it for numbers that are not there
        bar.ax.set_ylim(0, colours.norm.vmax)
    if numbered:
        grounds, numbers = colours.to_rgba(matrix), written(matrix, hide, decimals=2, longest=8)
        look = {"ha": "center", "va": "center", "fontsize": 9 * min(1, MOST_ANNOTATED / columns)}
        for i, j in np.argwhere(~hide):
            tone = ink(to_hex(grounds[i, j]))
            ax.text(j + 0.5, i + 0.5, numbers[i][j], color=tone, **look)
    title, xlabel, ylabel = _name(ax, title, xlabel, ylabel)
    _label(ax.xaxis, keys, wide, rotation=45)
    _label(ax.yaxis, queries, high, rotation=0)
    heading = say(
        "Heatmap: {title}. Rows: {rows}; columns: {columns}.",
        title=title,
        rows=ylabel,
        columns=xlabel,
    )
    if max(rows, columns) > FINEST:
        coarse_note = say(
            "Several numbers share a cell of the picture, which shows the one farthest from 0."
        )
        heading = sentences(heading, coarse_note)
    ax.numbers = f"{heading}\n{table(matrix, hide, queries, keys)}"
    ax.description = ax.numbers if describe_values else heading
    return ax


def head_grid(
    weights: Any,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    hidden: Any = None,
    titles: Sequence[str] | None = None,
    columns: int = 4,
    title: str = HEADS_TITLE,
    describe_values: bool = True,
) -> DescribedFigure:
    """Draw one small heatmap per head, all on one scale and with one colour bar.

    Args:
        weights: array or tensor (heads, queries, keys).
        queries: one label per row.
        keys: one label per column (default: the queries).
        hidden: boolean (queries, keys) or (heads, queries, keys), as for ``heatmap``.
        titles: one per head (default: ``head 0``, ``head 1``, ...).
        columns: the most heads in one row of the grid; twelve fit.
        title: what the numbers are.
        describe_values: as for ``heatmap``.

    Returns:
        The figure; its ``description`` holds every number, of many some.

    Raises:
        TypeError, ValueError: ``weights`` is not a stack of matrices of real numbers, labels or
            ``hidden`` do not fit it, or ``columns`` is not an integer of at least 1.
    """
    stack, hide = _read(weights, hidden, "heads", "queries", "keys")
    heads, num_queries, num_keys = stack.shape
    keys = queries if keys is None else keys
    if titles is None:
        titles = [say_drawn("head {head}", head=head) for head in range(heads)]
    check_labels(num_queries, queries=queries)
    check_labels(num_keys, keys=keys)
    check_labels(heads, titles=titles)
    columns = min(check_count("columns", columns), heads, 12)
    rows = -(-heads // columns)
    colours = _colour_scale(stack, hide, signed=False)
    room = (WIDEST - 1.8) / columns
    wide, high = cell = _fitting((0.28, 0.28), (num_keys, num_queries), (room - 0.15, ROOM))
    least = min(1.7, room)
    panel = (
        min(room, max(least, 0.5 + wide * num_keys)),
        max(least, 0.8 + high * num_queries),
    )
    figure = DescribedFigure(
        figsize=(panel[0] * columns + 1.8, panel[1] * rows + 1.5), layout="compressed"
    )
    write(figure.suptitle(""), title)
    figure.caption = say(
        "Grid of {heads} heatmaps: {title}. Rows: {rows}; columns: {columns}.",
        heads=heads,
        title=visible(title, LONGEST_SAID),
        rows=QUERY_LABEL,
        columns=KEY_LABEL,
    )
    described = some_of(heads, most=MOST_PARTS)
    if heads > MOST_PARTS and describe_values:
        in_numbers = sum(head is not None for head in described)
        numbered = say("{count} of them in numbers:", count=in_numbers)
        figure.caption = sentences(figure.caption, numbered)
    most = max(36, 1200 // heads)  # numbers of each
    for head in range(heads):
        ax = add_axes(figure, rows, columns, head + 1)
        _draw_cells(ax, stack[head], hide[head], colours, cell, cbar=False)
        longest = min(LONGEST_LABEL, int(panel[0] / 0.09))
        write(ax.set_title("", fontsize=10), titles[head], longest)
        bottom, left = head + columns >= heads, head % columns == 0
        if bottom:
            _label(ax.xaxis, keys, wide, rotation=90)
        if left:
            _label(ax.yaxis, queries, high, rotation=0)
        if head in described:
            name = visible(titles[head], LONGEST_NAME)
            ax.numbers = f"{name}:\n{table(stack[head], hide[head], queries, keys, most)}"
            ax.description = ax.numbers if describe_values else ""
    if columns == 1:
        write(ax.set_xlabel(""), KEY_LABEL)  # close to the words, wherever the layout ends
    else:
        write(figure.supxlabel("", fontsize=10), KEY_LABEL)
    write(figure.supylabel("", fontsize=10), QUERY_LABEL)
    figure.colorbar(colours, ax=figure.axes, shrink=0.7)
    return figure


def _read(weights: Any, hidden: Any, *dims: str) -> tuple[np.ndarray, np.ndarray]:
    """Return weights as floats, and a boolean array of the cells that show no number."""
    values = to_floats(weights, "weights")
    if values.ndim != len(dims):
        raise ValueError(f"weights must have shape ({', '.join(dims)}), got {values.shape}")
    if not values.size:
        raise ValueError(f"weights must hold a number at least, got {values.shape}")
    return values, np.broadcast_to(hidden_cells(values, hidden), values.shape)


def _fitting(
    cell: tuple[float, float], counts: tuple[int, int], room: tuple[float, float]
) -> tuple[float, float]:
    """Return width and height of so many cells across and down, in inches, so that all have room.

    They keep their form, unless all together would then be too narrow to be seen.
    """
    needs = [*zip(cell, counts, room, strict=True)]
    scale = min(1.0, *(inches / (side * count) for side, count, inches in needs))
    wide, high = (
        max(scale * side, min(side, min(NARROWEST, inches) / count))
        for side, count, inches in needs
    )
    return wide, high


def _label(axis: Any, labels: Sequence[str], cell: float, rotation: int) -> None:
    """Write labels beside cells of so many inches: each, or each of a few that do not collide."""
    shown, scale = _legible(len(labels), cell, rotation), min(1.0, FINEST / len(labels))
    places = [(n + 0.5) * scale for n in shown]
    label_ticks(axis, places, [labels[n] for n in shown], rotation)


def _legible(count: int, inches: float, rotation: int) -> range:
    """Return which of so many labels do not collide, at so many inches from one to the next."""
    line = LINE * (1.3 if 0 < rotation < 90 else 1)
    return range(0, count, math.ceil(line / inches))


def _colour_scale(values: np.ndarray, hide: np.ndarray, signed: bool) -> ScalarMappable:
    """Choose the colour scale: 0 to 1 for weights, symmetric around 0 for signed numbers.

    Weights after dropout reach beyond 1, and then the scale does.
    """
    limit = min(farthest_from_zero(values, hide), LARGEST)
    if signed:
        return ScalarMappable(Normalize(-limit, limit), SIGNED_MAP)
    return ScalarMappable(Normalize(0.0, max(1.0, limit)), WEIGHT_MAP)


def _draw_cells(
    ax: Axes,
    matrix: np.ndarray,
    hide: np.ndarray,
    colours: ScalarMappable,
    cell: tuple[float, float],
    **bar: Any,
) -> None:
    """Draw the cells of a matrix; hidden ones are hatched, so that none looks like a 0."""
    import seaborn  # here, since it brings pandas, and nothing else in this file needs it

    matrix, hide = coarse(matrix, hide, FINEST)
    low, high = colours.get_clim()
    look = {"linewidths": 0.5 if min(cell) >= BORDERED else 0, "linecolor": CELL_BORDER}
    look |= {"square": 0.5 < cell[0] / cell[1] < 2, "cmap": colours.cmap}
    look |= {"xticklabels": False, "yticklabels": False}
    seaborn.heatmap(
        np.clip(matrix, low, high), vmin=low, vmax=high, mask=hide, ax=ax, **look, **bar
    )
    ax.spines[:].set_visible(True)
    ax.has_cells = True
    if hide.any():
        spots = np.argwhere(hide)[:, None, ::-1]  # (cells, 1, 2): column and row
        corners = spots + np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
        hatched = {"facecolor": "0.92", "edgecolor": "0.7", "hatch": "////", "linewidth": 0}
        # one shape, and no limits looked for: each cell on its own took a minute for 100 tokens
        ax.add_artist(PathPatch(Path.make_compound_path_from_polys(corners), **hatched))


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
) -> DescribedAxes:
    """Draw one or several curves over the same x.

    Args:
        x: array (points,).
        lines: label -> array (points,); several curves get a legend.
        xlabel, ylabel, title: the words on the figure; units belong into the labels.
        logx, logy: logarithmic axes; a few marked points have the ticks of ``logx`` under them.
        marker: matplotlib's name of the mark at every point, ``""`` for none.
        decimals: how many digits the description gives.
        describe_values: False where the numbers are timings, or differ from run to run for another
            reason: they are then in the alt text alone, which is not compared.
        ax: where to draw (default: a new figure).

    Returns:
        The axes; their ``description`` holds the title and the numbers of every curve, of many
        some.

    Raises:
        TypeError, ValueError: ``x`` or a line is not a vector of real numbers, they do not hold as
            many, or nothing is above 0 on a logarithmic axis.
    """
    points = _vector("x", x)
    curves = [_vector(f"line {name!r}", values, len(points)) for name, values in lines.items()]
    for name, log, vectors in (("x", logx, [points]), ("each line", logy, curves)):
        if log and not all((vector[np.isfinite(vector)] > 0).any() for vector in vectors):
            raise ValueError(f"{name} must hold a number above 0 for a logarithmic axis")
    ax = own_axes((6.0, 3.6)) if ax is None else ax
    styles = ("-", "--", "-.", ":")
    for i, (name, values) in enumerate(zip(lines, curves, strict=True)):
        style = {"linestyle": styles[i % len(styles)], "marker": marker, "markersize": 4}
        ax.plot(_drawable(points), _drawable(values), label=str(name), **style)
    ax.set_xscale("log" if logx else "linear")
    ax.set_yscale("log" if logy else "linear")
    for axis, log in ((ax.xaxis, logx), (ax.yaxis, logy)):
        if log:
            label_in_full(axis)
    top = ax.get_ylim()[1]
    if not logy and 1e6 <= top < 1e12:  # matplotlib would take the zeros off, and write 1e6
        ax.yaxis.set_major_formatter("{x:,.0f}")
    if logx and marker and len(points) <= MOST_TICKS:
        ticks = points[np.isfinite(points)]
        ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
    title, xlabel, ylabel = _name(ax, title, xlabel, ylabel)
    ax.grid(alpha=0.3)
    if len(curves) > 1:
        columns = -(-len(curves) // MOST_TICKS)
        look = {"ncols": columns, "fontsize": 10 if columns == 1 else 6}
        # matplotlib itself would pass over a name that begins with _
        legend = ax.legend(ax.lines[-len(curves) :], ["."] * len(curves), **look)
        for text, name in zip(legend.get_texts(), lines, strict=True):
            write(text, name, LONGEST_NAME)
    names = [visible(name, LONGEST_NAME) for name in lines]
    numbers = [f"{xlabel}: {' '.join(excerpt([f'{x:g}' for x in points], MOST_SAID))}"]
    numbers += [
        f"{name}: {' '.join(excerpt([number(y, decimals) for y in values], MOST_SAID))}"
        for name, values in zip(names, curves, strict=True)
    ]
    words = excerpt(numbers, MOST_PARTS)
    if not describe_values:
        ax.numbers = "\n".join(words)
        words = excerpt([say("curve: {name}", name=name) for name in names], MOST_PARTS)
    heading = say(
        "Line plot: {title}. Horizontal: {across}; vertical: {up}.",
        title=title,
        across=xlabel,
        up=ylabel,
    )
    ax.description = "\n".join([heading, *words])
    return ax


def _vector(name: str, values: Any, count: int | None = None) -> np.ndarray:
    """Return a vector of real numbers, of as many as there have to be."""
    array = to_floats(values, name)
    if array.ndim != 1 or count not in (None, len(array)):
        shape = "(numbers,)" if count is None else f"({count},)"
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    return array


def _drawable(values: np.ndarray) -> np.ndarray:
    """Return numbers that can be drawn, NaN for what is not finite; none too large."""
    return np.where(np.isfinite(values), np.clip(values, -LARGEST, LARGEST), np.nan)


def _name(ax: Axes, title: str, xlabel: str, ylabel: str) -> list[str]:
    """Write the title and the names of the axes, and return them as they are described."""
    names = {ax.set_title(""): title, ax.set_xlabel(""): xlabel, ax.set_ylabel(""): ylabel}
    for text, name in names.items():
        write(text, name)
    return [visible(name, LONGEST_SAID) for name in names.values()]


def bar_panels(labels: Sequence[str], panels: Mapping[str, Any]) -> DescribedFigure:
    """Draw several numbers of the same things as bars, each on a scale of its own.

    The panels stand side by side, as far as they have room.

    Args:
        labels: one per bar.
        panels: title -> array (bars,), in the order in which one number is made of another.

    Returns:
        The figure; its ``description`` holds every number.

    Raises:
        TypeError, ValueError: there is no panel, or one does not hold a real number per label.

    >>> print(bar_panels(["a", "b"], {"score": [1.0, -1.0]}).description)
    Bars: score. a 1.0000, b -1.0000
    """
    for name, held in (("labels", labels), ("panels", panels)):
        check_count(f"the number of {name}", len(held))
    width = min(1.0 + 0.7 * len(labels), WIDEST)
    across = max(1, min(len(panels), int(WIDEST / width)))
    figure, axes = described_figure(-(-len(panels) // across), across, panel=(width, 2.6))
    for ax in axes.flat[len(panels) :]:
        ax.remove()
    for ax, (title, values) in zip(axes.flat, panels.items(), strict=False):
        values = _vector(title, values)
        check_labels(len(values), labels=labels)
        places = np.arange(len(values))
        bar = (width - 1.0) / len(values)  # inches from one to the next
        bars = ax.bar(places, np.nan_to_num(_drawable(values)), width=0.6, color=WEIGHT_COLOURS[2])
        if bar > 0.4:
            ax.bar_label(bars, [number(value, 2, longest=8) for value in values], padding=2)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.margins(y=0.15)
        ax.spines[["top", "right"]].set_visible(False)
        write(ax.set_title(""), title, int(width / 0.1))
        longest = min(LONGEST_LABEL, max(map(len, map(str, labels))))
        rotation = 0 if 0.1 * longest < bar else 45
        shown = _legible(len(labels), bar, rotation)
        label_ticks(ax.xaxis, shown, [labels[n] for n in shown], rotation)
        numbers = [
            f"{visible(label, LONGEST_NAME)} {number(value, decimals=4)}"
            for label, value in zip(labels, values, strict=True)
        ]
        numbers = ", ".join(excerpt(numbers, MOST_SAID))
        title = visible(title, LONGEST_SAID)
        ax.description = say("Bars: {title}. {numbers}", title=title, numbers=numbers)
    return figure
