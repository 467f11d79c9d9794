"""Which weights and heads live where, and what the processes exchange.

Used by ``14_tensor_parallel``.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers.diagrams.core import Arrow, Block, Bracket, Diagram


def processes_diagram(
    x: Any, contexts: Sequence[Any], partials: Sequence[Any], output: Any, heads: Sequence[str]
) -> Diagram:
    """Draw processes side by side: what the heads of each found, (T, D), that through the columns
    of its ``out_proj``, (T, d_out), and the sum of all."""
    n = len(heads)
    blocks, arrows, brackets = [Block("x", (0, 0), x)], [], []
    partly = [say_drawn("partial output {process}", process=process) for process in range(n)]
    for process in range(n):
        names = (f"context {process}", partly[process])
        blocks += [
            Block(names[0], (1, process), contexts[process]),
            Block(names[1], (2, process), partials[process]),
        ]
        frame = say_drawn("device {process}: {heads}", process=process, heads=heads[process])
        brackets.append(Bracket(frame, names))
        arrows += [Arrow("x", frame), Arrow(*names, say_drawn("@ its out_proj"))]
    blocks.append(Block("output", (3, 0), output, caption=say_drawn("sum + bias")))
    arrows.append(Arrow(tuple(partly), "output", "all-reduce"))
    return Diagram(say_drawn("Heads apart, one sum"), blocks, arrows, brackets)


def cut_diagram(matrices: Mapping[str, Any]) -> Diagram:
    """Draw which device holds which numbers: matrices hold in place of a weight its device."""
    blocks = [
        Block(name, (column, 0), owners, kind="owner", numbers=True)
        for column, (name, owners) in enumerate(matrices.items())
    ]
    return Diagram(say_drawn("Which device has which weights"), blocks)


def ring_diagram(rounds: Mapping[str, Any]) -> Diagram:
    """Draw how sums grow and spread in a ring: how many devices' numbers are in every piece,
    (devices, pieces), after each round."""
    most = max(to_array(counts).max() for counts in rounds.values())
    blocks = [
        Block(
            name,
            (column, 0),
            counts,
            rows=[f"GPU {gpu}" for gpu in range(len(counts))] if not column else None,
            numbers=True,
            limit=most,
            shape="",
        )
        for column, (name, counts) in enumerate(rounds.items())
    ]
    arrows = [Arrow(first, second) for first, second in pairwise(rounds)]
    return Diagram(say_drawn("How many GPUs' numbers are in each piece"), blocks, arrows)
