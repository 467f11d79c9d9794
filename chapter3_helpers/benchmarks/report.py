"""What was measured, as a table, a JSON file and a plot.

Taught in ``12_performance``.
"""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from chapter3_helpers.plots import described_figure, line_plot
from chapter3_helpers.torch_releases import cpu_name


def describe_machine(device: str) -> dict[str, Any]:
    """Say what the numbers were measured on."""
    on_gpu = torch.device(device).type == "cuda"
    cpu = cpu_name() or platform.machine() + " CPU"
    return {
        "device": torch.cuda.get_device_name(device) if on_gpu else cpu,
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of ``measure_sizes`` as text.

    >>> row = {"sizes": "(1, 6, 4, 2)", "variant": "flex", "pass": "forward", "reason": "no"}
    >>> print(table([row]).splitlines()[-1].strip())
    flex            no
    """
    lines, group = [], None
    for row in rows:
        if group != (row["sizes"], row["pass"]):
            group = (row["sizes"], row["pass"])
            lines += ["", f"(batch, T, d, heads) = {group[0]}, {group[1]}"]
            lines += [
                "  variant          median ms    quartiles    x split   of x @ W   of fastest"
                "   memory MB"
            ]
        if "reason" in row:
            lines.append(f"  {row['variant']:14}  {row['reason']}")
            continue
        low, high = (1e3 * seconds for seconds in row["quartiles"])
        speed = "     " if row["speed"] is None else f"{row['speed']:5.2f}"
        lines.append(
            f"  {row['variant']:14} {1e3 * row['median']:11.3f} {low:7.4g}-{high:<7.4g} {speed:>7} "
            f"{row['limit']:10.2f} {row['fastest_limit']:12.2f} {row['memory'] / 1e6:11.2f}"
        )
    return "\n".join(lines[1:])


def memory_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of ``measure_memory``, with the growth from one T to the next."""
    lines = ["peak memory above the inputs, one head of 64 numbers, in MB (times the row before)"]
    before: Mapping[str, Any] | None = None
    for row in rows:
        cells = []
        for name in ("split", "fused"):
            growth = f"({row[name] / before[name]:.1f})" if before else ""
            cells.append(f"{name} {row[name] / 1e6:10.2f} {growth:7}")
        lines.append(f"  T = {row['tokens']:6}  {'  '.join(cells)}")
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
    figure, axes = described_figure(1, 2, panel=(6.2, 4.2))
    forward = [row for row in results["times"] if row["pass"] == "forward" and "reason" not in row]
    names = list(dict.fromkeys(row["sizes"] for row in forward))
    variants = dict.fromkeys(row["variant"] for row in forward)
    limits = {
        variant: [
            next(
                (
                    row["fastest_limit"]
                    for row in forward
                    if (row["sizes"], row["variant"]) == (name, variant)
                ),
                float("nan"),
            )
            for name in names
        ]
        for variant in variants
    }
    line_plot(
        range(len(names)),
        limits,
        xlabel="(batch, T, d, heads)",
        ylabel="useful operations/s, of the fastest product's",
        title="how close to the machine's limit, forward",
        describe_values=False,
        ax=axes[0, 0],
    )
    if forward:
        axes[0, 0].set_ylim(0, 1.3 * axes[0, 0].get_ylim()[1])  # room for the legend
        axes[0, 0].legend(loc="upper center", ncols=4, fontsize=8)
    axes[0, 0].set_xticks(range(len(names)), names, rotation=20, ha="right", fontsize=8)
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
