"""What was measured, as a table, a JSON file and a plot."""

import json
import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas

from chapter3_helpers.plots import described_figure, line_plot

COLUMNS = (
    *("", "median ms", "first quartile", "third quartile", "x split", "of x @ W", "memory MB"),
    "left out",
)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of ``measure_sizes`` as text, a table for each size and pass.

    >>> row = {"sizes": "(1, 6, 4, 2)", "variant": "split", "pass": "forward", "reason": "no"}
    >>> print(table([row]).splitlines()[-1].rstrip())
    split  no
    """
    parts = []
    for (sizes, way), group in groupby(rows, key=lambda row: (row["sizes"], row["pass"])):
        frame = pandas.DataFrame(map(_shown, group), columns=COLUMNS)
        words = _text(frame.dropna(axis="columns", how="all"))
        parts.append(f"(batch, T, d, heads) = {sizes}, {way}\n{words}")
    return "\n\n".join(parts)


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    if "reason" in row:
        return {"": row["variant"], "left out": row["reason"]}
    low, high = row["quartiles"]
    times = (1e3 * row["median"], 1e3 * low, 1e3 * high)
    numbers = (row["variant"], *times, row["speed"], row["limit"], row["memory"] / 1e6)
    return dict(zip(COLUMNS, numbers, strict=False))


def memory_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of ``measure_memory``, with the growth from one T to the next."""
    frame = pandas.DataFrame(rows, columns=["tokens", "split", "fused"])
    frame = frame.rename(columns={"tokens": "T"})
    for name in ("split", "fused"):
        frame[name] /= 1e6
        frame[f"{name}, times"] = frame[name] / frame[name].shift()
    return f"peak memory above the inputs, one head of 64 numbers, in MB\n{_text(frame)}"


def generation_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of ``measure_generation``."""
    frame = pandas.DataFrame(rows, columns=["tokens", "cached", "recomputed"])
    frame = frame.rename(columns={"tokens": "T"})
    for name in ("cached", "recomputed"):
        frame[name] *= 1e3
    frame["ratio"] = frame["recomputed"] / frame["cached"]
    title = "one more token behind T others, GroupedQueryAttention(768, 12, 4), in ms"
    return f"{title}\n{_text(frame)}"


def writing_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of ``measure_writing``: tokens a second, milliseconds, and ratios of times.

    >>> seconds = {"here": 0.05, "linear layers": 0.04, "limit": 0.03}
    >>> row = {"threads": 1, "tokens": 10, "first": {"here": 0.1}, "next": seconds}
    >>> print(writing_table([row]).splitlines()[-1])
          1     10    20.000          1.250  1.667 100.000
    """
    frame = pandas.DataFrame({"threads": row["threads"], "prompt": row["tokens"]} for row in rows)
    for part, before in (("next", ""), ("first", "first ")):
        times = pandas.DataFrame(row[part] for row in rows)
        own = times.pop("here")
        frame["first ms" if before else "tokens/s"] = 1e3 * own if before else 1 / own
        for name in times:
            frame[f"{before}/ {name}"] = own / times[name]
    title = "tokens a second of the real model with its caches; / is its time over another one's"
    return f"{title}\n{_text(frame)}"


def _text(frame: pandas.DataFrame) -> str:
    return frame.to_string(index=False, na_rep="", float_format="{:.3f}".format)


def save(folder: Path, results: Mapping[str, Any]) -> list[Path]:
    """Write the JSON file and the plot; return where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    data, picture = folder / "attention.json", folder / "attention.png"
    data.write_text(json.dumps(results, indent=1) + "\n")
    forward = [row for row in results["times"] if row["pass"] == "forward" and "reason" not in row]
    limits = {(row["variant"], row["sizes"]): row["limit"] for row in forward}
    sizes = list(dict.fromkeys(row["sizes"] for row in forward))
    figure, axes = described_figure(1, 2, panel=(6.2, 4.2))
    ax = line_plot(
        range(len(sizes)),
        {
            variant: [limits.get((variant, name), math.nan) for name in sizes]
            for variant in dict.fromkeys(row["variant"] for row in forward)
        },
        xlabel="(batch, T, d, heads)",
        ylabel="useful operations per second, of x @ W's",
        title="how close to the machine's limit, forward",
        describe_values=False,
        ax=axes[0, 0],
    )
    ax.set_xticks(range(len(sizes)), sizes, rotation=20, ha="right", fontsize=8)
    if forward:
        ax.set_ylim(0, 1.4 * ax.get_ylim()[1])  # room for the legend
        ax.legend(loc="upper center", ncols=4, fontsize=8)
    memory = results["memory"]
    line_plot(
        [row["tokens"] for row in memory],
        {name: [row[name] / 1e6 for row in memory] for name in ("split", "fused")},
        xlabel="T",
        ylabel="MB",
        title="peak memory, one head of 64 numbers",
        logx=True,
        logy=True,
        describe_values=False,
        ax=axes[0, 1],
    )
    picture.write_bytes(figure.to_png())
    return [data, picture]
