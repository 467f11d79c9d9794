"""The path of one number: from a query and a key to what the query takes from the value.

::

    NumberPath(tokens, row, column, queries, keys, values, hidden=hidden)  # of one head
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers.explorers.core.panels import Panel
from chapter3_helpers.explorers.core.writing import decimals_for, escape

MOST_POWER = 8  # beyond this the largest score of the row is taken off first, as in 02
MOST_TERMS = 4  # of a sum that are written out; more have dots between them


@dataclass(frozen=True)
class NumberPath(Panel):
    """The arithmetic of one cell, step by step, with its numbers.

    Args:
        tokens: their names.
        row, column: the query and the key.
        queries, keys, values: arrays or tensors (T, D) of one head.
        hidden: boolean (T, T), True where the mask hides a key.
        scaled: whether scores are divided by sqrt(D).
        kept: boolean (T, T), False where dropout took a weight away.
        p: the share that dropout takes; the weights that it keeps are divided by 1 - p.
        decimals: how many to write (default: two, or four where two would hide the differences).
    """

    tokens: Sequence[str]
    row: int
    column: int
    queries: Any
    keys: Any
    values: Any
    hidden: Any = None
    scaled: bool = True
    kept: Any = None
    p: float = 0.0
    decimals: int | None = None

    def presented(self) -> "NumberPath":
        return replace(self, decimals=2)

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The result of every step: ``score``, ``scaled``, ``masked``, ``power``, ``weight``,
        ``dropped`` and ``part``; with ``powers`` of the whole row."""
        query = to_array(self.queries)[self.row].astype(float)
        keys = to_array(self.keys).astype(float)
        divisor = math.sqrt(len(query)) if self.scaled else 1.0
        row = keys @ query / divisor
        if self.hidden is not None:
            row = np.where(to_array(self.hidden)[self.row], -np.inf, row)
        most = row.max()
        shift = float(most) if most > MOST_POWER else 0.0
        powers = np.exp(row - shift)
        score = float(keys[self.column] @ query)
        weight = float(powers[self.column] / powers.sum())
        dropped = weight
        if self.kept is not None:
            dropped = weight * bool(to_array(self.kept)[self.row, self.column]) / (1 - self.p)
        return {
            "score": score,
            "scaled": score / divisor,
            "masked": float(row[self.column]),
            "weights": powers / powers.sum(),
            "shift": shift,
            "powers": powers,
            "power": float(powers[self.column]),
            "weight": weight,
            "dropped": dropped,
            "part": dropped * to_array(self.values)[self.column].astype(float),
        }

    def html(self) -> str:
        rows = "".join(
            f'<tr><th scope="row">{what}<td>{how}<td>= {result}</tr>'
            for what, how, result in self.steps()
        )
        asker, asked = escape(self.tokens[self.row]), escape(self.tokens[self.column])
        return (
            f'<div class="c3w"><table class="c3p"><caption>what “{asker}” takes from “{asked}”'
            f"</caption>{rows}</table></div>"
        )

    def steps(self) -> list[tuple[str, str, str]]:
        """Return what is done at each step, with which numbers, and what comes out, as HTML."""
        found, say = self.numbers, self._say
        query, key = to_array(self.queries)[self.row], to_array(self.keys)[self.column]
        products = [
            f"{say(a) if n == 0 else _signed(say(a))} · {_signed(say(b))}"
            for n, (a, b) in enumerate(zip(query, key, strict=True))
        ]
        score, masked = say(found["score"]), say(found["masked"])
        steps = [
            (
                '<b class="q">query</b> · <b class="k">key</b>',
                " + ".join(_few(products)),
                score,
            )
        ]
        if self.scaled:
            how = f"{score} / √{len(query)}"
            steps.append(("divided by √D", how, say(found["scaled"])))
        if self.hidden is not None:
            seen = "hidden from this query" if math.isinf(found["masked"]) else "may be seen"
            steps.append(("mask", f"“{escape(self.tokens[self.column])}”: {seen}", masked))
        if found["shift"]:
            how, masked = f"{masked} − {say(found['shift'])}", say(found["masked"] - found["shift"])
            steps.append(("minus the row’s largest", how, masked))
        steps.append(("e to the power", f"e<sup>{masked}</sup>", say(found["power"])))
        powers = [power for power in found["powers"] if power > 0]
        row = " + ".join(say(power) for power in powers)
        if len(powers) > MOST_TERMS:
            others = sum(powers) - found["power"]
            row = f"{say(found['power'])} + {say(others)} of the others"
        steps.append(("share of the row", f"{say(found['power'])} / ({row})", say(found["weight"])))
        if self.kept is not None:
            stays = to_array(self.kept)[self.row, self.column]
            how = f"{say(found['weight'])} / (1 − {self.p:g})" if stays else "dropped this time"
            steps.append(("dropout", how, say(found["dropped"])))
        value, part = (
            ", ".join(_few([say(number) for number in numbers]))
            for numbers in (to_array(self.values)[self.column], found["part"])
        )
        what = 'times the <b class="v">value</b>'
        return [*steps, (what, f"{say(found['dropped'])} · ({value})", f"({part})")]

    def _say(self, number: float) -> str:
        decimals = self.decimals or decimals_for(self.numbers["weights"])
        return f"{float(number):z.{decimals}f}".replace("-inf", "−∞").replace("-", "−")


def _signed(number: str) -> str:
    """Put a negative number that follows a sign in brackets."""
    return f"({number})" if number.startswith("−") else number


def _few(texts: list[str]) -> list[str]:
    """Leave out the middle of many."""
    return texts if len(texts) <= MOST_TERMS else [*texts[: MOST_TERMS - 1], "…", texts[-1]]
