"""What a reader may have switched in torch before anything of ours runs."""

from contextlib import ExitStack, contextmanager
from functools import partial

import torch


@contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


SWITCHES = {
    "no gradients": torch.no_grad,
    "inference mode": torch.inference_mode,
    "float64": lambda: default_dtype(torch.float64),
    "bfloat16": lambda: default_dtype(torch.bfloat16),
    "another device": lambda: torch.device("meta"),  # as a GPU would be, and holds no numbers
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "deterministic": deterministic,
    "anomalies": lambda: torch.autograd.set_detect_anomaly(True, check_nan=True),
}


@contextmanager
def several(*names):
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(SWITCHES[name]())
        yield


# All of them in two runs, for tests of which there are many.
GROUPS = {
    ", ".join(names): partial(several, *names)
    for names in (
        ("float64", "no gradients", "autocast", "deterministic"),
        ("bfloat16", "another device", "inference mode", "anomalies"),
    )
}
