"""Time and memory, measured in turn: in every round each variant has its go, so that a slow
moment of the machine strikes them all, and ratios stay true where times are noisy.

Taught in ``12_performance``.
"""

import statistics
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psutil
import torch
from torch.utils.benchmark import timer as clock  # one that waits for a GPU before it is read
from tqdm.auto import tqdm

from chapter3_helpers.benchmarks.variants import (
    Variant,
    find_wrong,
    flex_attention_variant,
    make_variants,
    shared_weights,
    with_gradient,
)
from chapter3_helpers.copy_weights import copy_weights
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.grouped_query import GroupedQueryAttention
from chapter3_helpers.onednn_linear import OneDNNLinear
from chapter3_helpers.performance import Sizes, count_flops, peak_memory

SHORTEST = 0.01  # seconds that one entry of a round lasts at least, so that a clock can read it


def measure_sizes(
    sizes: Sizes,
    device: str = "cpu",
    seconds: float = 10.0,
    flex: bool = True,
    variants: Sequence[Variant] | None = None,
) -> list[dict[str, Any]]:
    """Measure every variant at one set of sizes, forward, and forward plus backward.

    Not timed is a variant whose output, or gradient of x, differs from that of ``shared_weights``.

    Returns:
        One row a variant and pass: median and quartiles of the seconds, ``speed`` (split's time
        over this one's), ``limit`` (useful operations a second over those of the plain matrix
        product x @ W_qkv in the same rounds), ``fastest_limit`` (the same against the faster of
        that product and ``OneDNNLinear``'s), ``memory`` (peak bytes above the inputs), or
        ``reason``, why there are no numbers.
    """
    rows: list[dict[str, Any]] = []
    variants = list(make_variants(sizes, device) if variants is None else variants)
    if flex:
        found, reason = flex_attention_variant(sizes, device)
        if found is None:
            rows.append(_row(sizes, "flex", "forward", reason=f"does not run here: {reason}"))
        else:
            variants.append(found)
    x = torch.randn(sizes.batch, sizes.tokens, sizes.width, device=device)
    matrix = torch.randn(sizes.width, 3 * sizes.width, device=device)
    layer = OneDNNLinear(sizes.width, 3 * sizes.width, bias=False).to(device).requires_grad_(False)
    products = {"x @ W": lambda: x.view(-1, x.shape[-1]) @ matrix, "oneDNN": lambda: layer(x)}
    wrong: dict[str, float] = {}
    for name, backward in (("forward", False), ("forward + backward", True)):
        calls: dict[str, Callable[[], Any]] = dict(products)
        right = [variant for variant in variants if variant.name not in wrong]
        wrong |= _find_wrong(right, x, sizes, device, backward)
        for variant in variants:
            reason = _room(variant, sizes, device, backward)
            if variant.name in wrong:
                reason = f"WRONG by {wrong[variant.name]:.2g}, not timed"
            elif backward and not variant.backward:
                reason = "has no backward here"
            if reason:
                rows.append(_row(sizes, variant.name, name, reason=reason))
            else:
                calls[variant.name] = _step(variant, x, backward)
        memory = {n: peak_memory(call, device) for n, call in calls.items() if n not in products}
        times = in_turn(calls, seconds * (2 if backward else 1), f"{sizes} {name}")
        rows += _rows(sizes, name, times, memory, 3 if backward else 1)
    return rows


def _find_wrong(
    variants: Sequence[Variant], x: torch.Tensor, sizes: Sizes, device: str, backward: bool
) -> dict[str, float]:
    """Compare outputs, or gradients of x, with those of a module that is no variant.

    It is split; where that would fill the memory, fused.
    """
    split = shared_weights(sizes).eval()
    trusted = Variant("trusted", split, split, stored=4)
    if _room(trusted, sizes, device, backward):
        with torch.random.fork_rng(devices=[]):
            fused = FusedMultiHeadAttention(split.d_in, split.d_out, sizes.tokens, 0.0, sizes.heads)
        copy_weights(split, fused)
        trusted = Variant("trusted", fused, fused)
    trusted.module.to(device)
    fitting = [v for v in variants if not _room(v, sizes, device, backward)]
    if not backward:
        return find_wrong([trusted, *fitting], x)
    return find_wrong([with_gradient(v) for v in (trusted, *fitting) if v.backward], x)


def in_turn(
    calls: Mapping[str, Callable[[], Any]], seconds: float, description: str = ""
) -> dict[str, list[float]]:
    """Time every call in each round, until the time is up and at least three rounds are done.

    Torch's ``Timer`` would make two more calls for each that it times; here all warm up once.
    """
    timers = {name: timeit.Timer(call, timer=clock) for name, call in calls.items()}
    repeats = {name: _repeats(timer) for name, timer in timers.items()}
    times: dict[str, list[float]] = {name: [] for name in timers}
    end, rounds = time.perf_counter() + seconds, 0
    with tqdm(desc=description, unit="call", leave=False) as bar:
        while rounds < 3 or time.perf_counter() < end:
            for name, timer in timers.items():
                times[name].append(timer.timeit(repeats[name]) / repeats[name])
                bar.update()
            rounds += 1
    return times


