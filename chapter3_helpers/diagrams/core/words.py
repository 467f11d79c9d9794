"""A diagram in words: what an alt text says, and what the regression compares."""

import math

import numpy as np

from chapter3_helpers._figures.arrays import aligned
from chapter3_helpers.diagrams.core.arrows import Bracket
from chapter3_helpers.diagrams.core.blocks import Block, Plane
from chapter3_helpers.diagrams.core.graph import Graph
from chapter3_helpers.diagrams.core.shades import written

MOST_DESCRIBED = 100  # numbers of a block; a larger one is described by its shape
STATES = {"lit": "Framed", "known": "Known", "grey": "Still to come"}


def describe(graph: Graph, numbers: bool = True) -> str:
    """Return the title, what is lit, the arrows with what happens on them, and the numbers."""
    lines = [f"Diagram: {graph.title.rstrip('.')}."]
    lines += [graph.note] if graph.note else []
    things = graph.blocks
    states = [
        *((thing.name, thing.state) for thing in things),
        *((bracket.text, bracket.state) for bracket in graph.brackets),
    ]
    grey = "grey" in dict(states).values()
    for wanted, words in STATES.items():
        names = [name for name, state in states if state == wanted]
        if names and (wanted != "known" or grey):
            lines.append(f"{words}: {', '.join(names)}.")
    lines += _arrows(graph)
    for bracket in graph.brackets:
        lines.append(f"{bracket.text}: {', '.join(bracket.blocks)}.")
    for thing in things if numbers else ():
        lines.extend(_plane(thing) if isinstance(thing, Plane) else _block(thing))
    return "\n".join(lines)


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
    if block.state == "grey" or block.lettered:
        return []
    if block.kind == "tokens":
        return [f"{block.name}: {' '.join(block.values[:, 0])}"]
    marked = []
    if block.picked is not None:
        name = f" ({block.rows[block.picked]})" if block.rows else ""
        marked.append(f"row {block.picked}{name} marked")
    if block.picked_column is not None:
        marked.append(f"column {block.picked_column} marked")
    head = ", ".join([block.label, *marked])
    if block.values.size > MOST_DESCRIBED:
        return [head] if marked else []
    cells = written(block)
    labels = block.rows or ("",) * len(cells)
    table = [["", *block.columns]] if block.columns else []
    table += [[label, *row] for label, row in zip(labels, cells, strict=True)]
    return [head + ":", *map(str.strip, aligned(table))]


def _plane(plane: Plane) -> list[str]:
    """Write a plane's vectors, and how long the shadow is."""
    lines = [f"{plane.name}:"]
    for index, (vector, label) in enumerate(zip(plane.vectors, plane.labels, strict=True)):
        lines.append(f"{label or index}: ({_number(vector[0])}, {_number(vector[1])})")
    names = [label or str(index) for index, label in enumerate(plane.labels)]
    if plane.shadow is not None:
        falls, ground = plane.shadow
        length = np.linalg.norm(plane.shadow_of())
        sign = -1 if plane.vectors[falls] @ plane.vectors[ground] < 0 else 1
        lines.append(
            f"shadow of {names[falls]} on the line of {names[ground]}: length "
            f"{_number(sign * length)}"
        )
    if plane.angle is not None:
        degrees = abs(math.degrees(plane.turned()))
        first, second = (names[index] for index in plane.angle)
        lines.append(f"angle between {first} and {second}: {degrees:.1f} degrees")
    return lines


def _number(value: float) -> str:
    return f"{round(value, 4) + 0.0:.4f}"
