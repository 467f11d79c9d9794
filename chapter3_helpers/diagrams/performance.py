"""What is read from memory and written to it: attention step after step, and tile by tile.

Used by ``12_performance``.
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
    hidden = np.isneginf(scores)
    names = ("scores", "weights")
    blocks = [
        Block(name="queries", values=queries, kind="query", shape="(T, D)"),
        Block(name="keys", at=(0, 1), values=keys, kind="key", shape="(T, D)"),
        Block(name="values", at=(0, 2), values=values, kind="value", shape="(T, D)"),
        Block(name="scores", at=(1, 1), values=scores, hidden=hidden, shape="(T, T)", state="lit"),
        Block(
            name="weights",
            at=(2, 1),
            values=weights,
            kind="weights",
            hidden=hidden,
            shape="(T, T)",
            state="lit",
        ),
        Block(name="context", at=(3, 1), values=context, shape="(T, D)"),
    ]
    words = [f"{traffic[step] / 1e9:.2f} GB" for step in STEPS]
    arrows = [
        Arrow(("queries", "keys"), "scores", words[0]),
        Arrow("scores", "weights", words[1]),
        Arrow(("weights", "values"), "context", words[2]),
    ]
    bracket = Bracket("written to memory, read again", names)
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
    blocks = [
        Block(name="queries", at=(0, 1), values=queries, kind="query", shape="stay"),
        Block(name="start", at=(0, 2), values=_start(rows), numbers=True, caption="largest, sum"),
        Block(name="zeros", at=(0, 3), values=np.zeros((rows, width)), caption="output"),
    ]
    arrows = []
    for number, (scores, largest, total, output) in enumerate(states):
        scores = to_array(scores)
        column = number + 1
        names = [f"{what} {number}" for what in ("keys", "scores", "state", "output", "values")]
        state = np.concatenate([to_array(largest), to_array(total)], axis=1)
        blocks += [
            Block(name=names[0], at=(column, 0), values=keys[number], kind="key", shape=FROM),
            Block(
                name=names[1],
                at=(column, 1),
                values=scores,
                hidden=np.isneginf(scores),
                caption="scores",
            ),
            Block(name=names[2], at=(column, 2), values=state, numbers=True, caption=""),
            Block(name=names[3], at=(column, 3), values=output, caption=""),
            Block(name=names[4], at=(column, 4), values=values[number], kind="value", shape=FROM),
        ]
        before = (
            ("start", "zeros") if not number else (f"state {number - 1}", f"output {number - 1}")
        )
        arrows += [
            Arrow(names[0], names[1]),
            Arrow(names[1], names[2]),
            Arrow(before[0], names[2]),
            Arrow(before[1], names[3], "shrink"),
            Arrow(names[4], names[3], "+"),
        ]
    held = tuple(block.name for block in blocks if 1 <= block.at[1] <= 3)
    title = "A block of queries stays, tiles of keys and values pass"
    return Diagram(title, blocks, arrows, [Bracket("in the cache", held)])


def _start(rows: int) -> np.ndarray:
    return np.tile([-np.inf, 0.0], (rows, 1))
