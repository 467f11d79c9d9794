"""Start processes that work together on this machine, and leave none behind.

``run_processes`` is PyTorch's process group (gloo, or NCCL where every process finds a GPU) around
one function. The processes meet through a file, and gloo's own connections stay on loopback, so
nothing can be reached from outside. Taught in ``13_tensor_parallel``.
"""

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import distributed

from chapter3_helpers._checks.numbers import check_positive, check_size

START = "from chapter3_helpers.tensor_parallel.processes import _work; _work()"


def run_processes(
    function: Callable[..., Any], num_processes: int, *arguments: Any, timeout: float = 120.0
) -> list[Any]:
    """Call a function in several new processes that form one group, and collect what they return.

    Whatever happens (an error or a signal in one of them, no end in time, an interrupt here), all
    of them have ended when this returns or raises; they also end if this process does.

    Args:
        function: called as ``function(*arguments)`` in each process; it has to stand in a module,
            as each process imports it.
        num_processes: how many.
        arguments: passed on as pickles.
        timeout: seconds until all must have ended.

    Returns:
        What the function returned, by rank.

    Raises:
        TypeError, ValueError: ``num_processes`` is not an integer of at least 1, ``timeout`` is
            not a positive number, or the function or an argument can't be pickled.
        RuntimeError: a process failed, or ended without a result; the message says which and how.
        TimeoutError: not all had ended in time.
    """
    check_size("num_processes", num_processes)
    check_positive(timeout=timeout)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            (folder / "task").write_bytes(pickle.dumps((function, arguments, timeout)))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(
                f"function must stand in a module, and arguments be picklable: {error}"
            ) from error
        processes: list[subprocess.Popen] = []
        try:
            for rank in range(num_processes):
                processes.append(_start(folder, rank, num_processes))
            _wait(processes, folder, timeout)
        finally:
            for process in processes:
                process.kill()
            for process in processes:
                process.wait()
                process.stdin.close()
        return [
            pickle.loads((folder / f"result{rank}").read_bytes()) for rank in range(num_processes)
        ]


def join_group(rank: int, num_processes: int, store: Any = None, timeout: float = 120.0) -> str:
    """Make this process one of a group on this machine, and return its device's type.

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
        store=_torchrun_store(rank, num_processes) if store is None else store,
        rank=rank,
        world_size=num_processes,
        timeout=timedelta(seconds=timeout),
    )
    return device


def leave_group() -> NoReturn:
    """Wait until every process of the group has come here, and end this one.

    It ends at once, as now and then gloo's threads abort an interpreter that winds up.
    """
    distributed.barrier()  # nobody leaves while another may still need it
    sys.stdout.flush()
    os._exit(0)


def _start(folder: Path, rank: int, num_processes: int) -> subprocess.Popen:
    """Start one process; what it prints goes to a file, for the message if it fails."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with open(folder / f"printed{rank}", "wb") as printed:
        return subprocess.Popen(
            [sys.executable, "-c", START, str(folder), str(rank), str(num_processes)],
            stdin=subprocess.PIPE,  # its end tells the process that this one has ended
            stdout=printed,
            stderr=subprocess.STDOUT,
            env=environment,
        )


def _wait(processes: Sequence[subprocess.Popen], folder: Path, timeout: float) -> None:
    """Wait until every process has ended; stop waiting at the first that failed."""
    deadline = time.monotonic() + timeout
    while True:
        codes = [process.poll() for process in processes]
        failed = [
            rank
            for rank, code in enumerate(codes)
            if code is not None and (code != 0 or not (folder / f"result{rank}").exists())
        ]
        if failed:
            rank = min(failed, key=lambda rank: _failed_at(folder, rank))
            raise RuntimeError(
                f"process {rank} of {len(processes)} {_reason(folder, rank, codes[rank])}"
            )
        running = [str(rank) for rank, code in enumerate(codes) if code is None]
        if not running:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"all {len(processes)} processes must end within timeout={timeout:g} seconds, "
                f"got none from process {', '.join(running)}"
            )
        time.sleep(0.02)


def _failed_at(folder: Path, rank: int) -> float:
    """Say when a process failed; one without a message was killed, and made the others fail."""
    path = folder / f"error{rank}"
    return path.stat().st_mtime if path.exists() else 0.0


def _reason(folder: Path, rank: int, code: int) -> str:
    path = folder / f"error{rank}"
    if path.exists():
        return f"stopped with {path.read_text('utf-8')}"
    printed = (folder / f"printed{rank}").read_text("utf-8", errors="replace").strip()
    if code < 0:
        how = f"was ended by {signal.Signals(-code).name}"
    else:
        how = f"ended with status {code}" if code else "ended without a result"
    return f"{how}\n\n{printed}".rstrip()


def _work() -> None:
    """Be one of the processes: join the group, do the task, leave the result."""
    folder, rank, num_processes = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    try:
        function, arguments, timeout = pickle.loads((folder / "task").read_bytes())
        store = distributed.FileStore(str(folder / "meeting"), num_processes)
        join_group(rank, num_processes, store, timeout)
        result = function(*arguments)
        (folder / f"result{rank}").write_bytes(pickle.dumps(result))
        leave_group()
    except BaseException as error:
        words = f"{type(error).__name__}: {error}\n\n{traceback.format_exc()}"
        (folder / f"error{rank}").write_text(words, "utf-8")
        os._exit(1)  # without waiting for connections that the others may have left open


def _end_with_the_parent() -> None:
    """Wait for the end of standard input, which comes when the parent ends, however it ends."""
    os.read(0, 1)
    os._exit(1)


def _loopback_name() -> str:
    """Return what this system calls its loopback interface: lo, lo0, ..."""
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name.lower().startswith("lo")), "lo")


def _torchrun_store(rank: int, num_processes: int) -> Any:
    """Meet at the port that ``torchrun`` has opened; where it has not, open it on loopback only."""
    port = int(os.environ["MASTER_PORT"])
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return distributed.TCPStore(os.environ["MASTER_ADDR"], port, num_processes, is_master=False)
    listening = socket.create_server(("127.0.0.1", port)).detach() if rank == 0 else None
    return distributed.TCPStore(
        "127.0.0.1", port, num_processes, is_master=rank == 0, master_listen_fd=listening
    )
