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
from chapter3_helpers._language import say, to_say
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
        if self.temperature is not None:
            return self.temperature
        if self.vectors is None or self.additive is not None or not self.scaled:
            return 1.0
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
        said = say(
            "what “{asker}” takes from “{asked}”",
            asker=named(self.askers or self.tokens, self.row),
            asked=named(self.tokens, self.column),
        )
        if self.of:
            said = say("{title}: {rest}", title=self.of, rest=said)
        return (
            f'<div class="c3w c3path"><p>{escape(said)}</p>{self._pair()}'
            f'<table class="c3p">{rows}</table></div>'
        )

    def _pair(self) -> str:
        """Return the query above the key and below them their products, number by number."""
        if self.vectors is None:
            return ""
        (query, key), (asker, asked) = self.vectors, (say("query"), say("key"))
        rows = [
            (f"<tr{mark('query', self.row)}>", f'<b class="q">{asker}</b>', query),
            (f"<tr{mark('key', self.column)}>", f'<b class="k">{asked}</b>', key),
        ]
        if self.additive is not None:
            rows.append(("<tr>", say("tanh of their sum"), np.tanh(query + key)))
        name = say("products") if self.additive is None else say("times v")
        rows.append(("<tr>", name, self.products))
        return (
            '<table class="c3p c3d">'
            + "".join(
                f'{start}<th scope="row">{name}<td>'
                + "<td>".join(_few([self._written(number) for number in numbers]))
                + "</tr>"
                for start, name, numbers in rows
            )
            + "</table>"
        )

    def steps(self) -> list[tuple[str, str, str]]:
        """Return what is done at each step, with which numbers, and what comes out, as HTML."""
        found, write, shift = self.numbers, self._written, _shift(self.rows["masked"])
        masked = write(found["masked"])
        score = self._enough(found["score"], found["scaled"])
        if self.vectors is None:
            steps = [(say("score"), "", score)]
        else:
            products = [
                write(product) if n == 0 else _signed(write(product))
                for n, product in enumerate(self.products)
            ]
            steps = [(say("their sum"), " + ".join(_few(products)), score)]
        if self.temperature is not None:
            how = f"{score} / {self.temperature:g}"
            steps.append((say("divided by the temperature"), how, write(found["scaled"])))
        elif self.vectors and self.scaled and self.additive is None:
            how = f"{score} / √{len(self.vectors[0])}"
            steps.append((say("divided by √D"), how, write(found["scaled"])))
        if self.bias is not None:
            added = write(to_array(self.bias)[self.row, self.column])
            how = f"{write(found['scaled'])} + {_signed(added)}"
            steps.append((say("plus the bias"), how, write(found["biased"])))
        if self.hidden is not None:
            hides = to_array(self.hidden)[self.row, self.column]
            seen = to_say("“{token}”: may be seen")
            if hides:
                seen = to_say("“{token}”: hidden from this query")
            said = say(seen, token=self.tokens[self.column])
            steps.append((say("mask"), escape(said), masked))
        if shift:
            how = f"{masked} − {_signed(write(shift))}"
            steps.append((say("minus the row’s largest"), how, write(found["masked"] - shift)))
        # with more decimals, or what a reader works out from it is another number
        exponent, power = write(found["masked"] - shift, at_least=4), write(found["power"])
        steps.append((say("e to the power"), f"e<sup>{exponent}</sup>", power))
        powers = [power for power in self.rows["power"] if power > 0]
        row = " + ".join(write(power) for power in powers) or "nan"  # inf - inf
        if len(powers) > MOST_TERMS or found["power"] == 0:
            others = write(sum(powers) - found["power"])
            row = say("{power} + {others} of the others", power=power, others=others)
        row = row if len(powers) == 1 and found["power"] else f"({row})"
        steps.append((say("share of the row"), f"{power} / {row}", write(found["weight"])))
        if self.kept is not None:
            stays = to_array(self.kept)[self.row, self.column]
            how = f"{write(found['weight'])} / (1 − {self.p:g})"
            how = how if stays else say("dropped this time")
            steps.append((say("dropout"), how, write(found["dropped"])))
        if self.times is not None:
            (times, draws), each = self.times, found["weight"] / (1 - self.p)
            mean = f"{times} · {write(each)} / {draws}"
            how = say("kept in {times}: {mean}", times=times, mean=mean)
            of = say("mean of 1 draw") if draws == 1 else say("mean of {draws} draws", draws=draws)
            steps.append((of, how, write(found["mean"])))
        if self.values is None:
            return steps
        value, part = (
            ", ".join(_few([write(number) for number in numbers]))
            for numbers in (to_array(self.values)[self.column], found["part"])
        )
        name = say("value")
        what = say("times the {value}", value=f'<b class="v">{name}</b>')
        return [*steps, (what, f"{write(found['dropped'])} · ({value})", f"({part})")]

    def _written(self, number: float, at_least: int = 0) -> str:
        decimals = self.decimals
        if decimals is None:
            decimals = decimals_for(self.rows["weight"])
        if 1e6 <= abs(number) < math.inf:  # a mask of -1e10, say
            return f"{number:.2g}".replace("e+", "e").replace("-", "−")
        return written(number, max(decimals, at_least)).replace("inf", "∞")

    def _enough(self, score: float, quotient: float) -> str:
        """Write a score with so many decimals that dividing what is written gives the quotient."""
        shown = self._written(quotient)
        for more in range(9):
            said = self._written(score, at_least=more)
            if not math.isfinite(score):
                break
            if self._written(float(said.replace("−", "-")) / self.divisor) == shown:
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
