"""What the training loops of the series share: a bar with the loss, and a single thread.

Used by ``recurrent`` and ``next_word``; seen in ``00_why_attention`` and ``09_transformer_block``.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator

import torch
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
