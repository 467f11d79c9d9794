"""Models that explorers train for seconds: in a run of the tests each is trained once.

The processes of a run, workers and kernels alike, share what was learned in a folder. A class goes
by its name there, also one in a notebook's cell: test_taught_code says that it is the package's.

A notebook that is compared trains what it says, and leaves it there for the others.
"""

import copy
import hashlib
from collections.abc import Callable
from pathlib import Path

import torch
from filelock import FileLock
from torch import nn

from chapter3_helpers.tasks import training

# What the kernel of a notebook runs at its start. To load PyTorch here would take seconds.
STARTUP = """
import sys

def __share_trained(*_):  # no notebook has this name
    if "chapter3_helpers.tasks.training" in sys.modules:
        sys.path.append({root!r})
        from tests import trained
        trained.share({folder!r}, anew=True)
        sys.path.remove({root!r})
        get_ipython().events.unregister("post_run_cell", __share_trained)

get_ipython().events.register("post_run_cell", __share_trained)
"""


def write_startup(folder: Path, ipython: Path) -> None:
    """Let the kernels whose ``IPYTHONDIR`` is ``ipython`` leave in ``folder`` what they train."""
    place = ipython / "profile_default" / "startup"
    place.mkdir(parents=True)
    text = STARTUP.format(root=str(Path(__file__).parents[1]), folder=str(folder))
    (place / "share.py").write_text(text)


def share(folder: str | Path, *, anew: bool = False) -> None:
    """Let this process look in a folder before it trains a model, or only leave its models there.

    Args:
        folder: is there already.
        anew: train in any case.
    """
    training.run = _once(training.run, Path(folder), anew)


def _once(
    run: Callable[..., training.Trained], folder: Path, anew: bool
) -> Callable[..., training.Trained]:
    def run_or_load(
        model: nn.Module, train: Callable, every: int | None, progress: bool
    ) -> training.Trained:
        if not train.__module__.startswith("chapter3_helpers."):
            return run(model, train, every, progress)
        path = folder / f"{_key(model, train, every)}.pt"
        with FileLock(f"{path}.lock"):
            if anew or not path.exists():
                learned = run(model, train, every, progress)
                kept = {batches: state.state_dict() for batches, state in learned.states.items()}
                torch.save((kept, learned.losses), path)
                return learned
        kept, losses = torch.load(path)
        states = {batches: copy.deepcopy(model) for batches in kept} | {len(losses): model}
        for batches, state in states.items():
            state.load_state_dict(kept[batches])
            state.requires_grad_(False)
        return training.Trained(states, losses)

    return run_or_load


def _key(model: nn.Module, train: Callable, every: int | None) -> str:
    """Return a name for a training: its function, the model's parts and all that they hold.

    An attribute that prints differently in each process only means that nothing is shared.
    """
    parts = [
        (name, type(module).__qualname__, [pair for pair in vars(module).items() if _own(pair[0])])
        for name, module in model.named_modules()
    ]
    weights = [(name, value.shape, value.tolist()) for name, value in model.state_dict().items()]
    text = f"{train.__module__} {train.__qualname__} {every} {parts} {weights}"
    return hashlib.sha256(text.encode()).hexdigest()


def _own(attribute: str) -> bool:
    return not attribute.startswith("_")
