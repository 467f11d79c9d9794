"""The picture of a diagram for the page: matplotlib, with the description as its alt text."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba_array
from matplotlib.patches import FancyBboxPatch, Polygon, Rectangle

from chapter3_helpers._figures.colours import CELL_BORDER
from chapter3_helpers._figures.described import DescribedFigure, own_axes
from chapter3_helpers._figures.labels import font_families, printable
from chapter3_helpers.diagrams.core.scene import Box, Cells, Group, Line, Scene, Text, colour_of

DPI = 100
POINTS = 72 / DPI  # in a pixel


def draw(scene: Scene, description: str) -> DescribedFigure:
    """Draw a scene, a pixel of its layout to a pixel of the picture."""
    ax = own_axes((scene.width / DPI, scene.height / DPI))
    ax.figure.set_layout_engine("none")
    ax.set_position((0, 0, 1, 1))
    ax.set(xlim=(0, scene.width), ylim=(scene.height, 0))
    ax.axis("off")
    for order, item in enumerate(scene.items):
        _paint(ax, item, order)
    ax.description = description
    return ax.figure


def _paint(ax: Axes, item, order: int) -> None:
    if isinstance(item, Group):
        for part in item.items:
            _paint(ax, part, order)
    elif isinstance(item, Text):
        text = printable(item.text, None if item.bold else 100)
        ax.text(
            item.x,
            item.y,
            text,
            fontsize=item.size * POINTS,
            ha={"start": "left", "middle": "center", "end": "right"}[item.anchor],
            va="baseline",
            weight="bold" if item.bold else "normal",
            color=colour_of(item.tone, live=False),
            family=font_families(text),
            parse_math=False,
            zorder=order + 0.9,
        )
    elif isinstance(item, Box):
        _box(ax, item, order)
    elif isinstance(item, Cells):
        rows, columns = len(item.colours), len(item.colours[0])
        right, bottom = item.x + columns * item.cell[0], item.y + rows * item.cell[1]
        image = to_rgba_array([c for row in item.colours for c in row]).reshape(rows, columns, 4)
        edges = np.linspace(item.x, right, columns + 1), np.linspace(item.y, bottom, rows + 1)
        border = min(item.cell) >= 6
        ax.pcolormesh(
            *edges, image, edgecolors=CELL_BORDER if border else "none", linewidth=0.4, zorder=order
        )
        crosses = LineCollection(
            item.crosses(), colors=colour_of("faint", live=False), linewidths=POINTS
        )
        crosses.set_zorder(order + 0.1)
        ax.add_collection(crosses, autolim=False)
    elif isinstance(item, Line):
        _line(ax, item, order)


def _box(ax: Axes, item: Box, order: int) -> None:
    style = {
        "facecolor": colour_of(item.fill, live=False),
        "edgecolor": colour_of(item.edge, live=False),
        "linewidth": item.line * POINTS,
        "linestyle": (0, (3, 3)) if item.dashed else "-",
        "zorder": order + (0.1 if item.fill else 0.5),
    }
    spot = (item.x, item.y), item.width, item.height
    if item.radius:
        ax.add_patch(
            FancyBboxPatch(
                *spot,
                boxstyle=f"round,pad=0,rounding_size={item.radius}",
                mutation_aspect=1,
                **style,
            )
        )
    else:
        ax.add_patch(Rectangle(*spot, **style))


def _line(ax: Axes, item: Line, order: int) -> None:
    points, head = item.parts()
    style = {"color": colour_of(item.tone, live=False), "zorder": order + 0.4}
    x, y = zip(*points, strict=True)
    dashes = (0, (4, 3)) if item.dashed else "-"
    style |= {"solid_joinstyle": "round", "solid_capstyle": "butt"}
    ax.plot(x, y, linestyle=dashes, linewidth=item.width * POINTS, **style)
    if head:
        ax.add_patch(Polygon(head, color=style["color"], linewidth=0, zorder=style["zorder"]))
