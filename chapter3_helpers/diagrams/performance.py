"""What is read from memory and written to it: attention step after step, and tile by tile.

Used by ``13_performance``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Bracket, Diagram

STEPS = ("compare", "softmax", "mix")
FROM = "from memory"


def traffic_diagram(
    traffic: Mapping[str, int],
    queries: Any,
    keys: Any,
    values: Any,
    scores: Any,
    weights: Any,
    context: Any,
) -> Diagram:
    """Draw the way from queries, keys and values to context, with the bytes that each step moves.

    Args:
        traffic: bytes moved by the steps ``compare``, ``softmax`` and ``mix``.
        queries, keys, values: of one head, (T, D) each.
        scores, weights: (T, T); hidden scores are -inf.
        context: (T, D).

    >>> x, square = np.ones((2, 3)), np.ones((2, 2))
    >>> moved = {"compare": 10**9, "softmax": 5 * 10**9, "mix": 10**9}
    >>> diagram = traffic_diagram(moved, x, x, x, square, square, x)
    >>> [arrow.text for arrow in diagram.arrows]
    ['1.00 GB', '5.00 GB', '1.00 GB']
    """
    scores = to_array(scores)
    squares = {"hidden": np.isneginf(scores), "shape": "(T, T)", "state": "lit"}
    blocks = [
        Block("queries", (0, 0), queries, kind="query", shape="(T, D)"),
        Block("keys", (0, 1), keys, kind="key", shape="(T, D)"),
        Block("values", (0, 2), values, kind="value", shape="(T, D)"),
        Block("scores", (1, 1), scores, **squares),
        Block("weights", (2, 1), weights, kind="weights", **squares),
        Block("context", (3, 1), context, shape="(T, D)"),
    ]
    words = [f"{traffic[step] / 1e9:.2f} GB" for step in STEPS]
    arrows = [
        Arrow(("queries", "keys"), "scores", words[0]),
        Arrow("scores", "weights", words[1]),
        Arrow(("weights", "values"), "context", words[2]),
    ]
    bracket = Bracket("written to memory, read again", ("scores", "weights"))
    return Diagram("What crosses the memory bus, step by step", blocks, arrows, [bracket])


def tiles_diagram(queries: Any, keys: Sequence[Any], values: Sequence[Any], states: Any) -> Diagram:
    """Draw a block of queries that stays while tiles of keys and values pass, from left to right.

    Args:
        queries: the block, (rows, D).
        keys, values: the tiles, (tile, D) each.
        states: after each tile its scores (rows, tile; hidden ones -inf), and the largest score
            and the sum (rows, 1) and the output (rows, D) so far.

    >>> one, two = np.ones((1, 1)), np.ones((1, 2))
    >>> diagram = tiles_diagram(two, [two] * 3, [two] * 3, [(one, one, one, two)] * 3)
    >>> diagram["values 2"].at
    (3, 4)
    """
    rows, width = to_array(queries).shape
    start = np.tile([-np.inf, 0.0], (rows, 1))
    blocks = [
        Block("queries", (0, 1), queries, kind="query", shape="stay"),
        Block("start", (0, 2), start, numbers=True, caption="largest, sum"),
        Block("zeros", (0, 3), np.zeros((rows, width)), caption="output"),
    ]
    arrows, before = [], ("start", "zeros")
    for number, (scores, largest, total, output) in enumerate(states):
        scores, column = to_array(scores), number + 1
        hidden = np.isneginf(scores)
        names = [f"{what} {number}" for what in ("keys", "scores", "state", "output", "values")]
        state = np.concatenate([to_array(largest), to_array(total)], axis=1)
        blocks += [
            Block(names[0], (column, 0), keys[number], kind="key", shape=FROM),
            Block(names[1], (column, 1), scores, hidden=hidden, caption="scores"),
            Block(names[2], (column, 2), state, numbers=True, caption=""),
            Block(names[3], (column, 3), output, caption=""),
            Block(names[4], (column, 4), values[number], kind="value", shape=FROM),
        ]
        arrows += [
            Arrow(names[0], names[1]),
            Arrow(names[1], names[2]),
            Arrow(before[0], names[2]),
            Arrow(before[1], names[3], "shrink"),
            Arrow(names[4], names[3], "+"),
        ]
        before = names[2], names[3]
    held = tuple(block.name for block in blocks if 1 <= block.at[1] <= 3)
    title = "A block of queries stays, tiles of keys and values pass"
    return Diagram(title, blocks, arrows, [Bracket("in the cache", held)])
