"""What a reader moves: each control says its name, label, default and tooltip.

They become real ipywidgets, which bring the keyboard and words for a screen reader with them::

    Slider("p", "p", 0.5, "The probability of a drop", low=0.0, high=0.9, step=0.05, play=500)
    Buttons("row", "asking", 1, "Whose row to read", options=[("0 Your", 0), ("1 journey", 1)])
    Thumbnails("head", "head", 0, "Which head to read", options=range(4))  # see there
    DropDown("machine", "machine", "laptop", "Where it runs", options=("laptop", "server"))
    Seed("seed", "seed", 123, "Another seed draws other weights", lambda made: made == "at random")
    Switch("causal", "hide the future", True, "The causal mask", presented=False)
    Clicked("query", "query", None, "Whose weight was clicked", options=range(6))

``shown_if`` takes a control away where it means nothing. It is a function of other settings and
names those that it needs, as ``made`` above; so is ``options`` where they depend on others.
``presented=False`` takes a control away from the back row's view, as a seed is by default.

Labels and tooltips that a page shows are said in the reader's language where they are written. An
option that is a text is its value in every language: it is marked with ``to_say`` there, and said
here.
"""

import inspect
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import ipywidgets as widgets
from traitlets import Instance, Int, validate

from chapter3_helpers._language import say

Settings = Mapping[str, Any]
Choice = tuple[str, Any]  # what a page shows, and the value
HIGHEST_SEED = 999
RECORDED_SEEDS = (1, 2, 3, 42)


def parameters(function: Callable) -> tuple[str, ...]:
    """Return the names of a function's parameters, without those that a partial has given.

    They are asked for at every step of a slider, and kept as long as the function is.
    """
    names = _PARAMETERS.get(function)
    if names is None:
        given = getattr(function, "keywords", ())
        every = inspect.signature(function).parameters
        names = _PARAMETERS[function] = tuple(name for name in every if name not in given)
    return names


_PARAMETERS: WeakKeyDictionary[Callable, tuple[str, ...]] = WeakKeyDictionary()


def arguments(function: Callable, settings: Settings, given: int = 0) -> dict[str, Any]:
    """Return those settings that a function's parameters name, after so many that are given."""
    return {name: settings[name] for name in parameters(function)[given:]}


def call(function: Callable, settings: Settings, *given: Any) -> Any:
    """Call a function with what is given and with those settings that its parameters name."""
    return function(*given, **arguments(function, settings, len(given)))


@dataclass(frozen=True)
class Control:
    """What all controls have: a name in the settings, a label, a default and a tooltip.

    ``shown_if`` says for which settings the control means something and is shown.
    ``presented`` says whether it is there while the explorer is presented. ``kind`` says how a page
    shows it: how a recording draws it, and how a test moves and reads it. ``stands`` says where:
    "in the bar", "on a picture" that a ``Heads`` panel draws, or nowhere ("").
    """

    kind: ClassVar[str]
    stands: ClassVar[str] = "in the bar"

    name: str
    label: str
    default: Any
    tooltip: str
    shown_if: Callable[..., bool] = lambda: True
    presented: bool = field(default=True, kw_only=True)

    def build(self, settings: Settings) -> widgets.Widget:
        """Make the ipywidgets control, which has the value."""
        raise NotImplementedError

    def place(self, widget: widgets.Widget) -> widgets.Widget:
        """Return what stands on the page: the control, or a box with more beside it."""
        return widget

    def is_shown(self, settings: Settings) -> bool:
        """Return whether the control means something for these settings."""
        return call(self.shown_if, settings)

    def choices(self, settings: Settings) -> list[Choice]:
        """Return the values that are recorded for a page, for these settings; none for a text."""
        return []

    def words(self, **size: Any) -> dict[str, Any]:
        """Return what every ipywidgets control is given; ``size`` is that of its layout, if it has
        one of its own."""
        return {
            "value": self.default,
            "description": self.label,
            "tooltip": self.tooltip,
            "style": {"description_width": "initial"},
            "layout": widgets.Layout(**size) if size else _width(),
        }


