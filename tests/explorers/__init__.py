"""What the tests of several explorers share."""

from typing import Any

import torch


def find(kind: type, panels: list) -> Any:
    """Return the only panel of a kind."""
    (found,) = [panel for panel in panels if isinstance(panel, kind)]
    return found


def run(lines: list[str], **space: Any) -> dict[str, Any]:
    """Run the lines that the Python button shows, after what a notebook has defined, and return
    what they have defined."""
    with torch.random.fork_rng(devices=[]):
        exec("\n".join(lines), space)
    return space
