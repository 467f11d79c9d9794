"""The training loop of the series: a step per batch, a rate that rises and falls, a bar.

Seen at work first in ``00_why_attention``.
"""

import contextlib
import math
import sys
from collections.abc import Callable, Iterator

import torch
from torch import nn
from tqdm import tqdm

from chapter3_helpers._checks.numbers import check_flag, check_size

# No time and no rate: the line that is left at the end is the same in every run.
BAR = "{desc}: {percentage:3.0f}%|{bar:30}| {n_fmt}/{total_fmt} batches{postfix}"


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

    The trainings of all notebooks run through here; each has its own ``draw_loss``.

    Args:
        model: whose parameters are to change.
        draw_loss: draws the next batch and returns the model's loss on it, one number.
        batches: how many steps there are.
        learning_rate: the largest; it is reached after a tenth of the batches, and then falls
            to zero.
        title: what stands before the progress bar.
        seed: of the generator that ``draw_loss`` is given, any integer; the model's own weights
            were drawn before.
        progress: whether a bar with the loss is shown.
        watch: is called with the number of batches done: with 0 at first, and after every batch.
        max_norm: gradients that are longer, all taken together, are shortened to this.

    Raises:
        TypeError, ValueError: ``model`` is not a module, ``batches`` no integer of at least 1,
            ``seed`` no integer, or ``progress`` not a bool.

    >>> layer = nn.Linear(3, 1)
    >>> def draw_loss(generator):
    ...     return layer(torch.rand(8, 3, generator=generator)).square().mean()
    >>> losses = minimise(layer, draw_loss, 50, learning_rate=0.1, title="zero", progress=False)
    >>> losses[-1] < 0.1 * losses[0]
    True
    """
    device_of(model)
    batches, generator = check_size("batches", batches), generator_from(seed)
    hidden = not check_flag("progress", progress)
    optimizer = torch.optim.Adam(model.parameters(), learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, 10 * (step + 1) / batches) * (1 - step / batches)
    )
    losses: list[float] = []
    look = {"file": sys.stdout, "bar_format": BAR, "ncols": 100, "disable": hidden}
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


def device_of(model: nn.Module) -> torch.device:
    """Return where a model's parameters are; refuse what is not a model."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


def generator_from(seed: int) -> torch.Generator:
    """Return a generator on the CPU that starts from any integer, however large or negative.

    >>> torch.randint(10, (3,), generator=generator_from(-(10**30))).shape
    torch.Size([3])
    """
    return torch.Generator().manual_seed(check_size("seed", seed, minimum=-math.inf) % 2**63)
