"""Why is one implementation faster than another? Counting arithmetic and memory traffic.

A machine has two speeds: how many floating-point operations it does in a second, and how many
bytes it moves between memory and processor. Whoever counts both for an algorithm knows which of
the two it waits for. Taught in ``12_performance``.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from chapter3_helpers._checks.numbers import (
    check_choice,
    check_heads,
    check_number,
    check_positive,
    check_sizes,
)
from chapter3_helpers.onednn_linear import OneDNNLinear

VARIANTS = ("wrapper", "split", "packed", "fused")
# How often the scores (B, H, T, T) cross the memory bus on their way to weights when every step is
# an operation of its own: mask, scale, subtract, exponentiate and divide read and write them,
# maximum and sum only read.
SOFTMAX_PASSES = 5 * 2 + 2


@dataclass(frozen=True)
class Sizes:
    """The sizes of one call of causal multi-head attention, with d_in = d_out = width.

    Raises:
        TypeError, ValueError: a size is not an integer of at least 1, or ``heads`` does not
            divide ``width``.

    >>> Sizes(batch=8, tokens=1024, width=768, heads=12).head_dim
    64
    """

    batch: int
    tokens: int
    width: int
    heads: int

    def __post_init__(self) -> None:
        check_sizes(batch=self.batch, tokens=self.tokens)
        check_heads(self.width, self.heads)

    @property
    def head_dim(self) -> int:
        return self.width // self.heads

    def __str__(self) -> str:
        return f"({self.batch}, {self.tokens}, {self.width}, {self.heads})"


def count_flops(sizes: Sizes, skip_hidden: bool = True) -> dict[str, int]:
    """Count the additions and multiplications of the matrix products, step by step.

    A product (n, k) @ (k, m) takes n * m * k of each, 2 * n * m * k together. Softmax is left
    out: it takes a few operations a score, where comparing and mixing take 4 * head_dim.

    Args:
        sizes: of the call.
        skip_hidden: count only the scores that a causal mask leaves, T * (T + 1) / 2 a head; else
            all T * T, which every implementation without a fused kernel computes.

    >>> count_flops(Sizes(batch=1, tokens=6, width=4, heads=2))
    {'project': 576, 'compare': 168, 'mix': 168, 'out_proj': 192}

    Taught in ``12_performance``.
    """
    B, T, d = sizes.batch, sizes.tokens, sizes.width
    pairs = T * (T + 1) // 2 if skip_hidden else T * T  # a head; H heads of d / H numbers: d
    return {
        "project": 2 * B * T * d * 3 * d,
        "compare": 2 * B * pairs * d,
        "mix": 2 * B * pairs * d,
        "out_proj": 2 * B * T * d * d,
    }


def count_bytes(sizes: Sizes, variant: str, bytes_per_number: int = 4) -> dict[str, int]:
    """Count the bytes that cross the memory bus if no step finds its input in a cache.

    Every operation then reads its inputs and writes its result once. The variants differ in two
    places: how often the input is read to be projected (3 * H times by separate heads, 3 times
    by three projections, once by a packed one), and what happens to the scores, which a fused
    kernel never sends to memory.

    Raises:
        ValueError: ``variant`` is not one of ``VARIANTS``.

    >>> count_bytes(Sizes(batch=1, tokens=6, width=4, heads=2), "split")
    {'project': 768, 'compare': 480, 'softmax': 3456, 'mix': 480, 'out_proj': 448}
    >>> count_bytes(Sizes(batch=1, tokens=6, width=4, heads=2), "fused")
    {'project': 576, 'compare': 192, 'softmax': 0, 'mix': 192, 'out_proj': 256}

    Taught in ``12_performance``.
    """
    check_choice("variant", variant, VARIANTS)
    check_sizes(bytes_per_number=bytes_per_number)
    tokens = sizes.batch * sizes.tokens * sizes.width  # numbers in x, and in each of its like
    weights = sizes.width**2
    scores = 0 if variant == "fused" else sizes.batch * sizes.heads * sizes.tokens**2
    readings = {"wrapper": 3 * sizes.heads, "split": 3}.get(variant, 1)
    joining = 0 if variant == "fused" else 2 * tokens  # heads side by side: read and write
    numbers = {
        "project": readings * tokens + 3 * weights + 3 * tokens,
        "compare": 2 * tokens + scores,  # queries and keys in, scores out
        "softmax": SOFTMAX_PASSES * scores,
        "mix": scores + 2 * tokens,  # weights and values in, contexts out
        "out_proj": joining + tokens + weights + tokens,
    }
    return {step: count * bytes_per_number for step, count in numbers.items()}


def intensity(sizes: Sizes, variant: str, bytes_per_number: int = 4) -> float:
    """Return the operations that are done for every byte moved (arithmetic intensity).

    Counted are the operations that are done, so all T * T scores where they are stored.

    >>> round(intensity(Sizes(batch=8, tokens=1024, width=768, heads=12), "split"), 1)
    10.7

    Taught in ``12_performance``.
    """
    done = sum(count_flops(sizes, skip_hidden=variant == "fused").values())
    return done / sum(count_bytes(sizes, variant, bytes_per_number).values())


def least_seconds(
    sizes: Sizes, variant: str, flops_per_second: float, bytes_per_second: float
) -> float:
    """Return the time that a machine needs at the least, step after step.

    A step takes as long as its arithmetic or its memory traffic, whichever is longer; the next
    one starts when it is done.

    Raises:
        TypeError, ValueError: ``variant`` is not one of ``VARIANTS``, or a speed is no number
            above 0.

    >>> gpt2 = Sizes(batch=8, tokens=1024, width=768, heads=12)
    >>> [round(least_seconds(gpt2, name, 200e9, 20e9), 2) for name in ("split", "fused")]
    [0.56, 0.26]

    Taught in ``12_performance``.
    """
    check_positive(flops_per_second=flops_per_second, bytes_per_second=bytes_per_second)
    flops, moved = count_flops(sizes, variant == "fused"), count_bytes(sizes, variant)
    return sum(
        max(flops.get(step, 0) / flops_per_second, moved[step] / bytes_per_second) for step in moved
    )


def roof(intensity: float, flops_per_second: float, bytes_per_second: float) -> float:
    """Return the most operations a second that a machine can do at an intensity.

    It is the lower of two limits: the processor's, and what memory delivers times what is done
    with every byte.

    Raises:
        TypeError, ValueError: ``intensity`` is below 0, a speed not above 0, or one no number.

    >>> roof(2.0, flops_per_second=100.0, bytes_per_second=10.0)  # memory is the limit
    20.0
    >>> roof(50.0, flops_per_second=100.0, bytes_per_second=10.0)  # the processor is
    100.0

    Source: Williams, Waterman and Patterson, "Roofline" (2009). Taught in ``12_performance``.
    """
    check_number("intensity", intensity, low=0.0)
    check_positive(flops_per_second=flops_per_second, bytes_per_second=bytes_per_second)
    return min(flops_per_second, intensity * bytes_per_second)


def measure_limits(
    device: torch.device | str = "cpu", megabytes: int = 256, width: int = 1024, rounds: int = 7
) -> tuple[float, float]:
    """Measure this machine's two speeds: operations a second, and bytes a second.

    The first comes from a matrix product in float32, by torch's usual library or by oneDNN,
    whichever is faster; the second from arrays that no cache holds, copied (one read, one written)
    or added (two read, one written), whichever moves more bytes. The best of several rounds
    counts: whatever disturbs a round can only slow it down.

    Args:
        device: where to measure.
        megabytes: the size of an array.
        width: of the matrices, (2 * width, width) @ (width, width).
        rounds: how often.

    Taught in ``12_performance``.
    """
    check_sizes(megabytes=megabytes, width=width, rounds=rounds)
    left, right = torch.ones(2 * width, width, device=device), torch.ones(width, width).to(device)
    first, second, target = torch.ones(3, megabytes * 250_000, device=device)
    product = left @ right
    layer = OneDNNLinear(width, width, bias=False).to(device).requires_grad_(False)
    multiply = min(
        best_time(lambda: torch.mm(left, right, out=product), rounds, device),
        best_time(lambda: layer(left), rounds, device),
    )
    copy = best_time(lambda: target.copy_(first), rounds, device)
    add = best_time(lambda: torch.add(first, second, out=target), rounds, device)
    return 4 * width**3 / multiply, first.nbytes * max(2 / copy, 3 / add)


def best_time(call: Callable[[], Any], rounds: int, device: torch.device | str = "cpu") -> float:
    """Return the seconds of the fastest of several calls, after one that warms up.

    Raises:
        TypeError, ValueError: ``rounds`` is not an integer of at least 1.
    """
    check_sizes(rounds=rounds)
    times = []
    for _ in range(rounds + 1):
        synchronize(device)
        start = time.perf_counter()
        call()
        synchronize(device)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def synchronize(device: torch.device | str) -> None:
    """Wait until a GPU has done what it was told; a CPU has."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


def peak_memory(call: Callable[[], Any], device: torch.device | str = "cpu") -> int:
    """Return the most bytes that torch held at one moment of a call, above what it held before.

    On a CPU the allocations are taken from torch's own profiler, so the answer does not depend
    on what else the machine does.

    >>> x = torch.ones(1000)
    >>> peak_memory(lambda: x + x)
    4000

    Taught in ``12_performance``.
    """
    if torch.device(device).type == "cuda":
        synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        call()
        return torch.cuda.max_memory_allocated(device) - before
    with (
        _silent_stderr(),  # the profiler reports its start and end there
        torch.autograd.profiler.profile(profile_memory=True, use_kineto=False) as profiler,
    ):
        result = call()
    del result
    events = profiler.kineto_results.events()
    changes = [(event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]"]
    held = peak = 0
    for _, change in sorted(changes, key=lambda pair: pair[0]):
        held += change
        peak = max(peak, held)
    return peak


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Keep what compiled code writes to the error stream away from the reader."""
    saved = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
