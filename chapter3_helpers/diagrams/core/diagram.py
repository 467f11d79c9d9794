"""A diagram: a graph that shows itself, as a picture with its words or live."""

import math
from typing import Any

import numpy as np

from chapter3_helpers._figures.writing import aligned, excerpt, visible
from chapter3_helpers.diagrams.core import svg
from chapter3_helpers.diagrams.core.graph import Graph
from chapter3_helpers.diagrams.core.parts import Block, Bracket, Plane

MOST_DESCRIBED = 100  # numbers of a block; a larger one is described by its shape
STATES = {"lit": "Framed", "known": "Known", "grey": "Still to come"}


class Diagram(Graph):
    """Blocks on a grid, the arrows between them, and the brackets around them.

    Standing on the last line of a cell it is shown as a picture with its description in words;
    an explorer shows it by ``svg``.

    Args:
        title: one line on what it shows.
        blocks: ``Block`` and ``Plane``, in the order in which they are read.
        arrows: ``Arrow``.
        brackets: ``Bracket``.
        cell: how large a cell is at most, in pixels.
        note: what stands below the title, such as what the letters of shapes mean.

    Raises:
        ValueError: two blocks have one name, an arrow names a block that is not there, or could not
            get through without crossing one.
    """

    @property
    def description(self) -> str:
        """The diagram in words: arrows, then the numbers of its blocks."""
        return describe(self)

    def figure(self) -> Any:
        """Return the picture for the page, a matplotlib figure with its description."""
        from chapter3_helpers.diagrams.core import png  # here: explorers draw without matplotlib

        return png.draw(self, self.description)

    def svg(self, strips: bool = False) -> str:
        """Return the drawing as SVG, for an explorer; it follows the theme of JupyterLab.

        Args:
            strips: whether each block is a button, as ``hands.js`` knows them.
        """
        return svg.draw(self, describe(self, numbers=False), strips)  # rows of cells say theirs

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        return self.figure()._repr_mimebundle_(include, exclude)

    def __repr__(self) -> str:
        return self.description


def describe(graph: Graph, numbers: bool = True) -> str:
    """Return the title, what is lit, the arrows with what happens on them, and the numbers."""
    lines = [f"Diagram: {graph.title.rstrip('.')}."]
    lines += [graph.note] if graph.note else []
    things = graph.blocks
    states = [
        *((thing.name, thing.state) for thing in things),
        *((bracket.text, bracket.state) for bracket in graph.brackets),
    ]
    grey = any(state == "grey" for _, state in states)
    for wanted, words in STATES.items():
        names = [name for name, state in states if state == wanted]
        if names and (wanted != "known" or grey):
            lines.append(f"{words}: {', '.join(names)}.")
    lines += _arrows(graph)
    for bracket in graph.brackets:
        lines.append(f"{bracket.text}: {', '.join(bracket.blocks)}.")
    for thing in things if numbers else ():
        lines.extend(_plane(thing) if isinstance(thing, Plane) else _block(thing))
    return "\n".join(map(visible, lines))


def _arrows(graph: Graph) -> list[str]:
    """Write one line a chain of arrows: ``x (6, 3) -> @ W_query -> queries (6, 2)``."""

    def label(name: str) -> str:
        end = graph[name]
        return name if isinstance(end, Bracket) else end.label

    lines: list[str] = []
    before = None
    for arrow in graph.arrows:
        if arrow.sources != (before,):
            lines.append(" and ".join(map(label, arrow.sources)))
        if arrow.sign:
            lines[-1] += f" {arrow.text} {label(arrow.target)}"
        else:
            weight = [] if arrow.weight is None else [f"{arrow.weight:.4f}"]
            on_it = [arrow.text] if arrow.text else []
            lines[-1] = " -> ".join([lines[-1], *on_it, *weight, label(arrow.target)])
        before = arrow.target
    return lines


def _block(block: Block) -> list[str]:
    """Write a block's numbers, one line a row; none where its shape is said in letters."""
    if block.state == "grey" or block.in_letters:
        return []
    if block.kind == "tokens":
        return [f"{block.name}: {' '.join(excerpt(block.values[:, 0], MOST_DESCRIBED))}"]
    marked = []
    if block.marked_row is not None:
        name = f" ({block.rows[block.marked_row]})" if block.rows else ""
        marked.append(f"row {block.marked_row}{name} marked")
    if block.marked_column is not None:
        marked.append(f"column {block.marked_column} marked")
    head = ", ".join([block.label, *marked])
    if block.values.size > MOST_DESCRIBED:
        return [head] if marked else []
    cells = block.written()
    labels = block.rows or ("",) * len(cells)
    table = [["", *block.columns]] if block.columns else []
    table += [[label, *row] for label, row in zip(labels, cells, strict=True)]
    return [head + ":", *map(str.strip, aligned(table))]


def _plane(plane: Plane) -> list[str]:
    """Write a plane's vectors, and how long the shadow is."""
    lines = [f"{plane.name}:"]
    names = [label or str(index) for index, label in enumerate(plane.labels)]
    for name, (x, y) in zip(names, plane.vectors, strict=True):
        lines.append(f"{name}: ({x:z.4f}, {y:z.4f})")
    lines += [f"faint: ({x:z.4f}, {y:z.4f})" for x, y in plane.ghosts]
    if plane.shadow is not None:
        falls, ground = plane.shadow
        sign = -1 if plane.vectors[falls] @ plane.vectors[ground] < 0 else 1
        length = sign * np.linalg.norm(plane.shadow_of())
        lines.append(
            f"shadow of {names[falls]} on the line of {names[ground]}: length {length:z.4f}"
        )
    if plane.angle is not None:
        degrees = abs(math.degrees(plane.turned()))
        first, second = (names[index] for index in plane.angle)
        lines.append(f"angle between {first} and {second}: {degrees:.1f} degrees")
    return lines
