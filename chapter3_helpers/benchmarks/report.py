"""What was measured, as a table, a JSON file and a plot."""

import json
import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from chapter3_helpers.plots import described_figure, line_plot


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of ``measure_sizes`` as text.

    >>> row = {"sizes": "(1, 6, 4, 2)", "variant": "flex", "pass": "forward", "reason": "no"}
    >>> print(table([row]).splitlines()[-1].strip())
    flex               no
    """
    lines = []
    for (sizes, way), group in groupby(rows, key=lambda row: (row["sizes"], row["pass"])):
        lines += ["", f"(batch, T, d, heads) = {sizes}, {way}"]
        lines += [f"  {'':17}   median ms    quartiles    x split   of x @ W   memory MB"]
        lines += [f"  {row['variant']:17}  {_numbers(row)}" for row in group]
    return "\n".join(lines[1:])


def _numbers(row: Mapping[str, Any]) -> str:
    if "reason" in row:
        return row["reason"]
    low, high = (f"{1e3 * seconds:.4g}" for seconds in row["quartiles"])
    speed = "" if row["speed"] is None else f"{row['speed']:.2f}"
    return (
        f"{1e3 * row['median']:10.3f} {low:>7}-{high:7} {speed:>7} {row['limit']:10.2f} "
        f"{row['memory'] / 1e6:11.2f}"
    )


def memory_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of ``measure_memory``, with the growth from one T to the next."""
    lines = ["peak memory above the inputs, one head of 64 numbers, in MB (times the row before)"]
    before: Mapping[str, Any] = {}
    for row in rows:
        line = f"  T = {row['tokens']:6}"
        for name in ("split", "fused"):
            growth = f"({row[name] / before[name]:.1f})" if before else ""
            line += f"  {name} {row[name] / 1e6:10.2f} {growth:7}"
        lines.append(line)
        before = row
    return "\n".join(lines)


def generation_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of ``measure_generation``."""
    lines = ["one more token behind T others, GroupedQueryAttention(768, 12, 4), in ms"]
    for row in rows:
        lines.append(
            f"  T = {row['tokens']:6}  cached {1e3 * row['cached']:8.3f}   recomputed "
            f"{1e3 * row['recomputed']:9.3f}   ratio {row['recomputed'] / row['cached']:7.1f}"
            f"   cache moved: {row['cache_moved']}   difference {row['difference']:.1e}"
        )
    return "\n".join(lines)


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
