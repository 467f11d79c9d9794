"""How an explorer looks: the colour of a number, and the CSS that all of them share."""

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


# Controls stay in sight while panels scroll under them: nothing between them and what scrolls may
# clip. Without :has a browser shows everything too, only not as comfortably.
_CONTROLS = """
.jp-OutputArea:has(.c3-explorer),.jp-OutputArea-child:has(.c3-explorer),
.jp-OutputArea-output:has(.c3-explorer),.jp-Cell-outputWrapper:has(.c3-explorer),
.jp-Cell:has(.c3-explorer),.c3-explorer.c3-explorer,.c3-controls.c3-controls{overflow:visible;min-width:0;max-width:100%}
.c3-controls.c3-controls{position:sticky;top:0;z-index:5;display:flex;flex-flow:row wrap;
 align-items:center;gap:2px 14px;padding:4px 0 6px;width:100%;
 background:var(--jp-layout-color0,#fff);border-bottom:1px solid var(--jp-border-color1,#bbb)}
.c3-controls>.widget-inline-hbox,.c3-controls>.widget-box{margin:0}
.c3-controls .widget-label{flex:0 0 auto;min-width:0;margin-right:6px}
.c3-controls .widget-readout{flex:0 0 auto;min-width:3.5em;margin-left:8px}
.c3-controls>.widget-box>.widget-slider{flex:1 1 auto;min-width:0;max-width:none;margin:2px 0}
.c3-controls .slider-container{min-width:70px}
.c3-played.c3-played{flex:1 1 360px;min-width:min(360px,100%);max-width:520px;gap:8px}
.c3-played .widget-play{flex:0 0 76px;width:76px}.c3-played button{padding:0}
.c3-controls .widget-dropdown{flex:0 1 auto}
.c3-controls .widget-checkbox{padding-right:8px}
.c3-tools.c3-tools{margin-left:auto;overflow:visible;flex:0 0 auto}
.c3-tools button{width:auto}
.c3-buttons.c3-buttons{display:flex;flex-flow:row nowrap;height:auto;align-items:baseline;
 overflow:visible}
.c3-buttons .widget-radio-box{display:flex;flex-flow:row wrap;gap:4px;margin:0!important;
 padding:2px}
.c3-buttons .widget-radio-box label{position:relative;width:auto;height:auto;margin:0;
 padding:1px 9px;line-height:20px;border:1px solid var(--jp-border-color0,#888);
 border-radius:4px;cursor:pointer;color:var(--jp-content-font-color1,#222);white-space:pre}
.c3-buttons .widget-radio-box label:hover{border-color:currentColor}
.c3-buttons .widget-radio-box input{position:absolute;inset:0;width:100%;height:100%;margin:0;
 opacity:0;cursor:pointer}
.c3-buttons label:has(input:checked){background:#0072b2;border-color:#0072b2;color:#fff;
 font-weight:600}
.c3-buttons label:has(input:focus-visible){outline:2px solid #d9622b;outline-offset:1px}
.c3-thumbnails.c3-thumbnails{display:grid;overflow:visible;margin-top:6px}
.c3-thumbnails>*{grid-area:1/1;margin:0}
.c3-thumbnails .c3-buttons.c3-buttons{display:block;max-width:none!important}
.c3-thumbnails .widget-label{display:none}
.c3-thumbnails :is(.widget-radio-box,.c3g){display:grid!important;gap:6px!important;padding:2px;
 grid-template-columns:repeat(auto-fill,calc(var(--thumb,72px) + 12px))}
.c3-thumbnails img{width:var(--thumb,72px);height:var(--thumb,72px);
 margin:calc(var(--thumb,72px)*.3) 6px 4px;display:block;
 image-rendering:pixelated;outline:1px solid var(--jp-border-color1,#bbb)}
.c3-thumbnails .widget-radio-box label{height:calc(var(--thumb,72px)*1.3 + 4px);
 padding:0;text-align:center;
 box-sizing:border-box}
.c3-thumbnails label:has(input:checked){background:none;color:inherit;
 box-shadow:0 0 0 2px #d9622b;border-color:#d9622b}
"""
# 13 pixels is small for a lecture hall
_PRESENT = """
.c3-present .c3-unpresented{display:none!important}
.c3-present .c3{font-size:20px;justify-content:center}
.c3-present .c3 :is(caption,h4,figcaption){font-size:22px}
.c3-present .c3 .c3m .corner{font-size:16px}
.c3-present .c3 .c3m td{min-width:1.9em;padding:9px 6px}
.c3-present .c3 .c3t{font-size:clamp(15px,1.7vw,20px)}.c3-present .c3 .c3t td{padding:3px}
.c3-present .c3 .c3b .b{width:clamp(180px,30vw,420px)}.c3-present .c3 .c3b .b div{height:24px}
.c3-present .c3>:not(p,table){flex:1 1 auto}.c3-present .c3>table{margin:0 auto}
.c3-present .c3>:not(p) table{margin:auto}
.c3-present .c3 svg{display:block;width:min(100%,1040px);height:auto;max-height:66vh;margin:auto}
.c3-present .c3-thumbnails:not([style*="display: none"])~.c3-view .c3 .c3lines{max-height:44vh}
.c3-present .c3-controls :is(label,.widget-label,.widget-readout,button,input,select){
 font-size:20px;line-height:1.4;height:auto}
.c3-present .c3-controls .widget-readout{min-width:2.8em}
.c3-present .c3-played .widget-play{flex-basis:100px}.c3-present .c3 figcaption{text-align:center}
.c3-present .c3-played.c3-played{flex-basis:460px;min-width:min(460px,100%)}
.c3-present .c3-thumbnails{--thumb:108px}
.c3-present .c3-thumbnails .widget-radio-box label{font-size:19px;line-height:28px}
"""
_PANELS = f"""
.c3{{margin-top:8px;display:flex;flex-wrap:wrap;gap:12px 24px;align-items:flex-start;
 color:var(--jp-content-font-color1,#222);font:13px/1.35 var(--jp-ui-font-family,sans-serif)}}
.c3 table{{border-collapse:collapse;width:auto;margin:0;font-size:inherit}}
.c3 :is(caption,h4,figcaption){{text-align:left;font-weight:600;margin:0 0 4px;padding:0;
 color:inherit;font-size:inherit}}
.c3 th{{font-weight:400;color:inherit;background:none;white-space:pre}}
.c3 tr{{background:none!important}}
.c3 .c3m td{{min-width:2.8em;padding:5px;text-align:center;white-space:nowrap;
 font-variant-numeric:tabular-nums;border:1px solid {CELL_BORDER}}}
.c3 .c3m th{{padding:2px 8px;text-align:right}}
.c3 .c3m th[scope=col]{{text-align:center}}
.c3 .c3t td{{min-width:2.2em;padding:5px 4px}}
.c3 .c3t th[scope=col]{{vertical-align:bottom;padding:2px}}
.c3 .c3t th[scope=col] span{{writing-mode:vertical-rl;transform:rotate(180deg)}}
.c3 .c3m .corner{{font-size:.85em;color:var(--jp-content-font-color2,#666)}}
.c3 .c3m tr.picked th,.c3 .c3m th.picked{{font-weight:700}}
.c3 .c3m .picked td{{border-top:2px solid #d9622b;border-bottom:2px solid #d9622b}}
.c3 .c3m td.at{{outline:3px solid #d9622b;outline-offset:-2px}}
.c3 .c3m td.gap{{min-width:1em;border:0;color:inherit}}
.c3 .c3q :is(td,th){{box-shadow:inset 0 3px var(--row,#0000),inset 0 -3px var(--row,#0000),
 inset 3px 0 var(--column,#0000),inset -3px 0 var(--column,#0000)}}
.c3-view .widget-html-content{{min-width:0}}.c3>*{{max-width:100%;min-width:0}}
.c3 .c3w{{overflow-x:auto}}
.c3 td.h{{background:repeating-linear-gradient(45deg,#8886 0 2px,#8882 2px 6px)}}
.c3 .c3g{{display:flex;flex-wrap:wrap;gap:10px}}
.c3 .c3h td{{width:var(--cell);min-width:var(--cell);height:var(--cell);padding:0;border:0;
 box-shadow:inset 0 0 0 .5px {CELL_BORDER}}}
.c3 .c3h{{outline:1px solid var(--jp-border-color1,#bbb);outline-offset:1px}}
.c3 .c3h.picked{{outline:3px solid #d9622b}}
.c3 .c3h caption{{font-weight:400;font-size:11px;margin:0 0 3px}}
.c3 :is(.c3b,.c3f) th{{text-align:left;padding:2px 12px 2px 0;
 color:var(--jp-content-font-color2,#555)}}
.c3 :is(.c3b,.c3f) td{{text-align:left;padding:2px 8px 2px 0;
 font-variant-numeric:tabular-nums;max-width:44em;overflow-wrap:anywhere}}
.c3 .c3b td.n{{white-space:nowrap}}
.c3 .c3b .b{{width:180px;padding:0;border-left:1px solid var(--jp-border-color1,#bbb)}}
.c3 .c3b .b div{{height:14px;background:#2a7fba}}
.c3 .c3n{{margin:0;flex:0 0 100%}}
.c3 .c3v{{margin:0}}.c3 .c3v svg{{max-width:100%;height:auto;font-size:11px;fill:currentColor}}
.c3 .c3v .grid{{stroke:currentColor;opacity:.2}}.c3 .c3v .mark{{stroke:currentColor;
 opacity:.6;stroke-dasharray:4 3;stroke-width:2}}
.c3 .c3lines path{{fill:none;stroke:#7a6bc9;opacity:.85}}
.c3 .c3lines path.pale{{opacity:.2}}
[data-jp-theme-light=false] .c3 .c3lines path.pale{{opacity:.35}}
.c3 .c3v .c3lines text{{font-size:13px;cursor:default}}
.c3 :is(.c3q th,.c3e){{position:relative}}
.c3 form input{{position:absolute;inset:0;margin:0;opacity:0;pointer-events:none}}
.c3 .c3q th:focus-within{{outline:2px solid #d9622b;outline-offset:-2px}}
.c3 .c3l{{margin:2px 0 0}}.c3 .c3l span{{margin-right:14px}}
.c3 .c3l i{{display:inline-block;width:14px;height:4px;margin:0 5px 3px 0}}
.c3 .c3p td{{padding:3px 10px;text-align:left;vertical-align:baseline;
 font-variant-numeric:tabular-nums;border-bottom:1px solid var(--jp-border-color2,#ddd)}}
.c3 .c3p th{{padding:3px 10px 3px 0;text-align:left;white-space:normal;vertical-align:baseline;
 border-bottom:1px solid var(--jp-border-color2,#ddd)}}
.c3 .c3p td:last-child{{font-weight:600;white-space:nowrap}}
.c3 .c3p :is(.q,.k,.v){{border-bottom:3px solid}}
.c3 .c3p .q{{border-color:#0072b2}}.c3 .c3p .k{{border-color:#d55e00}}
.c3 .c3p .v{{border-color:#009e73}}
.c3 .c3p .off{{color:var(--jp-content-font-color2,#666)}}
.c3 .error{{flex-basis:100%;margin:0;padding:8px 12px;border-left:4px solid #d9622b}}
.c3-stale{{opacity:.35;pointer-events:none}}
.c3 pre{{margin:0;padding:8px 12px;overflow-x:auto;color:inherit;
 background:var(--jp-cell-editor-background,#f5f5f5);
 font:12px/1.5 var(--jp-code-font-family,monospace)}}
"""
STYLE = (
    "<style>"
    + _CONTROLS
    + _PANELS
    + _PRESENT
    + _colour_rules("w", WEIGHT_COLOURS)
    + _colour_rules("s", SIGNED_COLOURS)
    + _linked_rules()
    + "</style>"
)
