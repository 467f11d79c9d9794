"""What a reader moves: each control says its name, label, default and tooltip.

They become real ipywidgets, which bring the keyboard and words for a screen reader with them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Control:
    """What all controls have: a name in the settings, a label, a default and a tooltip.

    ``enabled`` says for which settings the control means something.
    """

    name: str
    label: str
    default: Any
    tooltip: str
    enabled: Callable[[Settings], bool] = lambda settings: True

    def build(self, settings: Settings) -> widgets.Widget:
        """Make the ipywidgets control."""
        raise NotImplementedError

    def words(self) -> dict[str, Any]:
        """Return what every ipywidgets control is given."""
        return {
            "value": self.default,
            "description": self.label,
            "tooltip": self.tooltip,
            "style": {"description_width": "110px"},
            "layout": widgets.Layout(width="auto", min_width="300px", flex="1 1 300px"),
        }


@dataclass(frozen=True, kw_only=True)
class Slider(Control):
    """A number from ``low`` to ``high``; whole if ``step`` is."""

    low: float
    high: float
    step: float = 1

    def build(self, settings: Settings) -> widgets.Widget:
        whole = all(isinstance(value, int) for value in (self.default, self.low, self.step))
        kind = widgets.IntSlider if whole else widgets.FloatSlider
        return kind(min=self.low, max=self.high, step=self.step, **self.words())


@dataclass(frozen=True, kw_only=True)
class Steps(Control):
    """A slider over listed values, such as the divisors of ``d_out``.

    ``options`` are values, or (label, value) pairs; where what is on offer depends on the other
    settings, a function of these.
    """

    options: Sequence[Any] | Callable[[Settings], Sequence[Any]]

    def offered(self, settings: Settings) -> list[Any]:
        """Return the options for these settings."""
        return list(self.options(settings) if callable(self.options) else self.options)

    def build(self, settings: Settings) -> widgets.Widget:
        return widgets.SelectionSlider(options=self.offered(settings), **self.words())


@dataclass(frozen=True, kw_only=True)
class Pick(Control):
    """One of a few named choices, in a drop-down list."""

    options: Sequence[Any]

    def build(self, settings: Settings) -> widgets.Widget:
        return widgets.Dropdown(options=list(self.options), **self.words())


@dataclass(frozen=True)
class Switch(Control):
    """Yes or no."""

    def build(self, settings: Settings) -> widgets.Widget:
        return widgets.Checkbox(indent=True, **self.words())


@dataclass(frozen=True)
class Words(Control):
    """A line of text that the reader types."""

    def build(self, settings: Settings) -> widgets.Widget:
        words = self.words()
        words["layout"] = widgets.Layout(width="auto", min_width="420px", flex="2 1 420px")
        return widgets.Text(continuous_update=True, **words)
