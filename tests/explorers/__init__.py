"""What the tests of several explorers share."""

from functools import cache, cached_property
from typing import Any

import torch

from chapter3_helpers import explorers
from chapter3_helpers.explorers.core.panels import Facts, Note


def find(kind: type, panels: list) -> Any:
    """Return the only panel of a kind."""
    (found,) = [panel for panel in panels if isinstance(panel, kind)]
    return found


def panel_of(explorer: Any, kind: type) -> Any:
    """Return the only panel of a kind that an explorer shows."""
    return find(kind, explorer.panels(explorer.settings))


def state_of(explorer: Any) -> Any:
    """Return what an explorer has computed for its settings."""
    return explorer.state(explorer.settings)


def run(lines: list[str], **space: Any) -> dict[str, Any]:
    """Run the lines that the Python button shows, after what a notebook has defined, and return
    what they have defined."""
    with torch.random.fork_rng(devices=[]):
        exec("\n".join(lines), space)
    return space


class Shown:
    """What an explorer computes and shows at its defaults, some of them changed."""

    def __init__(self, topic: str, **changed: Any):
        self.explorer = _explorer(topic)
        self.settings = {c.name: c.default for c in self.explorer.controls} | changed

    @cached_property
    def state(self) -> Any:
        return self.explorer.state(self.settings)

    @cached_property
    def panels(self) -> list:
        return self.explorer.panels(self.settings)

    def all(self, kind: type) -> list:
        return [panel for panel in self.panels if isinstance(panel, kind)]

    def only(self, kind: type) -> Any:
        return find(kind, self.panels)

    @property
    def note(self) -> str:
        return self.only(Note).text

    @property
    def facts(self) -> dict[str, str]:
        return self.only(Facts).values


@cache
def _explorer(topic: str) -> Any:
    return getattr(explorers, f"{topic}_explorer")()
