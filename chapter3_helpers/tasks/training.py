"""Training: the loop of all notebooks, models that are trained once and kept, tables of reports.

Seen at work first in ``00_why_attention``.
"""

import contextlib
import copy
import hashlib
import math
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
from filelock import FileLock
from torch import nn
from tqdm import tqdm

from chapter3_helpers._switches import as_torch_starts, seeded

# No time and no rate: the line that is left at the end is the same in every run.
BAR = "{desc}: {percentage:3.0f}%|{bar:30}| {n_fmt}/{total_fmt} batches{postfix}"


@torch.inference_mode(False)
def minimise(
    model: nn.Module,
    draw_loss: Callable[[torch.Generator], torch.Tensor],
    batches: int,
    learning_rate: float,
    title: str,
    *,
    seed: int = 0,
    progress: bool = True,
    watch: Callable[[int], None] | None = None,
    max_norm: float = math.inf,
) -> list[float]:
    """Train a model in place with Adam, and return the loss of every batch.

    It learns under ``torch.no_grad()`` and ``torch.inference_mode()``, too. The ``train`` function
    of every task ends here and passes on ``seed``, ``progress`` and ``watch``.

    Args:
        model: the model to train.
        draw_loss: draws the next batch and returns the model's loss on it, one number.
        batches: how many steps there are; of 0 the model stays as it is.
        learning_rate: the largest; it is reached after a tenth of the batches, and then falls
            to zero.
        title: the text before the progress bar.
        seed: of the generator that ``draw_loss`` is given. The model's own weights were drawn
            before.
        progress: whether a bar with the loss is shown.
        watch: is called with the number of batches done: with 0 at first, and after every batch.
        max_norm: longer gradients, all taken together, are shortened to this.

    Raises:
        ValueError: ``batches`` is below 0.

    >>> layer = nn.Linear(3, 1)
    >>> def draw_loss(generator):
    ...     return layer(torch.rand(8, 3, generator=generator)).square().mean()
    >>> losses = minimise(layer, draw_loss, 50, learning_rate=0.1, title="zero", progress=False)
    >>> losses[-1] < 0.1 * losses[0]
    True
    """
    if batches < 0:
        raise ValueError(f"batches must be at least 0, got {batches}")
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), learning_rate, fused=True)
    last = max(1, batches)  # the rate of a first step is asked for where there is none
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, 10 * (step + 1) / last) * (1 - step / last)
    )
    losses: list[float] = []
    look = {"file": sys.stdout, "bar_format": BAR, "ncols": 100, "disable": not progress}
    with one_thread(), tqdm(desc=title, total=batches, **look) as bar:
        for batch in range(batches):
            if watch:
                watch(batch)
            loss = draw_loss(generator)
            optimizer.zero_grad()
            loss.backward()
            if max_norm < math.inf:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            bar.set_postfix_str(f"loss {losses[-1]:4.2f}", refresh=False)
            bar.update()
        if watch:
            watch(batches)
        bar.set_postfix_str("finished.", refresh=False)  # as long as the loss that it covers
    return losses


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep torch to one thread: with tensors this small, several mostly wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


KEPT_IN = "CHAPTER3_TRAINED"  # in the environment: a folder that processes share
KEPT = "_kept_by_chapter3_helpers"  # an attribute of what makes models


class Trained(NamedTuple):
    """A training from its start to its end."""

    states: dict[int, nn.Module]  # batches done -> the model of that moment, not to be changed
    losses: list[float]  # of every batch

    @property
    def model(self) -> nn.Module:
        """The model at the end."""
        return self.states[len(self.losses)]


