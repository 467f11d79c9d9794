"""Start processes that work together on this machine, and leave none behind.

``run_processes`` is ``torch.multiprocessing.spawn`` around one function in a process group (gloo,
or NCCL where every process finds a GPU). The processes meet through a file, and gloo's own
connections stay on loopback, so nothing can be reached from outside. Taught in
``14_tensor_parallel``.
"""

import os
import pickle
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import distributed, multiprocessing

PATIENCE = timedelta(seconds=120)  # so long one process waits for another


def run_processes(function: Callable[..., Any], num_processes: int, *arguments: Any) -> Any:
    """Call a function in several new processes that form one group; return what rank 0 returns.

    Whatever happens (an error or a signal in one of them, an interrupt here), all of them have
    ended when this returns or raises. In a script it has to be called under
    ``if __name__ == "__main__":``, as with all of ``multiprocessing``.

    Args:
        function: called as ``function(*arguments)`` in each process; it has to stand in a module,
            as each process imports it.
        num_processes: how many.
        arguments: passed on as pickles.

    Raises:
        RuntimeError: a process failed; the message says which and how.
    """
    task = pickle.dumps((function, arguments))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        shared = (num_processes, folder, task)
        context = multiprocessing.spawn(_work, shared, num_processes, join=False)
        try:
            while not context.join():
                pass
            return pickle.loads((folder / "result").read_bytes())
        except multiprocessing.ProcessExitedException as failure:
            error = folder / "error"  # where one is killed, the others fail for want of it
            raised = failure.exit_code > 0 and error.exists()
            raise RuntimeError(error.read_text("utf-8") if raised else str(failure)) from None
        finally:
            for process in context.processes:
                process.kill()
                process.join()


def join_group(rank: int, num_processes: int, store: Any = None) -> None:
    """Make this process one of a group on this machine.

    For the whole process, and what it starts, ``GLOO_SOCKET_IFNAME`` and ``NCCL_SOCKET_IFNAME``
    are set to loopback in the environment, where they are not set yet.

    Args:
        rank: which of the processes this one is.
        num_processes: how many there are.
        store: where they meet (default: what ``torchrun`` says in the environment).
    """
    names = [name for _, name in socket.if_nameindex()]
    loopback = next((name for name in names if name.lower().startswith("lo")), "lo")  # or lo0, ...
    for variable in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        os.environ.setdefault(variable, loopback)
    backend = "gloo"
    if torch.cuda.device_count() >= num_processes:
        backend = "nccl"
        torch.cuda.set_device(rank)
    distributed.init_process_group(
        backend, store=store, rank=rank, world_size=num_processes, timeout=PATIENCE
    )


def leave_group() -> NoReturn:
    """Wait until every process of the group has come here, and end this one.

    It ends at once, as now and then gloo's threads abort an interpreter that winds up.
    """
    distributed.barrier()  # nobody leaves while another may still need it
    sys.stdout.flush()
    os._exit(0)


def _work(rank: int, num_processes: int, folder: Path, task: bytes) -> None:
    """Be one of the processes: join the group, do the task, leave the result."""
    try:
        store = distributed.FileStore(str(folder / "meeting"), num_processes)
        join_group(rank, num_processes, store)
        function, arguments = pickle.loads(task)
        result = function(*arguments)
        if rank == 0:
            (folder / "result").write_bytes(pickle.dumps(result))
        leave_group()
    except BaseException as error:
        how = f"{type(error).__name__}: {error}\n\n{traceback.format_exc()}"
        with suppress(FileExistsError), open(folder / "error", "x", encoding="utf-8") as first:
            first.write(f"process {rank} of {num_processes} stopped with {how}")
        os._exit(1)  # without waiting for connections that the others may have left open
