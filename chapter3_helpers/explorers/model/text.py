"""A long text, each token in the colour of its weight."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers._figures.colours import LEVELS, WEIGHT_COLOURS, ink, palette
from chapter3_helpers.explorers.core.marks import click_attribute
from chapter3_helpers.explorers.core.panels import Panel
from chapter3_helpers.explorers.core.style import escape


@dataclass(frozen=True)
class Text(Panel):
    """Tokens one after the other, on the colour of a weight, as far as there is one.

    Args:
        title: what the weights are.
        tokens: those that are shown.
        first: how many come before them.
        weights: of these tokens, if any.
        side: ``"q"`` or ``"k"``, or both, for tokens that are queries, keys or both.
        marked: the token that is read, if it is one of these.
        click: the settings that a click on a token changes, as in ``hands.js``.
        before: how many tokens have no row, where the numbers are those of rows.
    """

    title: str
    tokens: Sequence[str]
    first: int
    weights: Any
    side: str
    marked: int | None = None
    click: Mapping[str, Any] | None = None
    before: int = 0

    def html(self) -> str:
        colours = palette(WEIGHT_COLOURS)
        weights = to_array(self.weights).tolist() if self.weights is not None else []
        parts = []
        for n, token in enumerate(self.tokens):
            number = self.first + n
            place = number + self.before
            reach = "".join(f" data-{side}={number}" for side in self.side)
            level = round(min(weights[n], 1.0) * LEVELS) if weights else 0
            ground = colours[level]
            colour = f' style="background:{ground};color:{ink(ground)}"' if level else ""
            value = f": {weights[n]:.2f}" if weights else ""
            marked = " class=at" * (number == self.marked)
            parts.append(
                f'<span{reach}{marked}{colour} title="{place}{value}">{escape(token)}</span>'
            )
        return (
            f'<figure class="c3v c3text"{click_attribute(self.click)}>'
            f"<figcaption>{escape(self.title)}</figcaption><p>{''.join(parts)}</p></figure>"
        )