def trained(
    make: Callable[..., nn.Module],
    train: Callable[..., list[float]],
    *arguments: Hashable,
    every: int | None = None,
    progress: bool = True,
    seed: int = 0,
) -> Trained:
    """Make a model, train it, and keep it: the same call again returns the same model.

    So a notebook and its explorer share a model. ``make`` and ``train`` are compared as objects,
    not by name, so a class that was written anew under its old name is trained anew, and its models
    go with the former class.

    Args:
        make: a class, or a function that returns a model.
        train: is called with the model, ``progress`` and ``watch``, as in ``minimise``.
        arguments: those of ``make``.
        every: keep a copy every this many batches (default: keep only the model at the end).
        progress: show a bar.
        seed: of the model's first weights, and of what it draws itself while it learns. Torch's own
            generator is left as it is, and nothing else that is switched in torch reaches in.

    >>> def train(layer, **options):
    ...     return minimise(layer, lambda _: layer.weight.square().mean(), 20, 0.1, "", **options)
    >>> states, losses = trained(nn.Linear, train, 3, 2, every=10, progress=False)
    >>> list(states), len(losses)
    ([0, 10, 20], 20)
    """
    kept = _kept_by(make).setdefault(train, {})
    if (arguments, every, seed) not in kept:
        with as_torch_starts(), seeded(seed):
            kept[arguments, every, seed] = run(make(*arguments), train, every, progress)
    return kept[arguments, every, seed]


def _kept_by(make: Callable[..., nn.Module]) -> MutableMapping[Callable, dict]:
    """Return what was trained of a class: train -> arguments -> ``Trained``.

    It is an attribute of the class. A model knows its class, so a dictionary elsewhere would keep
    both for ever, even if its keys were weak.
    """
    if KEPT not in vars(make):
        setattr(make, KEPT, WeakKeyDictionary())
    return vars(make)[KEPT]


def run(
    model: nn.Module, train: Callable[..., list[float]], every: int | None, progress: bool
) -> Trained:
    """Train a model, and copy it on the way; or read it, if a process of this run has trained it.

    Where the environment names a folder as ``CHAPTER3_TRAINED``, what the tasks here train is left
    there for other processes. A class goes by its name in it: it is for runs of the tests.
    """
    folder = os.environ.get(KEPT_IN)
    if not folder or not train.__module__.startswith(f"{__package__}."):
        return _run(model, train, every, progress)
    path = Path(folder) / f"{_key(model, train, every)}.pt"
    with FileLock(f"{path}.lock"):
        if not path.exists():
            learned = _run(model, train, every, progress)
            states = {batches: state.state_dict() for batches, state in learned.states.items()}
            torch.save((states, learned.losses), aside := path.with_suffix(".part"))
            aside.replace(path)  # whole, or not there
            return learned
    kept, losses = torch.load(path)
    states = {batches: copy.deepcopy(model) for batches in kept} | {len(losses): model}
    for batches, state in states.items():
        state.load_state_dict(kept[batches])
        state.requires_grad_(False)
    return Trained(states, losses)


def _run(
    model: nn.Module, train: Callable[..., list[float]], every: int | None, progress: bool
) -> Trained:
    states = {}

    def watch(batches: int) -> None:
        if every and batches % every == 0:
            states[batches] = copy.deepcopy(model).requires_grad_(False)

    losses = train(model, progress=progress, watch=watch)
    states[len(losses)] = model.requires_grad_(False)
    return Trained(states, losses)


def _key(model: nn.Module, train: Callable[..., list[float]], every: int | None) -> str:
    """Return a name for a training: its function, the model's parts and all that they hold.

    An attribute that prints differently in each process only means that nothing is shared.
    """
    parts = [
        (name, type(part).__qualname__, [pair for pair in vars(part).items() if pair[0][0] != "_"])
        for name, part in model.named_modules()
    ]
    weights = [(name, value.shape, value.tolist()) for name, value in model.state_dict().items()]
    text = f"{train.__module__} {train.__qualname__} {every} {parts} {weights}"
    return hashlib.sha256(text.encode()).hexdigest()


def table(reports: Mapping[str, NamedTuple]) -> str:
    """Lay reports of one kind out as a table: a row each, two decimals.

    >>> class Report(NamedTuple):
    ...     word_right: float
    ...     loss: float
    >>> print(table({"before": Report(0.1, 2.5), "after training": Report(1.0, 0.003)}))
                    word right  loss
    before                0.10  2.50
    after training        1.00  0.00
    """
    titles = [field.replace("_", " ") for field in next(iter(reports.values()))._fields]
    left = max(map(len, reports))
    lines = ["  ".join([" " * left, *titles])]
    for name, report in reports.items():
        cells = map("{:.2f}".format, report)
        wide = [cell.rjust(len(title)) for title, cell in zip(titles, cells, strict=True)]
        lines.append("  ".join([name.ljust(left), *wide]))
    return "\n".join(lines)
