"""How one row of scores goes through softmax in tiles.

Used by ``13_performance``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import size_of
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram


def tiles_diagram(scores: Sequence[Any], values: Sequence[Any], states: Sequence[Any]) -> Diagram:
    """Draw one row of scores and its values, which come in tiles, and what is kept after each.

    A state is the largest score, the exponentials of the tile, the factor that shrinks what was
    kept before, the sum and the output.
    """
    blocks, arrows = [], []
    for tile, (largest, exponentials, shrink, total, output) in enumerate(states):
        rows = {
            "scores": (scores[tile], say_drawn("scores, tile {tile}", tile=tile + 1)),
            "largest": ([largest], say_drawn("largest so far")),
            "exponentials": (exponentials, "exp(score - largest)"),
            "kept": ([total, output], say_drawn("sum, output")),
            "values": (values[tile], say_drawn("values, tile {tile}", tile=tile + 1)),
        }
        for row, (name, (numbers, caption)) in enumerate(rows.items()):
            kind = "value" if name == "values" else "signed"
            state = "lit" if name in ("largest", "kept") else "known"
            numbers = np.array([[float(number) for number in numbers]])
            block = Block(f"{name} {tile}", (tile, row), numbers, kind=kind, state=state)
            block.caption, block.numbers, block.limit = caption, True, 4 * size_of(numbers)
            blocks.append(block)
        arrows += [
            Arrow(f"scores {tile}", f"largest {tile}"),
            Arrow(f"largest {tile}", f"exponentials {tile}"),
            Arrow(f"exponentials {tile}", f"kept {tile}", "+"),
            Arrow(f"values {tile}", f"kept {tile}", "+"),
        ]
        if tile:
            arrows.append(Arrow(f"largest {tile - 1}", f"largest {tile}"))
            words = say_drawn("times {factor} (shrink)", factor=f"{shrink:.2f}")
            arrows.append(Arrow(f"kept {tile - 1}", f"kept {tile}", words))
    return Diagram(say_drawn("One row of scores, read in tiles"), blocks, arrows)
