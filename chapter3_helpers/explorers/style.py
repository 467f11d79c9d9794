"""How an explorer looks: the colour of a number, and the CSS that all panels share."""

from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import farthest_from_zero, hidden_cells
from chapter3_helpers._figures.colours import (
    CELL_BORDER,
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


STYLE = (
    "<style>"
    ".c3{margin-top:8px;display:flex;flex-wrap:wrap;gap:12px 28px;align-items:flex-start;"
    "color:var(--jp-content-font-color1,#222);font:13px/1.35 var(--jp-ui-font-family,sans-serif)}"
    ".c3 table{border-collapse:collapse;width:auto;margin:0}"
    ".c3 caption,.c3 h4,.c3 figcaption{text-align:left;font-weight:600;margin:0 0 4px;"
    "padding:0;color:inherit;font-size:13px}"
    ".c3 th{font-weight:400;color:inherit;background:none;white-space:pre}"
    ".c3 tr{background:none!important}"
    ".c3 .c3m td{min-width:3em;padding:5px 6px;text-align:center;"
    f"font-variant-numeric:tabular-nums;border:1px solid {CELL_BORDER}}}"
    ".c3 .c3m th{padding:2px 8px;text-align:right}"
    ".c3 .c3m th[scope=col]{text-align:center}"
    ".c3 .c3m .corner{font-size:11px;color:var(--jp-content-font-color2,#666)}"
    ".c3 .c3m .picked th{font-weight:700}"
    ".c3-view .widget-html-content{min-width:0}.c3>*{max-width:100%;min-width:0}"
    ".c3 .c3w{overflow-x:auto}"
    ".c3 .c3m .picked td{border-top:2px solid #d9622b;border-bottom:2px solid #d9622b}"
    ".c3 td.h{background:repeating-linear-gradient(45deg,#8886 0 2px,#8882 2px 6px)}"
    ".c3 .c3g{display:flex;flex-wrap:wrap;gap:10px}"
    ".c3 .c3h td{width:var(--cell);min-width:var(--cell);height:var(--cell);padding:0;border:0;"
    f"box-shadow:inset 0 0 0 .5px {CELL_BORDER}}}"
    ".c3 .c3h{outline:1px solid var(--jp-border-color1,#bbb);outline-offset:1px}"
    ".c3 .c3h.picked{outline:3px solid #d9622b}"
    ".c3 .c3h caption{font-weight:400;font-size:11px;margin:0 0 3px}"
    ".c3 .c3b th,.c3 .c3f th{text-align:left;padding:2px 12px 2px 0;"
    "color:var(--jp-content-font-color2,#555)}"
    ".c3 .c3f td,.c3 .c3b td{text-align:left;padding:2px 8px 2px 0;"
    "font-variant-numeric:tabular-nums;max-width:44em;overflow-wrap:anywhere}"
    ".c3 .c3b .b{width:180px;padding:0;border-left:1px solid var(--jp-border-color1,#bbb)}"
    ".c3 .c3b .b div{height:14px;background:#2a7fba}"
    ".c3 .c3n{margin:0;flex:0 0 100%}"
    ".c3 .c3v{margin:0}.c3 .c3v svg{max-width:100%;height:auto;font-size:11px;fill:currentColor}"
    ".c3 .c3v .grid{stroke:currentColor;opacity:.2}.c3 .c3v .mark{stroke:#d9622b;"
    "stroke-dasharray:4 3;stroke-width:2}"
    ".c3 .c3l{margin:2px 0 0}.c3 .c3l span{margin-right:14px}"
    ".c3 .c3l i{display:inline-block;width:14px;height:4px;margin:0 5px 3px 0}"
    ".c3 .error{flex-basis:100%;margin:0;padding:8px 12px;border-left:4px solid #d9622b}"
    ".c3 pre{margin:0;padding:8px 12px;overflow-x:auto;"
    "background:var(--jp-cell-editor-background,#f5f5f5);"
    "color:inherit;font:12px/1.5 var(--jp-code-font-family,monospace)}"
    + _colour_rules("w", WEIGHT_COLOURS)
    + _colour_rules("s", SIGNED_COLOURS)
    + "</style>"
)
