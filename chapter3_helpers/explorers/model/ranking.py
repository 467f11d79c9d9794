"""The heads in the order of a measure, with their numbers."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chapter3_helpers._language import say
from chapter3_helpers.explorers.core.marks import mark, stop
from chapter3_helpers.explorers.core.panels import Panel, table, table_row
from chapter3_helpers.explorers.core.style import escape
from chapter3_helpers.explorers.model.measures import INDUCTION, SPREAD, Measures

MEANT = {  # what the name of a measure leaves out
    INDUCTION: say("weight on the token that came after the present one earlier in the text"),
    SPREAD: say("0: all on one token; 1: the same on every token"),
}


@dataclass(frozen=True)
class Ranking(Panel):
    """A table of heads, the largest value of a measure first; a click chooses a head.

    Args:
        measures: of all heads.
        heads: the numbers of those to be listed, in order.
        places: of each of them, the layer and the head that a click chooses.
        layers: the numbers of all layers.
        chosen: the number of the head that is marked.
        by: the measure that they are sorted by, if any.
        beside: whether it is there while the explorer is presented.
        across: whether the heads stand side by side, with this measure alone, for the back row.
    """

    picture = False  # presented, it stands beside the picture of a head

    measures: Measures
    heads: Sequence[int]
    places: Sequence[tuple[int, int]]
    layers: Sequence[int]
    chosen: int
    by: str
    beside: bool = False
    across: bool = False

    def presented(self) -> "Ranking":
        return replace(self, across=True)

    def html(self) -> str:
        if self.across:
            return self._row()
        titles = "".join(
            f'<th scope="col"{" class=marked" * (name == self.by)} '
            f'title="{escape(MEANT.get(name, ""))}">'
            f"<span>{escape(say(name))}</span><br><small>{_rows(measure.rows[self.chosen])}</small></th>"
            for name, measure in self.measures.items()
        )
        lines = []
        for n, number in enumerate(self.heads):
            reach, name, chosen = self._head(n)
            values = [_written(measure.values[number]) for measure in self.measures.values()]
            cells, marked = f"<td>{'</td><td>'.join(values)}</td>", " class=marked" * chosen
            lines.append(table_row(name, cells, f"{marked}{reach}", stop("listed", n == 0)))
        return _table(say("what each head does: mean shares of its weight"), titles, lines)

    def _row(self) -> str:
        names, values = "", ""
        for n, value in enumerate(self.measures[self.by].values[list(self.heads)].tolist()):
            reach, name, chosen = self._head(n)
            marked, stops = " class=marked" * chosen, stop("listed", n == 0)
            names += f'<th scope="col"{marked}{reach}{stops}>{name}</th>'
            values += f"<td{' class=at' * chosen}{reach}>{_written(value)}</td>"
        return _table("", names, [table_row(escape(say(self.by)), values)])

    def _head(self, n: int) -> tuple[str, str, bool]:
        """Return what makes something choose a head, its name, and whether it is the chosen one."""
        layer, head = self.places[n]
        click = escape(json.dumps({"layer": layer, "head": head}))
        name = f"{self.layers[layer]}, {head}"
        return f'{mark("row", n)} data-click="{click}"', name, self.heads[n] == self.chosen


def _table(title: str, names: str, lines: Sequence[str]) -> str:
    """Return a table of heads below, or beside, their names."""
    corner = escape(say("layer, head"))
    first = f"<tr><th>{corner}</th>{names}</tr>"
    return f'<div class="c3w">{table("c3m c3rank", title, [first, *lines])}</div>'


def _written(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:z.2f}"


def _rows(rows: int) -> str:
    if rows == 1:
        return say("1 row")
    return say("{rows} rows", rows=rows) if rows else say("no row")
