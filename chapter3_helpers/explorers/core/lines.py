"""The same weights as a matrix, as lines: who looks at whom, and how much.

::

    Lines("attention weights", weights, tokens, hidden=hidden, marked_row=row)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import hidden_cells, to_array
from chapter3_helpers._figures.writing import short
from chapter3_helpers._language import say, to_say
from chapter3_helpers.diagrams.core.scene import text_width
from chapter3_helpers.explorers.core.marks import click_attribute, mark, stop
from chapter3_helpers.explorers.core.panels import Panel, check_fit
from chapter3_helpers.explorers.core.style import escape, largest, listed, named

STEP = 30  # pixels from one token to the next
ACROSS = 170  # pixels from left to right
THICKEST = 13  # a weight of 1
THINNEST = 0.005  # a smaller weight has no line
MOST = {  # what a token says of its largest weight, and of several that are equal
    "query": (
        to_say("{token} attends most to {others}: {weight}"),
        to_say("{token} attends most to {others}: {weight} each"),
    ),
    "key": (
        to_say("{token} is attended to most by {others}: {weight}"),
        to_say("{token} is attended to most by {others}: {weight} each"),
    ),
}


@dataclass(frozen=True)
class Lines(Panel):
    """Queries at the left, keys at the right, and between them lines as thick as the weights.

    Pointing at a token leaves only its lines; so do Tab, which reaches either side, and then the
    arrows.

    Args:
        title: what the weights are.
        values: array or tensor (queries, keys), from 0 to 1. -inf and NaN have no line.
        queries: their names.
        keys: their names (default: the queries').
        hidden: boolean (queries, keys), True where there is no line.
        marked_row: the query whose lines are dark; the others are pale.
        sides: what stands left and right, where that is not queries and keys.
        click: the settings that a click on a line or a token changes, as in ``hands.js``.
    """

    title: str
    values: Any
    queries: Sequence[str]
    keys: Sequence[str] | None = None
    hidden: Any = None
    marked_row: int | None = None
    sides: str = say("from query to key")
    click: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        keys = self.queries if self.keys is None else self.keys
        check_fit(self.title, self.values, self.queries, keys)

    def html(self) -> str:
        values = to_array(self.values).astype(float)
        gone = hidden_cells(values, self.hidden)
        keys = self.queries if self.keys is None else self.keys
        left = 14 + max(text_width(short(token), 13, bold=True) for token in self.queries)
        right = left + ACROSS
        width = right + 14 + max(text_width(short(token), 13) for token in keys)
        height = STEP * max(len(self.queries), len(keys))
        paths = []
        order = sorted(range(len(self.queries)), key=lambda i: i == self.marked_row)  # on top
        for i in order:
            pale = "" if self.marked_row in (None, i) else " class=pale"
            for j, weight in enumerate(values[i].tolist()):
                if gone[i, j] or weight < THINNEST:
                    continue
                a, b, middle = STEP * (i + 0.5), STEP * (j + 0.5), ACROSS / 2
                paths.append(
                    f"<path{pale}{mark('query', i)}{mark('key', j)} "
                    f'd="M{left:.0f} {a:.0f}c{middle:.0f} 0 '
                    f'{middle:.0f} {b - a:.0f} {ACROSS} {b - a:.0f}" '
                    f'stroke-width="{max(0.4, THICKEST * min(weight, 1.0)):.3g}"/>'
                )
        shown = np.where(gone, -1.0, values)
        ends = _ends("query", self.queries, keys, shown, left - 8, self.marked_row)
        ends += _ends("key", keys, self.queries, shown.T, right + 8)
        said = escape(say("{title}: {rest}", title=self.title, rest=self.sides))
        return (
            f'<figure class="c3v"{click_attribute(self.click)}><figcaption>{said}</figcaption>'
            f'<svg class="c3lines" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
            f'role="group" aria-label="{said}">{"".join(paths)}{ends}</svg></figure>'
        )


def _ends(
    side: str,
    tokens: Sequence[str],
    others: Sequence[str],
    weights: np.ndarray,
    x: float,
    marked: int | None = None,
) -> str:
    """Write the tokens of one side; to who cannot see the lines each says its largest weight."""
    anchor = "end" if side == "query" else "start"
    parts = []
    for n, (token, row) in enumerate(zip(tokens, weights, strict=True)):
        said = named(tokens, n)
        if row.max() >= 0:
            names, most = largest(row, others)
            text = MOST[side][len(names) > 1]
            said = say(text, token=said, others=listed(names), weight=most)
        bold = " font-weight=600" * (n == marked)
        parts.append(
            f"<text{mark(side, n)}{stop(side, n == 0)} role=button "
            f'aria-label="{escape(said)}" x="{x:.0f}" y="{STEP * (n + 0.5) + 5:.0f}" '
            f'text-anchor="{anchor}"{bold}>{escape(short(token))}</text>'
        )
    return "".join(parts)
