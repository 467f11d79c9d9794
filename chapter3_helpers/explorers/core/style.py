"""How an explorer looks: the colour of a number, and the CSS that all of them share.

The rules stand in ``explorers.css``; here those are written of which there is one a colour.
"""

import importlib.resources
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import farthest_from_zero, hidden_cells
from chapter3_helpers._figures.colours import (
    CELL_BORDER,
    KEY_COLOUR,
    QUERY_COLOUR,
    SIGNED_COLOURS,
    WEIGHT_COLOURS,
    ink,
    shade,
)

LEVELS = 100  # colours a scale is divided into
_WEIGHTS = np.array([f"w{level}" for level in range(LEVELS + 1)])
_SIGNED = np.array([f"s{level}" for level in range(LEVELS + 1)])


def colour_classes(values: np.ndarray, hidden: Any = None, signed: bool = False) -> np.ndarray:
    """Return the CSS class of every cell: ``w0`` to ``w100`` for weights, ``s0`` to ``s100`` for
    signed numbers (``s50`` is zero), ``h`` for hidden ones."""
    hide = hidden_cells(values, hidden)
    shown = np.where(hide, 0.0, values)
    if signed:
        shown = (shown / farthest_from_zero(values, hide) + 1) / 2
    levels = np.rint(np.clip(shown, 0, 1) * LEVELS).astype(int)
    return np.where(hide, "h", (_SIGNED if signed else _WEIGHTS)[levels])


def _colour_rules(prefix: str, colours: tuple[str, ...]) -> str:
    """Write a CSS rule for every colour, with the ink that is legible on it."""
    grounds = [shade(level / LEVELS, colours) for level in range(LEVELS + 1)]
    return "".join(
        f".c3 td.{prefix}{level}{{background:{ground};color:{ink(ground)}}}"
        for level, ground in enumerate(grounds)
    )


_RULES = importlib.resources.files(__package__).joinpath("explorers.css").read_text("utf-8")
CSS = (
    f"{_RULES}.c3{{--cell-border:{CELL_BORDER};--query:{QUERY_COLOUR};--key:{KEY_COLOUR}}}"
    + _colour_rules("w", WEIGHT_COLOURS)
    + _colour_rules("s", SIGNED_COLOURS)
)
STYLE = f"<style>{CSS}</style>"