def _repeats(timer: timeit.Timer) -> int:
    """Warm up, and say how often to call so that one entry lasts long enough to be read."""
    if timer.timeit(1) >= SHORTEST:
        return 1
    return max(1, int(SHORTEST / max(timer.timeit(1), 1e-7)))


def measure_memory(lengths: Sequence[int], device: str = "cpu") -> list[dict[str, Any]]:
    """Measure the peak memory of split and fused against T, for one head of 64 numbers."""
    rows = []
    for T in tqdm(lengths, desc="memory", unit="T"):
        x, row = torch.randn(1, T, 64, device=device), {"tokens": T}
        for name, cls in (("split", MultiHeadAttention), ("fused", FusedMultiHeadAttention)):
            module = cls(64, 64, T, 0.0, 1).to(device).eval()
            with torch.no_grad():
                row[name] = peak_memory(lambda module=module, x=x: module(x), device)
            del module
        rows.append(row)
    return rows


def measure_generation(
    lengths: Sequence[int], device: str = "cpu", seconds: float = 5.0, new_tokens: int = 8
) -> list[dict[str, Any]]:
    """Time one more token behind T others: with the cache, and by computing all T again."""
    rows = []
    for T in tqdm(lengths, desc="generation", unit="T"):
        attention = GroupedQueryAttention(768, 12, 4, max_batch_size=1, max_seq_len=T + new_tokens)
        again = GroupedQueryAttention(768, 12, 4, max_batch_size=1, max_seq_len=T + new_tokens)
        again.load_state_dict(attention.state_dict())
        attention.to(device), again.to(device)
        x = torch.randn(1, T + new_tokens, 768, device=device)
        with torch.no_grad():
            attention(x[:, :T])
            storage = attention.cached_keys.data_ptr()

            def cached(attention=attention, x=x, T=T):
                for t in range(T, T + new_tokens):  # each call goes back to T and starts again
                    last = attention(x[:, t : t + 1], start_pos=t)
                return last

            def recomputed(again=again, x=x, T=T):
                return again(x)[:, -1:]  # T + new_tokens tokens for the last one

            difference = (cached() - recomputed()).abs().max().item()
            times = in_turn({"cached": cached, "recomputed": recomputed}, seconds)
        rows.append(
            {
                "tokens": T,
                "cached": statistics.median(times["cached"]) / new_tokens,
                "recomputed": statistics.median(times["recomputed"]),
                "difference": difference,
                "cache_moved": attention.cached_keys.data_ptr() != storage,
            }
        )
    return rows


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


def _room(variant: Variant, sizes: Sizes, device: str, backward: bool = False) -> str:
    """Say why a variant is left out, where it would fill the memory; else return ''."""
    square = 4 * sizes.batch * sizes.heads * sizes.tokens**2
    # what training keeps is kept for every head, also where the heads run one after another
    stored = max(variant.stored, 4.0) * 1.5 if backward and variant.stored else variant.stored
    free = (
        torch.cuda.mem_get_info(device)[0]
        if torch.device(device).type == "cuda"
        else psutil.virtual_memory().available
    )
    if stored * square > 0.6 * free:
        return f"left out: needs about {stored * square / 1e9:.0f} GB"
    return ""


def _rows(
    sizes: Sizes,
    name: str,
    times: Mapping[str, list[float]],
    memory: Mapping[str, int],
    factor: int,
) -> list[dict[str, Any]]:
    """Turn times into rows; ``factor``: a backward pass does twice the operations of a forward."""
    done = 6 * sizes.batch * sizes.tokens * sizes.width**2
    plain, onednn = (done / statistics.median(times[name]) for name in ("x @ W", "oneDNN"))
    useful = factor * sum(count_flops(sizes).values())
    base = statistics.median(times["split"]) if "split" in times else None
    rows = []
    for variant, seconds in times.items():
        if variant not in memory:  # one of the two products
            continue
        low, median, high = (
            statistics.quantiles(seconds, n=4) if len(seconds) > 1 else [seconds[0]] * 3
        )
        rows.append(
            _row(sizes, variant, name)
            | {
                "median": median,
                "quartiles": (low, high),
                "best": min(seconds),
                "rounds": len(seconds),
                "speed": None if base is None else base / median,
                "flops_per_second": useful / median,
                "limit": useful / median / plain,
                "fastest_limit": useful / median / max(plain, onednn),
                "memory": memory[variant],
            }
        )
    return rows


def _row(sizes: Sizes, variant: str, name: str, **more: Any) -> dict[str, Any]:
    return {"sizes": str(sizes), "tokens": sizes.tokens, "variant": variant, "pass": name, **more}
