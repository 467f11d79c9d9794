"""Measures a machine: how long a call takes, how much memory it holds, and its two limits."""

import ctypes
import itertools
import os
import platform
import sys
import time
import timeit
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from tqdm.auto import tqdm

from chapter3_helpers.performance import accelerate, cpu_capabilities


def clock() -> float:
    """Read the clock, in seconds, once a GPU has finished what it was given.

    ``torch.utils.benchmark`` has such a clock, but importing it warns wherever CUDA's compiler is
    installed without a GPU.
    """
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


MMAP_MAX, TRIM_THRESHOLD = -4, -1  # options of mallopt, as malloc.h numbers them
SHORTEST = 0.01  # seconds that one entry of a round lasts at least, so that a clock can read it


def measure_limits(megabytes: int = 256, width: int = 1024, rounds: int = 7) -> tuple[float, float]:
    """Measure this machine's two speeds: operations per second, and bytes per second.

    The first is that of a matrix product in float32, with and without ``accelerate``; the second
    that of arrays too large for any cache, copied (one read, one written) or added (two read, one
    written). The fastest counts: whatever disturbs a round can only slow it down.

    Args:
        megabytes: the size of an array.
        width: of the matrices, (2 * width, width) @ (width, width).
        rounds: how often each is timed.
    """
    left = torch.ones(2 * width, width)
    first, second, target = torch.ones(3, megabytes * 250_000)
    layer = nn.Linear(width, width, bias=False).requires_grad_(False)
    plain = best_time(lambda: layer(left), rounds)
    accelerate(layer)
    multiply = min(plain, best_time(lambda: layer(left), rounds))
    copy = best_time(lambda: target.copy_(first), rounds)
    add = best_time(lambda: torch.add(first, second, out=target), rounds)
    return 4 * width**3 / multiply, first.nbytes * max(2 / copy, 3 / add)


def best_time(call: Callable[[], Any], rounds: int) -> float:
    """Return the seconds of the fastest of several calls, after one that warms up."""
    return min(timeit.repeat(call, timer=clock, repeat=rounds + 1, number=1)[1:])


def peak_memory(call: Callable[[], Any], device: torch.device | str = "cpu") -> int:
    """Return the most bytes that torch held at one moment of a call, above what it held before.

    On a CPU torch's profiler reports every allocation, so nothing else on the machine counts.

    >>> x = torch.ones(1000)
    >>> peak_memory(lambda: x + x)
    4000
    """
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
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
    changes.sort(key=lambda change: change[0])
    return max(itertools.accumulate((bytes_ for _, bytes_ in changes), initial=0))


@contextmanager
def memory_kept() -> Iterator[None]:
    """Let the program keep what it frees for its next tensors, as PyTorch does on a GPU.

    As usual, the memory of a large tensor goes back to the operating system at once, and the system
    has to provide it page by page for the next one. This asks the C library of Linux for another
    way; with other libraries nothing changes.
    """
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if not hasattr(library, "mallopt"):
        yield
        return
    library.mallopt(MMAP_MAX, 0)
    library.mallopt(TRIM_THRESHOLD, -1)  # never
    try:
        yield
    finally:
        library.mallopt(MMAP_MAX, 65536)  # as by default
        library.mallopt(TRIM_THRESHOLD, 2**26)  # as once large tensors have been freed
        library.malloc_trim(0)


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


def in_turn(
    calls: Mapping[str, Callable[[], Any]],
    seconds: float,
    description: str = "",
    progress: bool = True,
) -> dict[str, list[float]]:
    """Time every call in each round, until the time is up and at least three rounds are done.

    A slow moment of the machine then strikes them all. Every call warms up once; torch's ``Timer``
    would warm up before each entry, which is where most of the time would go.
    """
    timers = {name: timeit.Timer(call, timer=clock) for name, call in calls.items()}
    repeats = {name: _repeats(timer) for name, timer in timers.items()}
    times: dict[str, list[float]] = {name: [] for name in timers}
    end, rounds = time.perf_counter() + seconds, 0
    with tqdm(desc=description, unit="call", leave=False, disable=not progress) as bar:
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


def describe_machine(device: str) -> dict[str, Any]:
    """Say what the numbers were measured on."""
    on_gpu = torch.device(device).type == "cuda"
    cpu = cpu_capabilities().get("cpu_name", platform.machine() + " CPU")
    return {
        "device": torch.cuda.get_device_name(device) if on_gpu else cpu,
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
