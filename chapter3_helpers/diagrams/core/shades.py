"""The colours of a diagram's numbers, and how they are written."""

from functools import lru_cache

import numpy as np

from chapter3_helpers._figures.arrays import farthest_from_zero
from chapter3_helpers._figures.colours import (
    KEY_COLOUR,
    QUERY_COLOUR,
    SIGNED_COLOURS,
    VALUE_COLOUR,
    WEIGHT_COLOURS,
    shade,
)
from chapter3_helpers.diagrams.core.blocks import Block

LEVELS = 100  # colours a scale is divided into
HUES = {"query": QUERY_COLOUR, "key": KEY_COLOUR, "value": VALUE_COLOUR}
NEGATIVE = "#4a4a4a"  # what is below zero is grey in queries, keys and values
OWNERS = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#0072B2", "#F0E442", "#D55E00", "#999999")
TOKEN = "#80808022"
EMPTY = "#80808033"  # a cell that is hidden, or not reached yet


@lru_cache
def palette(kind: str) -> np.ndarray:
    """Return the colours of a kind, from its smallest number to its largest, as #rrggbb."""
    if kind in HUES:
        scale = (NEGATIVE, "#ffffff", HUES[kind])
    else:
        scale = WEIGHT_COLOURS if kind == "weights" else SIGNED_COLOURS
    return np.array([shade(level / LEVELS, scale) for level in range(LEVELS + 1)])


def colours_of(block: Block) -> np.ndarray:
    """Return the colour of every cell."""
    if block.kind == "tokens":
        return np.full(block.values.shape, TOKEN)
    if block.state == "grey":
        return np.full(block.values.shape, EMPTY)
    if block.kind == "owner":
        return np.array(OWNERS)[block.values.astype(int) % len(OWNERS)]
    shown = np.where(block.hidden, 0.0, block.values)
    if block.kind != "weights":
        limit = block.limit or farthest_from_zero(block.values, block.hidden)
        shown = (shown / limit + 1) / 2
    levels = np.rint(np.clip(shown, 0, 1) * LEVELS).astype(int)
    return np.where(block.hidden, EMPTY, palette(block.kind)[levels])


def decimals_of(block: Block, most: int = 4) -> int:
    """Return 0 for a block of whole numbers, such as counts, and ``most`` for any other."""
    shown = block.values[~block.hidden]
    return 0 if (shown == np.round(shown)).all() else most


def written(block: Block, most: int = 4, hide: str = "hidden") -> list[list[str]]:
    """Write every number of a block with so many decimals; no zero has a sign."""
    if block.kind == "tokens":
        return block.values.tolist()
    decimals = decimals_of(block, most)
    rounded = np.round(np.where(block.hidden, 0.0, block.values), decimals) + 0.0
    return [
        [hide if gone else f"{value:.{decimals}f}" for value, gone in zip(*row, strict=True)]
        for row in zip(rounded.tolist(), block.hidden.tolist(), strict=True)
    ]
