"""The heads in the order of a measure, with their numbers."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chapter3_helpers.explorers.core.panels import Panel
from chapter3_helpers.explorers.core.style import escape, stop
from chapter3_helpers.explorers.model.measures import Measures

PRESENTED = 3  # heads that are listed for the back row
MEANT = {  # what the name of a measure leaves out
    "induction": "weight on the token that came after the present one earlier in the text",
    "evenness": "0: all on one token; 1: the same on every token",
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
    """

    picture = False  # presented, it stands beside the picture of a head

    measures: Measures
    heads: Sequence[int]
    places: Sequence[tuple[int, int]]
    layers: Sequence[int]
    chosen: int
    by: str

    @property
    def beside(self) -> bool:
        return len(self.heads) > 1

    def presented(self) -> "Ranking":
        few = [n for n, number in enumerate(self.heads) if n < PRESENTED or number == self.chosen]
        heads, places = [self.heads[n] for n in few], [self.places[n] for n in few]
        return replace(self, heads=heads, places=places)

    def html(self) -> str:
        titles = "".join(
            f'<th scope="col"{" class=marked" * (name == self.by)} title="{MEANT.get(name, "")}">'
            f"<span>{escape(name)}</span><br><small>{_rows(rows)}</small></th>"
            for name, rows in zip(
                self.measures.names, self.measures.rows[self.chosen].tolist(), strict=True
            )
        )
        lines = []
        for n, (number, (layer, head)) in enumerate(zip(self.heads, self.places, strict=True)):
            click = escape(json.dumps({"layer": layer, "head": head}))
            marked = " class=marked" * (number == self.chosen)
            cells = "".join(
                f"<td>{'–' if math.isnan(value) else f'{value:z.2f}'}</td>"
                for value in self.measures.values[number].tolist()
            )
            lines.append(
                f'<tr{marked} data-r={n} data-click="{click}"><th scope="row"'
                f"{stop('listed', n == 0)}>{self.layers[layer]}, {head}</th>{cells}</tr>"
            )
        return (
            '<div class="c3w"><table class="c3m c3rank">'
            "<caption>what each head does: mean shares of its weight</caption>"
            f"<tr><th>layer, head</th>{titles}</tr>{''.join(lines)}</table></div>"
        )


def _rows(rows: int) -> str:
    return f"{rows} row{'s' * (rows != 1)}" if rows else "no row"
