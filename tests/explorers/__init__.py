"""What the tests of several explorers share."""

from typing import Any

import torch


def find(kind: type, panels: list) -> Any:
    """Return the only panel of a kind."""
    (found,) = [panel for panel in panels if isinstance(panel, kind)]
    return found


def run(code: str) -> dict[str, Any]:
    """Run what the Python button shows, and return what it has defined."""
    space: dict[str, Any] = {}
    with torch.random.fork_rng(devices=[]):
        exec(code, space)
    return space
