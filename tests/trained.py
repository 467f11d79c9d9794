"""Models that explorers train for seconds: in a run of the tests each is trained once.

The processes of a run, workers and kernels alike, share what was learned in a folder. A class of
the package is the same in all of them, so its name will do there. One that stands elsewhere, in a
notebook's cell above all, may have been edited: it is known by its code, and where that uses
anything else from the cells, it is trained anew.
"""

import copy
import dis
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch
from filelock import FileLock
from torch import nn

from chapter3_helpers.training import trained as store

SETTINGS = (bool, int, float, str)
PACKAGES = ("chapter3_helpers.", "torch.")


def share(folder: Path) -> None:
    """Let whoever wants a trained model in this process look for it in a folder first."""
    store.run = _once(store.run, folder)


def _once(run: Callable[..., store.Trained], folder: Path) -> Callable[..., store.Trained]:
    def run_or_load(model: nn.Module, train: Callable, every: int | None) -> store.Trained:
        known = [_known(part) for part in (train, *map(type, model.modules()))]
        if None in known:
            return run(model, train, every)
        start = b"".join(part.numpy().tobytes() for part in model.state_dict().values())
        plain = [  # what a model was made with and neither prints nor keeps as a parameter
            {name: value for name, value in vars(module).items() if isinstance(value, SETTINGS)}
            for module in model.modules()
        ]
        key = hashlib.sha256(f"{known} {model} {plain} {every}".encode() + start).hexdigest()
        path = folder / f"{key}.pt"
        with FileLock(f"{path}.lock"):
            if not path.exists():
                learned = run(model, train, every)
                kept = {batches: state.state_dict() for batches, state in learned.states.items()}
                torch.save((kept, learned.losses), path)
        kept, losses = torch.load(path)
        states = {batches: copy.deepcopy(model) for batches in kept} | {len(losses): model}
        for batches, state in states.items():
            state.load_state_dict(kept[batches])
            state.requires_grad_(False)
        return store.Trained(states, losses)

    return run_or_load


def _known(part: Any) -> str | None:
    """Return what tells a class or function from any other in all processes, None if nothing."""
    name = f"{part.__module__}.{part.__qualname__}"
    if name.startswith(PACKAGES):
        return name
    if not isinstance(part, type):
        return None
    bases = [_known(base) for base in part.__bases__]
    methods = [method for method in vars(part).values() if isinstance(method, FunctionType)]
    codes = [(method, code) for method in methods for code in _codes(method.__code__)]
    used = [
        method.__globals__.get(step.argval)  # None for what Python has built in
        for method, code in codes
        for step in dis.get_instructions(code)
        if step.opname == "LOAD_GLOBAL"
    ]
    if None in bases or not all(value is None or _of_packages(value) for value in used):
        return None
    return repr([bases, [_steps(code) for _, code in codes]])


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Return a function's code, and that of all that is written inside of it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _steps(code: CodeType) -> list[tuple[str, Any]]:
    """Return what a function does, step by step; a kernel compiles it into other bytes."""
    jumps = {*dis.hasjrel, *dis.hasjabs}
    return [
        (
            step.opname.replace("LOAD_METHOD", "LOAD_ATTR"),
            None if step.opcode in jumps or isinstance(step.argval, CodeType) else step.argval,
        )
        for step in dis.get_instructions(code)
        if step.opname != "PUSH_NULL"
    ]


def _of_packages(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return f"{value.__name__}.".startswith(PACKAGES)
    return isinstance(value, type | FunctionType) and value.__module__.startswith(PACKAGES)
