"""What a reader has switched in torch, and how to compute as if nothing were switched."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch


@contextmanager
def as_torch_starts() -> Iterator[None]:
    """Compute as torch does where nobody has switched anything, and put all back afterwards.

    New tensors are float32 and on the CPU, gradients are kept, and there is neither autocast nor
    a search for anomalies, which takes many times as long. It may stand over a function as well.

    >>> with torch.inference_mode(), torch.device("meta"), as_torch_starts():
    ...     (2 * torch.ones(3, requires_grad=True)).sum().backward()
    """
    if _nothing_is_switched():  # in a fifth of the time, at every step of a slider
        yield
        return
    with ExitStack() as switches:
        switches.callback(torch.set_default_dtype, torch.get_default_dtype())
        torch.set_default_dtype(torch.float32)
        switches.enter_context(torch.device("cpu"))
        switches.enter_context(torch.inference_mode(False))  # keeps gradients after no_grad, too
        switches.enter_context(torch.autocast("cpu", enabled=False))
        switches.enter_context(torch.autograd.set_detect_anomaly(False))
        yield


def _nothing_is_switched() -> bool:
    return (
        torch.get_default_dtype() == torch.float32
        and torch.is_grad_enabled()
        and not torch.is_inference_mode_enabled()
        and not torch.is_autocast_enabled("cpu")
        and not torch.is_anomaly_enabled()
        and torch.empty(0).device.type == "cpu"
    )


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from torch's CPU generator as after ``torch.manual_seed``, then put it back.

    ``torch.manual_seed`` itself seeds the generators of other devices as well, which takes half the
    time of a step of a slider, and leaves them so.
    """
    generator = torch.default_generator
    state = generator.get_state()
    generator.manual_seed(seed)
    try:
        yield
    finally:
        generator.set_state(state)
