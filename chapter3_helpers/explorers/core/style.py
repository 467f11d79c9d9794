"""How an explorer looks: the colour of a number, and the CSS that all of them share.

The rules stand in ``explorers.css``; here those are written of which there is one a colour or row.
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

MOST_LINKED = 25  # rows, columns or tokens that pointing picks out everywhere
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


def _linked_rules() -> str:
    """Write what picks out a row and a column in all matrices of queries and keys, and one
    token's lines, while a cell or a label is pointed at or its radio button has the focus."""

    def used(part: str) -> str:  # asked first: else every step of a slider would cost a search
        return f".{part}:is(:hover,:focus-within)"

    rules = []
    for n in range(2, MOST_LINKED + 2):
        row, cell = f".c3q tr:nth-child({n})", f".c3q :is(td,th):nth-child({n})"
        rules += [
            f"{used('c3')}:has({row}:is(:hover,:focus-within)) {row}>*{{--row:{QUERY_COLOUR}}}",
            f"{used('c3')}:has({cell}:is(:hover,:focus-within)) {cell}{{--column:{KEY_COLOUR}}}",
        ]
    for n in range(MOST_LINKED):
        for side in "qk":
            there = f"{used('c3e')}:has(text.{side}{n}:hover,input.{side}{n}:focus)"
            rules.append(
                f"{there} path:not(.{side}{n}){{opacity:.05!important}}"
                f"{there} path.{side}{n}{{opacity:.9!important}}"
                f"{there} text.{side}{n}{{font-weight:600;text-decoration:underline}}"
            )
    return "".join(rules)


_RULES = importlib.resources.files(__package__).joinpath("explorers.css").read_text("utf-8")
CSS = (
    f"{_RULES}.c3{{--cell-border:{CELL_BORDER}}}"
    + _colour_rules("w", WEIGHT_COLOURS)
    + _colour_rules("s", SIGNED_COLOURS)
    + _linked_rules()
)
STYLE = f"<style>{CSS}</style>"
