"""Run a module's heads in several processes, and compare with one process that holds them all.

Taught in ``14_tensor_parallel``.
"""

import copy
import statistics
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import distributed, nn

from chapter3_helpers.tensor_parallel import find_shares, parallelize
from chapter3_helpers.tensor_parallel.processes import run_processes


@dataclass(frozen=True)
class Report:
    """What several processes found, compared with one process that holds all heads.

    Attributes:
        heads: attribute -> the range of heads in each process.
        weights: attention weights of each process's heads, (..., H / n, T, T).
        shapes: parameter -> its shape in each process.
        differences: the largest difference from the single process, in any process, for the
            output, the gradient of x and that of each parameter.
        all_reduces, message_bytes: what one process exchanged, counted; forward and backward.
        seconds: medians for one forward and backward pass.
        device: ``cpu`` (gloo) or ``cuda`` (NCCL).
    """

    heads: dict[str, list[range]]
    weights: list[torch.Tensor]
    shapes: dict[str, list[tuple[int, ...]]]
    differences: dict[str, float]
    all_reduces: tuple[int, int]
    message_bytes: tuple[int, int]
    seconds: dict[str, float]
    device: str

    def __str__(self) -> str:
        rows = {
            f"{name} by process": " | ".join(f"{part[0]} to {part[-1]}" for part in parts)
            for name, parts in self.heads.items()
        }
        rows["device"] = self.device
        rows |= {f"difference, {name}": f"{value:.1e}" for name, value in self.differences.items()}
        ways = zip(("forward", "backward"), self.all_reduces, self.message_bytes, strict=True)
        for way, times, counted in ways:
            rows[f"all-reduces, {way}"] = f"{times}, of {counted:,} bytes in all"
        rows |= {f"time, {name}": f"{1000 * s:.2f} ms" for name, s in self.seconds.items()}
        return "\n".join(f"{name:40} {value}" for name, value in rows.items())


def run(module: nn.Module, x: torch.Tensor, num_processes: int = 2) -> Report:
    """Start processes that share the heads of a module, and compare with one that holds them all.

    Each process runs its share and the whole, forward and backward: in eval mode, with gradients
    for every parameter, from the same random gradient of the output. The module itself stays as
    it is.

    Args:
        module: a MultiHeadAttention or GroupedQueryAttention.
        x: tokens (T, d_in) or (B, T, d_in).
        num_processes: how many share the heads; each gets a GPU of its own if there are enough.

    Raises:
        TypeError, ValueError, RuntimeError: before any process starts, if ``module`` is of another
            kind, ``num_processes`` is 0 or does not divide its heads, or ``x`` does not fit it.
        RuntimeError: a process failed. All have ended by then.
    """
    find_shares(module, num_processes)
    whole = copy.deepcopy(module).cpu().eval().requires_grad_(True)
    with torch.no_grad():
        whole(x.detach().cpu())  # so that an x that does not fit is refused here
    arguments = (whole, x.detach().cpu(), torch.get_num_threads())
    return run_processes(compare, num_processes, *arguments)


def compare(module: nn.Module, x: torch.Tensor, num_threads: int, repeats: int = 5) -> Report:
    """Compare a module with its parallel self; called in every process of a group.

    Args:
        module, x: as for ``run``, the same in every process.
        num_threads: of the CPU; the single process gets them all, the others share them.
        repeats: how often each is timed.
    """
    from torch.distributed.device_mesh import init_device_mesh

    n, rank = distributed.get_world_size(), distributed.get_rank()
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    mesh = init_device_mesh(device, (n,))
    whole, x = module.to(device), x.to(device)
    shared = parallelize(copy.deepcopy(whole), mesh)
    generator = torch.Generator().manual_seed(123)
    gradient = torch.randn(*x.shape[:-1], whole.out_proj.out_features, generator=generator).to(x)
    expected, _ = _forward_and_backward(whole, x, gradient)
    found, counts = _forward_and_backward(shared, x, gradient, count=True)
    torch.set_num_threads(max(1, num_threads))
    seconds = {"1 process": _time(whole, x, gradient, repeats) if rank == 0 else 0.0}
    torch.set_num_threads(max(1, num_threads // n))
    distributed.barrier()
    seconds[f"{n} processes"] = _time(shared, x, gradient, repeats)
    with torch.no_grad():
        mine = (
            {name: float((found[name] - expected[name]).abs().max()) for name in expected},
            shared.attention_weights(x).cpu(),
            {name: tuple(p.to_local().shape) for name, p in shared.named_parameters()},
        )
    every: list[Any] = [None] * n
    distributed.all_gather_object(every, mine)
    differences, weights, shapes = zip(*every, strict=True)
    return Report(
        heads=find_shares(whole, n),
        weights=list(weights),
        shapes={name: [part[name] for part in shapes] for name in shapes[0]},
        differences={name: max(part[name] for part in differences) for name in expected},
        all_reduces=(counts[0][0], counts[1][0]),
        message_bytes=(counts[0][1], counts[1][1]),
        seconds=seconds,
        device=device,
    )


def _forward_and_backward(
    module: nn.Module, x: torch.Tensor, gradient: torch.Tensor, count: bool = False
) -> tuple[dict[str, torch.Tensor], list[tuple[int, int]]]:
    """Return output and gradients by name; with ``count`` also (collectives, bytes) each way."""
    forward, backward = (_collectives() if count else nullcontext() for _ in range(2))
    module.zero_grad()
    x = x.detach().clone().requires_grad_()
    with forward:
        output = module(x)
    with backward:
        output.backward(gradient)
    found = {"output": output.detach(), "gradient of x": x.grad}
    for name, parameter in module.named_parameters():
        grad = parameter.grad  # a DTensor is put together again from the shares of all processes
        whole = grad.full_tensor() if hasattr(grad, "full_tensor") else grad
        found[f"gradient of {name}"] = whole
    counts = [(way.get_total_counts(), way.bytes) for way in (forward, backward) if count]
    return found, counts


def _collectives() -> Any:
    """Make a counter of the exchanges between processes, and of the bytes handed to them."""
    from torch.distributed.tensor.debug import CommDebugMode

    class Collectives(CommDebugMode):
        bytes = 0

        def __torch_dispatch__(
            self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
        ) -> Any:
            before = self.get_total_counts()
            result = super().__torch_dispatch__(func, types, args, kwargs)
            if self.get_total_counts() > before:
                self.bytes += args[0].nbytes
            return result

    return Collectives()


def _time(module: nn.Module, x: torch.Tensor, gradient: torch.Tensor, repeats: int) -> float:
    """Return the median seconds of one forward and backward pass, warmed up."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        _step(module, x, gradient)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def _step(module: nn.Module, x: torch.Tensor, gradient: torch.Tensor) -> None:
    module.zero_grad()
    x = x.detach().requires_grad_()
    output = module(x)
    output.backward(gradient)
    (output.detach().sum() + x.grad.sum()).item()  # waits for both exchanges, and for a GPU
