"""Positions as turns: a query and a key that move together, and clocks that count.

Used by ``08_positions``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers.diagrams.core import Block, Diagram, Plane


def rotary_diagram(
    queries: Any, keys: Any, dots: Any, titles: Sequence[str], before: Any = ()
) -> Diagram:
    """Draw pairs of a turned query and a turned key, (n, 2) each, with the angle between them and
    their dot product; faintly what both were ``before``, (2, 2)."""
    queries, keys, dots = map(to_array, (queries, keys, dots))
    look = {
        "labels": [say_drawn("query"), say_drawn("key")],
        "kinds": ["query", "key"],
        "angle": (1, 0),
        "size": 190,
    }
    look["ghosts"] = to_array(before)
    look["reach"] = 1.5 * max(np.linalg.norm(pair) for pair in (*queries, *keys))
    planes = [
        Plane(
            title,
            (panel, 0),
            np.stack([queries[panel], keys[panel]]),
            shape=say_drawn("dot product {number}", number=f"{float(dots[panel]):z.2f}"),
            key=f"panel {panel}",
            **look,
        )
        for panel, title in enumerate(titles)
    ]
    return Diagram(say_drawn("A query and a key, turned by their positions"), planes)


def clocks_diagram(angles: Any, positions: Sequence[int]) -> Diagram:
    """Draw a clock for every pair of numbers, at some positions, beside a binary counter.

    ``angles`` are (T, pairs) in radians, the fastest pair first. A digit of the counter on the
    right changes at every step, one further left more rarely; so do the hands, but smoothly.
    """
    angles = to_array(angles)
    pairs = angles.shape[1]
    blocks = []
    for row, position in enumerate(positions):
        digits = [position >> digit & 1 for digit in reversed(range(pairs))]
        blocks.append(
            Block(
                say_drawn("counter at {position}", position=position),
                (0, row),
                [digits],
                rows=[say_drawn("position {position}", position=position)],
                caption="" if row else say_drawn("binary counter"),
                numbers=True,
                limit=2,
            )
        )
        blocks += [
            Plane(
                say_drawn("pair {pair} at {position}", pair=pair, position=position),
                (pairs - pair, row),  # the fastest on the right, as in a number
                [[np.cos(angle), np.sin(angle)]],
                caption="" if row else say_drawn("pair {pair}", pair=pair),
                circle=True,
                size=70,
            )
            for pair, angle in enumerate(angles[position])
        ]
    return Diagram(say_drawn("Two ways to count: digits, and hands of clocks"), blocks)
