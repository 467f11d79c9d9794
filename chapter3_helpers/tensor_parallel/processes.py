"""Start processes that work together on this machine, and leave none behind.

``run_processes`` is ``torch.multiprocessing.spawn`` with a time limit, around one function in a
process group (gloo, or NCCL where every process finds a GPU). The processes meet through a file,
and gloo's own connections stay on loopback, so nothing can be reached from outside. Taught in
``14_tensor_parallel``.
"""

import os
import pickle
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import distributed, multiprocessing


def run_processes(
    function: Callable[..., Any], num_processes: int, *arguments: Any, timeout: float = 120.0
) -> list[Any]:
    """Call a function in several new processes that form one group, and collect what they return.

    Whatever happens (an error or a signal in one of them, no end in time, an interrupt here), all
    of them have ended when this returns or raises. In a script it has to be called under
    ``if __name__ == "__main__":``, as with all of ``multiprocessing``.

    Args:
        function: called as ``function(*arguments)`` in each process; it has to stand in a module,
            as each process imports it.
        num_processes: how many.
        arguments: passed on as pickles.
        timeout: seconds until all must have ended.

    Returns:
        What the function returned, by rank.

    Raises:
        RuntimeError: a process failed; the message says which and how.
        TimeoutError: not all had ended in time.
    """
    task = pickle.dumps((function, arguments))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder, deadline = Path(name), time.monotonic() + timeout
        shared = (num_processes, folder, task, timeout)
        context = multiprocessing.spawn(_work, shared, num_processes, join=False)
        try:
            while not context.join(timeout=max(0.0, deadline - time.monotonic())):
                if time.monotonic() > deadline:
                    running = [rank for rank, p in enumerate(context.processes) if p.is_alive()]
                    raise TimeoutError(
                        f"all {num_processes} processes must end within timeout={timeout:g} "
                        f"seconds, got none from process {', '.join(map(str, running))}"
                    )
            results = [folder / f"result{rank}" for rank in range(num_processes)]
            return [pickle.loads(result.read_bytes()) for result in results]
        except multiprocessing.ProcessExitedException as failure:
            raise RuntimeError(_reason(failure, context, folder)) from None
        finally:
            for process in context.processes:
                process.kill()
                process.join()


def join_group(rank: int, num_processes: int, store: Any = None, timeout: float = 120.0) -> None:
    """Make this process one of a group on this machine.

    For the whole process, and what it starts, ``GLOO_SOCKET_IFNAME`` and ``NCCL_SOCKET_IFNAME``
    are set to loopback in the environment, where they are not set yet.

    Args:
        rank: which of the processes this one is.
        num_processes: how many there are.
        store: where they meet (default: what ``torchrun`` says in the environment).
        timeout: seconds that one waits for another.
    """
    for variable in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        os.environ.setdefault(variable, _loopback_name())
    device = "cuda" if torch.cuda.device_count() >= num_processes else "cpu"
    if device == "cuda":
        torch.cuda.set_device(rank)
    distributed.init_process_group(
        "nccl" if device == "cuda" else "gloo",
        store=store,
        rank=rank,
        world_size=num_processes,
        timeout=timedelta(seconds=timeout),
    )


def leave_group() -> NoReturn:
    """Wait until every process of the group has come here, and end this one.

    It ends at once, as now and then gloo's threads abort an interpreter that winds up.
    """
    distributed.barrier()  # nobody leaves while another may still need it
    sys.stdout.flush()
    os._exit(0)


def _work(rank: int, num_processes: int, folder: Path, task: bytes, timeout: float) -> None:
    """Be one of the processes: join the group, do the task, leave the result.

    What is printed goes to a file, for the message if this process is killed.
    """
    with open(folder / f"printed{rank}", "wb") as printed:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(printed.fileno(), stream.fileno())
    try:
        store = distributed.FileStore(str(folder / "meeting"), num_processes)
        join_group(rank, num_processes, store, timeout)
        function, arguments = pickle.loads(task)
        (folder / f"result{rank}").write_bytes(pickle.dumps(function(*arguments)))
        leave_group()
    except BaseException as error:
        how = f"{type(error).__name__}: {error}\n\n{traceback.format_exc()}"
        with suppress(FileExistsError), open(folder / "error", "x", encoding="utf-8") as first:
            first.write(f"process {rank} of {num_processes} stopped with {how}")
        os._exit(1)  # without waiting for connections that the others may have left open


def _reason(failure: Any, context: Any, folder: Path) -> str:
    """Say what failed first: where one is killed, the others fail for want of it."""
    killed = {rank: p.exitcode for rank, p in enumerate(context.processes) if p.exitcode < 0}
    killed = {rank: code for rank, code in killed.items() if code != -signal.SIGTERM}
    if not killed and (folder / "error").exists():
        return (folder / "error").read_text("utf-8")
    rank, code = next(iter(killed.items()), (failure.error_index, failure.exit_code))
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    printed = (folder / f"printed{rank}").read_text("utf-8", errors="replace").strip()
    return f"process {rank} of {len(context.processes)} {how}\n\n{printed}".rstrip()


def _loopback_name() -> str:
    """Return what this system calls its loopback interface: lo, lo0, ..."""
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name.lower().startswith("lo")), "lo")
