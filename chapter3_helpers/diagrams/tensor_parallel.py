"""Which weights and heads live where, and what the processes exchange.

Used by ``14_tensor_parallel``.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Bracket, Diagram


def processes_diagram(
    x: Any, contexts: Sequence[Any], partials: Sequence[Any], output: Any, heads: Sequence[str]
) -> Diagram:
    """Draw two or more processes side by side, from x to the sum of what they found.

    Args:
        x: the tokens (T, d_in), the same in every process.
        contexts: what the heads of each process found, (T, width of its heads) each.
        partials: that through its columns of ``out_proj``, (T, d_out) each.
        output: the sum of the partial outputs and the bias, (T, d_out).
        heads: which heads each process has, in words.

    >>> import numpy as np
    >>> x, part = np.ones((2, 3)), np.ones((2, 1))
    >>> diagram = processes_diagram(x, [part, part], [x, x], 2 * x, ["head 0", "head 1"])
    >>> [bracket.text for bracket in diagram.brackets]
    ['device 0: head 0', 'device 1: head 1']
    """
    n = len(heads)
    blocks, arrows, brackets = [Block("x", (0, 0), x)], [], []
    for process in range(n):
        names = (f"context {process}", f"partial output {process}")
        blocks += [
            Block(names[0], (1, process), contexts[process]),
            Block(names[1], (2, process), partials[process]),
        ]
        brackets.append(Bracket(f"device {process}: {heads[process]}", names))
        arrows += [Arrow("x", brackets[-1].text), Arrow(*names, "@ its out_proj")]
    blocks.append(Block("output", (3, 0), output, caption="sum + bias"))
    arrows.append(Arrow(tuple(f"partial output {p}" for p in range(n)), "output", "all-reduce"))
    return Diagram("Heads apart, one sum", blocks, arrows, brackets)


def cut_diagram(matrices: Mapping[str, Any]) -> Diagram:
    """Draw which device holds which numbers of some matrices.

    Args:
        matrices: name -> for every weight, (rows, columns), the number of the device that has it.

    >>> [block.label for block in cut_diagram({"W_query": [[0], [0], [1], [1]]}).blocks]
    ['W_query (4, 1)']
    """
    blocks = [
        Block(name, (column, 0), owners, kind="owner", numbers=True)
        for column, (name, owners) in enumerate(matrices.items())
    ]
    return Diagram("Which device has which weights", blocks)


def ring_diagram(rounds: Mapping[str, Any]) -> Diagram:
    """Draw how sums grow and spread in a ring: how many devices' numbers are in every piece.

    Args:
        rounds: what has happened so far -> (devices, pieces), the number of summands.

    >>> ring_diagram({"start": [[1, 1], [1, 1]], "added": [[1, 2], [2, 1]]}).arrows[0].target
    'added'
    """
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
    return Diagram("How many GPUs' numbers are in each piece", blocks, arrows)
