"""What the training loops of the series share: a bar with the loss, one thread, a schedule.

Used by ``recurrent`` and ``next_word``; seen in ``00_why_attention`` and ``09_transformer_block``.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator

import torch
from torch import nn
from tqdm import tqdm

# No time and no rate: the line that is left at the end is the same in every run.
BAR = "{desc}: {percentage:3.0f}%|{bar:30}| {n_fmt}/{total_fmt} batches{postfix}"


@contextlib.contextmanager
def training_progress(title: str, batches: int, shown: bool) -> Iterator[Callable[[float], None]]:
    """Show how far a training is, and keep torch to one thread meanwhile.

    With tensors this small, several threads mostly wait for one another.

    Args:
        title: what stands before the bar.
        batches: how many there will be.
        shown: whether there is a bar at all.

    Yields:
        What is to be called with the loss after every batch.

    >>> with training_progress("two batches", 2, shown=False) as batch_done:
    ...     batch_done(0.7)
    ...     batch_done(0.5)
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    look = {"file": sys.stdout, "bar_format": BAR, "ncols": 100}
    try:
        with tqdm(desc=title, total=batches, disable=not shown, **look) as bar:

            def batch_done(loss: float) -> None:
                bar.set_postfix_str(f"loss {loss:4.2f}", refresh=False)
                bar.update()

            yield batch_done
            bar.set_postfix_str("finished.", refresh=False)  # as long as the loss that it covers
    finally:
        torch.set_num_threads(threads)


def rise_and_fall(
    optimizer: torch.optim.Optimizer, batches: int
) -> torch.optim.lr_scheduler.LambdaLR:
    """Let the learning rate rise over the first tenth of the batches, then fall to zero.

    No batch has a rate of zero, however few there are.

    Args:
        optimizer: holds the largest rate.
        batches: how many there will be.

    Returns:
        The schedule; its ``step()`` is to be called after every batch.

    >>> optimizer = torch.optim.Adam([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule, rates = rise_and_fall(optimizer, batches=20), []
    >>> for _ in range(4):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> [round(rate, 2) for rate in rates]
    [0.5, 0.95, 0.9, 0.85]
    """
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, 10 * (step + 1) / batches) * (1 - step / batches)
    )


def device_of(model: nn.Module) -> torch.device:
    """Return where a model's numbers are, and refuse what is no model."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