@dataclass(frozen=True, kw_only=True)
class Slider(Control):
    """A number from ``low`` to ``high``; whole if ``step`` is.

    ``play`` puts a button in front that walks through the steps, one in so many milliseconds.
    """

    kind = "slider"
    low: float
    high: float
    step: float = 1
    play: int | None = None

    def choices(self, settings: Settings) -> list[Choice]:
        digits = "" if self.whole else ".2f"
        values = [
            self.low + i * self.step for i in range(round((self.high - self.low) / self.step) + 1)
        ]
        return [(format(value, digits), value) for value in values]

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers."""
        return all(isinstance(value, int) for value in (self.default, self.low, self.step))

    def build(self, settings: Settings) -> widgets.Widget:
        kind = widgets.IntSlider if self.whole else widgets.FloatSlider
        slider = kind(min=self.low, max=self.high, step=self.step, **self.words())

        def stop(_change: Any = None) -> None:
            nearest = min(self.choices({}), key=lambda choice: abs(choice[1] - slider.value))[1]
            if not math.isclose(nearest, slider.value, abs_tol=1e-9):
                slider.value = nearest

        slider.observe(stop, names="value")  # in the number beside it anything can be typed
        stop()
        return slider

    def place(self, widget: widgets.Widget) -> widgets.Widget:
        if self.play is None:
            return widget
        player = widgets.Play(
            min=self.low, max=self.high, step=self.step, value=widget.value, interval=self.play
        )
        return _beside(player, widget, "value")


@dataclass(frozen=True, kw_only=True)
class Listed(Control):
    """A control of listed values.

    ``options`` are values, or (label, value) pairs; where what is on offer depends on the other
    settings, a function of these, which returns None where a text cannot be read: the options then
    stay as they are. With ``to_the_end``, what was put at its last option moves to the new last one
    where there are more. ``returns_to`` says where it goes when one of ``returns_when``, settings,
    is chosen anew.
    """

    options: Sequence[Any] | Callable[..., Sequence[Any]]
    to_the_end: bool = False
    returns_to: Callable[..., Any] | None = None
    returns_when: Sequence[str] = ()

    def offered(self, settings: Settings) -> list[Choice] | None:
        """Return the options for these settings; None where a text decides and cannot be read."""
        options = call(self.options, settings) if callable(self.options) else self.options
        return None if options is None else _pairs(options, said=bool(self.stands))

    def choices(self, settings: Settings) -> list[Choice]:
        options = self.offered(settings)
        return _pairs([settings[self.name]]) if options is None else options


@dataclass(frozen=True, kw_only=True)
class Steps(Listed):
    """A slider over listed values, such as the divisors of ``d_out``. It plays as ``Slider``."""

    kind = "slider"
    play: int | None = None

    def build(self, settings: Settings) -> widgets.Widget:
        return widgets.SelectionSlider(options=self.offered(settings), **self.words())

    def place(self, widget: widgets.Widget) -> widgets.Widget:
        if self.play is None:  # every widget that is made stays alive
            box = widgets.HBox([widget], layout=_width())
        else:
            last = len(widget.options) - 1
            player = widgets.Play(min=0, max=last, value=widget.index, interval=self.play)
            box = _beside(player, widget, "index")

        def changed(change: Any) -> None:
            if self.play is not None:
                player.max = len(change.new) - 1
            if len(change.new) > len(change.old):  # the End key would stop at the old end
                box.children, everything = (), box.children
                box.children = everything

        if callable(self.options):
            widget.observe(changed, names="_options_labels")
        return box


@dataclass(frozen=True, kw_only=True)
class Buttons(Listed):
    """One of a few choices, side by side, each a button: tokens, ways, views.

    The keyboard reaches every button, and a screen reader says which one is chosen: they are
    radio buttons that look otherwise.
    """

    kind = "buttons"

    def build(self, settings: Settings) -> widgets.Widget:
        words = self.words(width="auto", max_width="100%")
        radio = widgets.RadioButtons(
            options=self.offered(settings), orientation="horizontal", **words
        )
        radio.add_class("c3-buttons")
        return radio


@dataclass(frozen=True, kw_only=True)
class Thumbnails(Buttons):
    """Buttons that lie on small pictures: a click on a head chooses it.

    The pictures are a ``Heads`` panel, as many as there are options. It is drawn here, above the
    other panels.
    """

    kind = "thumbnails"
    stands = "on a picture"

    def place(self, widget: widgets.Widget) -> widgets.Widget:
        box = widgets.Box([widgets.HTML(), widget], layout=widgets.Layout(width="100%"))
        box.add_class("c3-thumbnails")
        return box


@dataclass(frozen=True, kw_only=True)
class Clicked(Listed):
    """What a click on the picture sets, such as a query or a key; None until then.

    There is nothing to be seen of it beside the picture. The same click once more takes it away,
    unless it has another default.
    """

    kind = "clicked"
    stands = ""
    shown_if: Callable[..., bool] = lambda: False

    def choices(self, settings: Settings) -> list[Choice]:
        return _pairs([None] * (self.default is None)) + (self.offered(settings) or [])

    def build(self, settings: Settings) -> widgets.Widget:
        return widgets.Dropdown(options=self.offered(settings), **self.words())


@dataclass(frozen=True, kw_only=True)
class Board(Clicked):
    """What a click on a picture above the panels sets. The picture stays; a frame moves over it."""

    kind = "board"
    stands = "on a picture"
    shown_if: Callable[..., bool] = lambda: True

    def place(self, widget: widgets.Widget) -> widgets.Widget:
        box = widgets.Box([widgets.HTML(), widgets.HTML()], layout=widgets.Layout(width="auto"))
        box.add_class("c3-board")
        return box


@dataclass(frozen=True)
class DropDown(Control):
    """One of a few named choices, in a drop-down list."""

    kind = "list"
    options: Sequence[str] = field(kw_only=True)

    def choices(self, settings: Settings) -> list[Choice]:
        return _pairs(self.options)

    def build(self, settings: Settings) -> widgets.Widget:
        words = self.words(width="auto", max_width="300px")
        return widgets.Dropdown(options=self.choices(settings), **words)


@dataclass(frozen=True)
class Switch(Control):
    """Yes or no."""

    kind = "switch"

    def choices(self, settings: Settings) -> list[Choice]:
        return [("off", False), ("on", True)]

    def build(self, settings: Settings) -> widgets.Widget:
        return widgets.Checkbox(indent=False, **self.words(width="auto"))


@dataclass(frozen=True)
class TextField(Control):
    """A line of text that the reader types, read at each letter or, if it ``waits``, at Enter."""

    kind = "text"
    waits: bool = field(default=False, kw_only=True)

    def build(self, settings: Settings) -> widgets.Widget:
        words = self.words(width="auto", min_width="320px", flex="2 1 420px")
        return widgets.Text(continuous_update=not self.waits, **words)


@dataclass(frozen=True)
class Seed(Control):
    """A whole number that is typed in a box, or drawn by the button beside it."""

    kind = "number"
    presented: bool = field(default=False, kw_only=True)

    def choices(self, settings: Settings) -> list[Choice]:
        return _pairs(sorted({settings[self.name], *RECORDED_SEEDS}))

    def build(self, settings: Settings) -> widgets.Widget:
        return SeedBox(self.words(width="130px"))


class SeedBox(widgets.HBox):
    """A field for a seed, a button that draws one, and a word where what is typed is none.

    The field takes any number, so that nothing that is typed is changed in silence; ``value`` keeps
    the last one that was a seed.
    """

    value = Int(min=0, max=HIGHEST_SEED)

    def __init__(self, words: dict[str, Any]):
        self.field = widgets.FloatText(step=1, **words)
        button = widgets.Button(
            description=say("Draw again"),
            icon="random",
            tooltip=say("Another {seed}, by chance", seed=words["description"]),
            layout=widgets.Layout(width="auto"),
        )
        button.on_click(self._draw)
        self.said = widgets.HTML()
        super().__init__([self.field, button, self.said], layout={"overflow": "visible"})
        self.value = words["value"]
        self.field.observe(self._typed, names="value")

    @validate("value")
    def _accepted(self, proposal: Any) -> int:
        """Let the field show a seed that is set, also where it is the one before."""
        self.field.value, self.said.value = proposal.value, ""
        return proposal.value

    def _typed(self, change: Any) -> None:
        if change.new in range(HIGHEST_SEED + 1):
            self.value = int(change.new)
        else:
            must = say(
                "A seed is a whole number from 0 to {highest}. The picture is still that of seed "
                "{seed}.",
                highest=HIGHEST_SEED,
                seed=self.value,
            )
            self.said.value = f'<span role="alert">{must}</span>'

    def _draw(self, _button: Any) -> None:
        """Draw a seed, not by the random numbers that a reader may have seeded."""
        drawn = secrets.randbelow(HIGHEST_SEED)
        self.value = drawn + (drawn >= self.value)  # never the one that is there


def _pairs(options: Sequence[Any], said: bool = True) -> list[Choice]:
    """Return (label, value) for options of which some are values alone; a text is ``said`` where
    the label is seen."""

    def label(option: Any) -> str:
        return say(option) if said and isinstance(option, str) else str(option)

    return [option if isinstance(option, tuple) else (label(option), option) for option in options]


def _width() -> widgets.Layout:
    return widgets.Layout(width="auto", min_width="250px", max_width="420px", flex="1 1 250px")


def _beside(player: widgets.Play, widget: widgets.Widget, trait: str) -> widgets.Widget:
    """Put a player before a slider."""
    player.show_repeat = False
    player.tooltip = say("Play {slider}", slider=widget.description)
    box = Played([player, widget])
    box.link = widgets.jslink((widget, trait), (player, "value"))
    box.add_class("c3-played")
    return box


class Played(widgets.HBox):
    """A player, a slider, and the link that makes the page move one with the other."""

    link = Instance(widgets.Widget, allow_none=True)
