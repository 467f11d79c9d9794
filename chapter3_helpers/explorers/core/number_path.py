"""The path of one number: from a query and a key to what the query takes from the value.

::

    NumberPath(tokens, row, column, queries, keys, values, hidden)  # of one head
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers.explorers.core.marks import mark
from chapter3_helpers.explorers.core.panels import Panel
from chapter3_helpers.explorers.core.style import decimals_for, escape, named, written

MOST_POWER = 8  # beyond this the largest score of the row is taken off first, as in 02
MOST_TERMS = 4  # of a sum that are written out; more have dots between them


@dataclass(frozen=True)
class NumberPath(Panel):
    """The arithmetic of one cell, step by step, with its numbers. It stands beside its matrix.

    Args:
        tokens: the names of the keys, and of the queries where these are the same.
        row, column: the query and the key.
        queries, keys: arrays or tensors (T, D) of one head.
        values: (T, D), if anything is to be taken from them.
        hidden: boolean (T, T), True where the mask hides a key.
        scaled: whether scores are divided by sqrt(D).
        kept: boolean (T, T), False where dropout took a weight away.
        p: the share that dropout takes; the weights that it keeps are divided by 1 - p.
        times: how often it kept this weight, and of how many draws the mean is asked for.
        decimals: how many to write (default: two, or four where two would hide the differences).
        scores: (T, T), where they are not the products of queries and keys.
        temperature: by what scores are divided, where that is not sqrt(D).
        bias: (T, T), what is added to the scores for the distance.
        masked: (T, T), the scores after the mask, where it does not write -inf.
        additive: (D,), the v of attention that adds: v . tanh(query + key) is the score.
        askers: the names of the queries.
        of: the title of its matrix, where several look alike.
    """

    tokens: Sequence[str]
    row: int
    column: int
    queries: Any = None
    keys: Any = None
    values: Any = None
    hidden: Any = None
    scaled: bool = True
    kept: Any = None
    p: float = 0.0
    times: tuple[int, int] | None = None
    decimals: int | None = None
    scores: Any = None
    temperature: float | None = None
    bias: Any = None
    masked: Any = None
    additive: Any = None
    askers: Sequence[str] | None = None
    of: str = ""
    beside = explains = True

    def presented(self) -> "NumberPath":
        return replace(self, decimals=2)

    @cached_property
    def vectors(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The query and the key, (D,) each, if scores are made of them."""
        if self.scores is not None:
            return None
        query, key = to_array(self.queries)[self.row], to_array(self.keys)[self.column]
        return query.astype(float), key.astype(float)

    @cached_property
    def products(self) -> np.ndarray:
        """The numbers (D,) whose sum is the score."""
        query, key = self.vectors
        if self.additive is not None:
            return np.tanh(query + key) * to_array(self.additive)
        return query * key

    @cached_property
    def divisor(self) -> float:
        """By what a score is divided."""
        if self.vectors is None or self.additive is not None or not self.scaled:
            return self.temperature or 1.0
        return math.sqrt(len(self.vectors[0]))

    @cached_property
    def rows(self) -> dict[str, np.ndarray]:
        """What every step makes of the whole row, (T,) each: ``score``, ``scaled``, ``biased``,
        ``masked``, ``power`` and ``weight``."""
        if self.vectors is None:
            scores = self._row(self.scores)
        elif self.additive is not None:
            scores = np.tanh(self.vectors[0] + to_array(self.keys)) @ to_array(self.additive)
        else:
            scores = to_array(self.keys).astype(float) @ self.vectors[0]
        rows = {"score": scores, "scaled": scores / self.divisor}
        rows["biased"] = rows["masked"] = rows["scaled"]
        if self.bias is not None:
            rows["biased"] = rows["masked"] = rows["scaled"] + self._row(self.bias)
        if self.masked is not None:
            rows["masked"] = self._row(self.masked)
        elif self.hidden is not None:
            rows["masked"] = np.where(self._row(self.hidden), -np.inf, rows["biased"])
        with np.errstate(invalid="ignore", over="ignore"):
            rows["power"] = np.exp(rows["masked"] - _shift(rows["masked"]))
            rows["weight"] = rows["power"] / rows["power"].sum()
        return rows

    def _row(self, values: Any) -> np.ndarray:
        return to_array(values)[self.row].astype(float)

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The result of every step: those of ``rows``, and ``dropped``, ``mean`` and ``part``."""
        found = {name: float(row[self.column]) for name, row in self.rows.items()}
        weight, kept = found["weight"], 1 - self.p
        dropped = weight if self.kept is None else weight * self._row(self.kept)[self.column] / kept
        times, draws = self.times or (0, 1)
        mean = times * weight / kept / draws if self.times else dropped
        part = None
        if self.values is not None:
            part = dropped * to_array(self.values)[self.column].astype(float)
        return found | {"dropped": dropped, "mean": mean, "part": part}

    def html(self) -> str:
        rows = "".join(
            f'<tr><th scope="row">{what}<td>{how}<td>= {result}</tr>'
            for what, how, result in self.steps()
        )
        asker = escape(named(self.askers or self.tokens, self.row))
        asked = escape(named(self.tokens, self.column))
        of = f"{escape(self.of)}: " if self.of else ""
        return (
            f'<div class="c3w c3path"><p>{of}what “{asker}” takes from “{asked}”</p>{self._pair()}'
            f'<table class="c3p">{rows}</table></div>'
        )

    def _pair(self) -> str:
        """Return the query above the key and below them their products, number by number."""
        if self.vectors is None:
            return ""
        query, key = self.vectors
        rows = [
            (f"<tr{mark('query', self.row)}>", '<b class="q">query</b>', query),
            (f"<tr{mark('key', self.column)}>", '<b class="k">key</b>', key),
        ]
        if self.additive is not None:
            rows.append(("<tr>", "tanh of their sum", np.tanh(query + key)))
        rows.append(("<tr>", "times v" if len(rows) == 3 else "products", self.products))
        return (
            '<table class="c3p c3d">'
            + "".join(
                f'{start}<th scope="row">{name}<td>'
                + "<td>".join(_few([self._say(number) for number in numbers]))
                + "</tr>"
                for start, name, numbers in rows
            )
            + "</table>"
        )

    def steps(self) -> list[tuple[str, str, str]]:
        """Return what is done at each step, with which numbers, and what comes out, as HTML."""
        found, say, shift = self.numbers, self._say, _shift(self.rows["masked"])
        masked = say(found["masked"])
        score = self._enough(found["score"], found["scaled"])
        if self.vectors is None:
            steps = [("score", "", score)]
        else:
            products = [
                say(product) if n == 0 else _signed(say(product))
                for n, product in enumerate(self.products)
            ]
            steps = [("their sum", " + ".join(_few(products)), score)]
        if self.temperature is not None:
            how = f"{score} / {self.temperature:g}"
            steps.append(("divided by the temperature", how, say(found["scaled"])))
        elif self.vectors and self.scaled and self.additive is None:
            how = f"{score} / √{len(self.vectors[0])}"
            steps.append(("divided by √D", how, say(found["scaled"])))
        if self.bias is not None:
            added = say(to_array(self.bias)[self.row, self.column])
            how = f"{say(found['scaled'])} + {_signed(added)}"
            steps.append(("plus the bias", how, say(found["biased"])))
        if self.hidden is not None:
            hides = to_array(self.hidden)[self.row, self.column]
            seen = "hidden from this query" if hides else "may be seen"
            steps.append(("mask", f"“{escape(self.tokens[self.column])}”: {seen}", masked))
        if shift:
            how = f"{masked} − {_signed(say(shift))}"
            steps.append(("minus the row’s largest", how, say(found["masked"] - shift)))
        # with more decimals, or what a reader works out from it is another number
        exponent = say(found["masked"] - shift, at_least=4)
        steps.append(("e to the power", f"e<sup>{exponent}</sup>", say(found["power"])))
        powers = [power for power in self.rows["power"] if power > 0]
        row = " + ".join(say(power) for power in powers) or "nan"  # inf - inf
        if len(powers) > MOST_TERMS or found["power"] == 0:
            others = sum(powers) - found["power"]
            row = f"{say(found['power'])} + {say(others)} of the others"
        row = row if len(powers) == 1 and found["power"] else f"({row})"
        steps.append(("share of the row", f"{say(found['power'])} / {row}", say(found["weight"])))
        if self.kept is not None:
            stays = to_array(self.kept)[self.row, self.column]
            how = f"{say(found['weight'])} / (1 − {self.p:g})" if stays else "dropped this time"
            steps.append(("dropout", how, say(found["dropped"])))
        if self.times is not None:
            (times, draws), each = self.times, found["weight"] / (1 - self.p)
            how = f"kept in {times}: {times} · {say(each)} / {draws}"
            steps.append((f"mean of {draws} draw{'s' * (draws != 1)}", how, say(found["mean"])))
        if self.values is None:
            return steps
        value, part = (
            ", ".join(_few([say(number) for number in numbers]))
            for numbers in (to_array(self.values)[self.column], found["part"])
        )
        what = 'times the <b class="v">value</b>'
        return [*steps, (what, f"{say(found['dropped'])} · ({value})", f"({part})")]

    def _say(self, number: float, at_least: int = 0) -> str:
        decimals = self.decimals
        if decimals is None:
            decimals = decimals_for(self.rows["weight"])
        if 1e6 <= abs(number) < math.inf:  # a mask of -1e10, say
            return f"{number:.2g}".replace("e+", "e").replace("-", "−")
        return written(number, max(decimals, at_least)).replace("inf", "∞")

    def _enough(self, score: float, quotient: float) -> str:
        """Write a score with so many decimals that dividing what is written gives the quotient."""
        shown = self._say(quotient)
        for more in range(9):
            said = self._say(score, at_least=more)
            if not math.isfinite(score):
                break
            if self._say(float(said.replace("−", "-")) / self.divisor) == shown:
                break
        return said


def _shift(row: np.ndarray) -> float:
    """Return what is taken off a row of scores before e is raised to them."""
    most = float(row.max())
    return most if abs(most) > MOST_POWER else 0.0


def _signed(number: str) -> str:
    """Put a negative number that follows a sign in brackets."""
    return f"({number})" if number.startswith("−") else number


def _few(texts: list[str]) -> list[str]:
    """Leave out the middle of many."""
    return texts if len(texts) <= MOST_TERMS else [*texts[: MOST_TERMS - 1], "…", texts[-1]]
