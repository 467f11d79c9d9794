"""Every variant's time and memory."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import psutil
import torch
from torch import nn
from tqdm.auto import tqdm

from chapter3_helpers.benchmarks.machine import in_turn, peak_memory
from chapter3_helpers.benchmarks.report import TIMES
from chapter3_helpers.benchmarks.variants import Variant
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.performance import Sizes, accelerate, count_flops


def measure_sizes(
    sizes: Sizes, variants: Sequence[Variant], device: str = "cpu", seconds: float = 10.0
) -> list[dict[str, Any]]:
    """Measure every variant at one set of sizes, forward, and forward plus backward.

    Beside them stands a single product, x @ W_qkv, plain and by an accelerated layer.

    Returns:
        One row for each variant and pass, by the column of the table: median and quartiles of the
        milliseconds, ``x split`` (split's time over this one's), ``of x @ W`` (useful operations
        per second over those of x @ W in the same rounds), ``memory MB`` (the peak above the
        inputs), or ``left out``, why there are no numbers.
    """
    x = torch.randn(sizes.batch, sizes.tokens, sizes.width, device=device)
    matrix = torch.randn(sizes.width, 3 * sizes.width, device=device)
    layer = nn.Linear(sizes.width, 3 * sizes.width, bias=False, device=device)
    accelerate(layer).requires_grad_(False)
    products = {"x @ W": lambda: x @ matrix, "x @ W accelerated": lambda: layer(x)}
    flops = count_flops(sizes)
    rows: list[dict[str, Any]] = []
    for way, factor in (("forward", 1), ("forward + backward", 3)):  # backward does twice as much
        backward = factor > 1
        reasons = {v.name: _reason(v, sizes, device, backward) for v in variants}
        calls = dict(products)
        calls |= {v.name: _step(v, x, backward) for v in variants if not reasons[v.name]}
        memory = {name: peak_memory(call, device) for name, call in calls.items()}
        times = in_turn(calls, seconds * (1 + backward), f"{sizes} {way}")
        quartiles = {name: statistics.quantiles(values, n=4) for name, values in times.items()}
        product = flops["project"] / quartiles["x @ W"][1]
        for name in (*products, *reasons):
            row = {"sizes": str(sizes), "pass": way, "variant": name}
            rows.append(row)
            if name not in calls:
                row["left out"] = reasons[name]
                continue
            low, median, high = quartiles[name]
            row |= zip(TIMES, (1e3 * median, 1e3 * low, 1e3 * high), strict=True)
            useful = flops["project"] if name in products else factor * sum(flops.values())
            row |= {"of x @ W": useful / median / product, "memory MB": memory[name] / 1e6}
            if "split" in calls and name not in products:
                row["x split"] = quartiles["split"][1] / median
    return rows


def _reason(variant: Variant, sizes: Sizes, device: str, backward: bool) -> str:
    """Say that a variant would fill the memory, or nothing."""
    # what training keeps is kept for every head, also where the heads run one after another
    matrices = max(variant.stored, 4.0) * 1.5 if backward and variant.stored else variant.stored
    needed = matrices * 4 * sizes.batch * sizes.heads * sizes.tokens**2
    free = (
        torch.cuda.mem_get_info(device)[0]
        if torch.device(device).type == "cuda"
        else psutil.virtual_memory().available
    )
    return f"left out: needs about {needed / 1e9:.0f} GB" if needed > 0.6 * free else ""


def _step(variant: Variant, x: torch.Tensor, backward: bool) -> Callable[[], Any]:
    """Return the call to be timed."""

    def forward() -> torch.Tensor:
        with torch.no_grad():
            return variant.call(x)

    def both() -> None:
        y = x.detach().requires_grad_()
        variant.call(y).sum().backward()
        variant.module.zero_grad(set_to_none=True)  # left over, they would fill the memory

    return both if backward else forward


def measure_memory(
    lengths: Sequence[int], device: str = "cpu", progress: bool = True
) -> list[dict[str, Any]]:
    """Measure the peak memory of split and fused against T, for one head of 64 numbers."""
    rows = []
    for T in tqdm(lengths, desc="memory", unit="T", disable=not progress):
        x, row = torch.randn(1, T, 64, device=device), {"tokens": T}
        for name, cls in (("split", MultiHeadAttention), ("fused", FusedMultiHeadAttention)):
            module = cls(64, 64, T, 0.0, 1).to(device).eval()
            with torch.no_grad():
                row[name] = peak_memory(lambda module=module, x=x: module(x), device)
        rows.append(row)
    return rows
