"""Models that explorers train for seconds: in a run of the tests each is trained once.

The processes of a run, workers and kernels alike, share what was learned in a folder. A class of
the package is the same in all of them, so its name will do there. One that stands elsewhere, in a
notebook's cell above all, may have been edited meanwhile: it is trained anew.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

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
        used = [train, *map(type, model.modules())]
        if every or not all(part.__module__.startswith(PACKAGES) for part in used):
            return run(model, train, every)
        names = " ".join(f"{part.__module__}.{part.__qualname__}" for part in used)
        start = b"".join(part.numpy().tobytes() for part in model.state_dict().values())
        plain = [  # what a model was made with and neither prints nor keeps as a parameter
            {name: value for name, value in vars(module).items() if isinstance(value, SETTINGS)}
            for module in model.modules()
        ]
        key = hashlib.sha256(f"{names} {model} {plain}".encode() + start).hexdigest()
        path = folder / f"{key}.pt"
        with FileLock(f"{path}.lock"):
            if not path.exists():
                learned = run(model, train, every)
                torch.save((model.state_dict(), learned.losses), path)
        state, losses = torch.load(path)
        model.load_state_dict(state)
        return store.Trained({len(losses): model.requires_grad_(False)}, losses)

    return run_or_load
