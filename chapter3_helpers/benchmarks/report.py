"""What was measured, as tables."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import pandas

TIMES = ("median ms", "first quartile", "third quartile")
COLUMNS = ("variant", *TIMES, "x split", "of x @ W", "memory MB", "left out")


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of ``measure_sizes`` as text, a table for each size and pass.

    >>> row = {"sizes": "(1, 6, 4, 2)", "variant": "split", "pass": "forward", "left out": "no"}
    >>> print(table([row]).splitlines()[-1].rstrip())
    split  no
    """
    parts = []
    for (sizes, way), group in groupby(rows, key=lambda row: (row["sizes"], row["pass"])):
        frame = pandas.DataFrame(group, columns=COLUMNS).dropna(axis="columns", how="all")
        words = _text(frame.rename(columns={"variant": ""}))
        parts.append(f"(batch, T, d, heads) = {sizes}, {way}\n{words}")
    return "\n\n".join(parts)


def memory_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of ``measure_memory``, with the growth from one T to the next."""
    frame = pandas.DataFrame(rows).rename(columns={"tokens": "T"})
    for name in ("split", "fused"):
        frame[name] /= 1e6
        frame[f"{name}, times"] = frame[name] / frame[name].shift()
    return f"peak memory above the inputs, one head of 64 numbers, in MB\n{_text(frame)}"


def writing_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of ``measure_writing``: tokens a second, milliseconds, and ratios of times.

    >>> seconds = {"here": 0.05, "linear layers": 0.04, "limit": 0.03}
    >>> row = {"threads": 1, "tokens": 10, "first": {"here": 0.1}, "next": seconds}
    >>> print(writing_table([row]).splitlines()[-1])
          1     10    20.000          1.250  1.667 100.000
    """
    frame = pandas.DataFrame({"threads": row["threads"], "prompt": row["tokens"]} for row in rows)
    following, first = (pandas.DataFrame(row[part] for row in rows) for part in ("next", "first"))
    frame["tokens/s"] = 1 / following["here"]
    for name in following.columns.drop("here"):
        frame[f"/ {name}"] = following["here"] / following[name]
    frame["first ms"] = 1e3 * first["here"]
    for name in first.columns.drop("here"):
        frame[f"first / {name}"] = first["here"] / first[name]
    title = "tokens a second of the real model with its caches; / is its time over another one's"
    return f"{title}\n{_text(frame)}"


def _text(frame: pandas.DataFrame) -> str:
    return frame.to_string(index=False, na_rep="", float_format="{:.3f}".format)
