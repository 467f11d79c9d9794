"""Controls on top, where they stay, panels below: the widget that every explorer is.

What is shown is a plain function of the settings, in two steps. A *state* function computes; its
keyword arguments are named as the controls are, and it returns a small frozen dataclass or a
``NamedTuple``. A *panels* function takes that state and, by name, those settings that it needs, and
returns what is drawn. ``Explorer`` calls both with the settings that their parameters name, and
refuses a name that no control has as soon as it is made::

    CONTROLS = (
        Slider("tokens", "tokens", 4, "How many there are", low=1, high=9),
        Buttons("row", "asking", 0, "Whose row to mark", options=lambda tokens: range(tokens)),
    )

    class EvenState(NamedTuple):
        weights: torch.Tensor  # (T, T)

    @as_torch_starts()
    def even_state(*, tokens: int) -> EvenState:
        return EvenState(softmax(torch.zeros(tokens, tokens)))

    def even_panels(state: EvenState, *, row: int) -> list[Panel]:
        names = [str(token) for token in range(len(state.weights))]
        return [Matrix("weights", state.weights, names, marked_row=row)]

    even_explorer = explorer_function("even_explorer", "even", CONTROLS, even_state, even_panels)

The *Python* button shows the call of the state function with the present values, which anyone can
run, and below it the function's source. Where the values of one control have a state function each,
``OneOf`` holds them. Whatever a reader has switched in torch, both compute as torch does when it
starts, by the decorator of the state function.

Settings that would not fit together can't be reached: a control's options may depend on other
settings, and a control that has no meaning for them is not shown. ``docs/package.md`` follows a
click from function to function.
"""

import contextlib
import importlib.resources
import inspect
import io
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Any, NamedTuple, TypeVar

import anywidget
import ipywidgets as widgets
from traitlets import Dict, TraitError, Unicode

from chapter3_helpers._language import say
from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.explorers.core import notebook
from chapter3_helpers.explorers.core.controls import (
    Clicked,
    Control,
    Listed,
    Settings,
    TextField,
    call,
    parameters,
)
from chapter3_helpers.explorers.core.marks import clicked_settings
from chapter3_helpers.explorers.core.panels import (
    Heads,
    Panel,
    escape,
    render,
    render_dimmed,
    render_error,
    render_waiting,
)
from chapter3_helpers.explorers.core.python_lines import Given, call_as_text
from chapter3_helpers.explorers.core.style import STYLE

Function = TypeVar("Function", bound=Callable)
FOLDER = importlib.resources.files(__package__)
SCRIPT = FOLDER.joinpath("hands.js").read_text("utf-8")
THE_END = object()  # where a control stays that was put at its last option
PRESENT, LEAVE = (say("Present"), "expand"), (say("Leave (Esc)"), "compress")
WIDGET = FOLDER.joinpath("hands_widget.js").read_text("utf-8")
PLAYER = {  # what a screen reader says of a player's buttons, by their icons
    "fa-play": say("Play"),
    "fa-pause": say("Pause"),
    "fa-stop": say("Stop"),
    "fa-retweet": say("Repeat"),
}


class OneOf(NamedTuple):
    """A state function for each value of one control."""

    control: str
    functions: Mapping[Any, Callable[..., Any]]


class Hands(anywidget.AnyWidget):
    """An invisible widget that listens beside the picture; ``hands.js`` says to what.

    The picture itself stays plain HTML, so that it is there wherever this script cannot run. A
    click is a message and no trait: clicking the same cell twice has to act twice.

    Args:
        name: what a screen reader calls the explorer.
        click: is called with the settings that a click changes, such as ``{"row": 2}``.
    """

    _esm = SCRIPT + WIDGET
    name = Unicode().tag(sync=True)
    player = Dict(PLAYER).tag(sync=True)

    def __init__(self, name: str, click: Callable[[Mapping[str, Any]], None]):
        super().__init__(name=name, layout={"display": "none"})
        self.on_msg(lambda _widget, settings, _buffers: click(settings))


class Explorer(widgets.VBox):
    """Controls on top, panels below; shown by standing on the last line of a cell.

    Args:
        name: what it is called, in words.
        controls: what can be changed.
        state: the function that computes, or one for each value of a control. It may raise
            ``ValueError``, whose message is then shown below the field.
        panels: the function that says what is drawn.
        settings: where to start, where that is not at the controls' defaults.
        own: a class or a function that a reader wrote and that ``state`` runs, if any. Whatever
            it raises is shown in the same way.
        given: how the lines of Python make an argument that ``state`` has already: its name, the
            function that makes it, and by name what that was given.

    Raises:
        TypeError: two controls have one name, a function or a click on what it draws names a
            setting that no control has, or a picture and its labels do not belong together.
        ValueError: as ``set``.
    """

    _was_closed = False

    @as_torch_starts()
    def __init__(
        self,
        name: str,
        controls: Sequence[Control],
        state: Callable[..., Any] | OneOf,
        panels: Callable[..., Sequence[Panel]],
        settings: Settings | None = None,
        own: Callable[..., Any] | None = None,
        given: Given | None = None,
    ):
        self.name, self.controls = name, tuple(controls)
        self._state, self._panels, self._own, self._given = state, panels, own, given or {}
        self._check_names()
        self._quiet = True  # while several controls change together, the view waits
        self._drawn = ""  # the last picture; it stays, dimmed, while a text can't be read
        self.pictures = ""  # what controls stand on
        defaults = {control.name: control.default for control in controls}
        self.widgets: dict[str, widgets.Widget] = {
            control.name: _built(control, defaults) for control in controls
        }
        self.reset_button = widgets.Button(
            description=say("Reset"), tooltip=say("Back to the settings at the start"), icon="undo"
        )
        self.code_button = widgets.ToggleButton(
            description="Python", tooltip=say("The lines that give these numbers"), icon="code"
        )
        presents = say("One picture, large enough for the back row; Escape leaves it")
        self.present_button = widgets.ToggleButton(
            description=PRESENT[0], tooltip=presents, icon=PRESENT[1]
        )
        self.said = widgets.HTML(layout=widgets.Layout(display="none"))  # why it cannot be shown
        self.view = widgets.HTML(layout=widgets.Layout(width="100%"))
        self.code_view = widgets.HTML(layout=widgets.Layout(width="100%", display="none"))
        self._chosen: dict[str, Any] = {}  # where a reader put each control, wherever it is now
        for control in self.controls:
            self._remember(control, control.default)
            widget = self.widgets[control.name]
            widget.observe(partial(self._changed, name=control.name), names="value")
        self.reset_button.on_click(self.reset)
        for button in (self.code_button, self.present_button):
            button.observe(self._changed, names="value")
        self.places = {c.name: c.place(self.widgets[c.name]) for c in self.controls}
        above, below = (
            [self.places[c.name] for c in self.controls if c.stands == where]
            for where in ("in the bar", "on a picture")
        )
        tools = widgets.HBox([self.reset_button, self.code_button, self.present_button])
        typed = [self.places[c.name] for c in self.controls if isinstance(c, TextField)]
        self._typed, self._tools = typed[-1] if typed else tools, tools
        self._bar = bar = widgets.Box([*above, tools])
        style = widgets.HTML(STYLE, layout={"display": "none"})
        hands = Hands(say("Explorer: {name}", name=self.name), self.click)
        self._put_said(self._typed)
        super().__init__(
            [style, bar, self.code_view, *below, self.view, hands],
            layout={"width": "100%", "overflow": "visible"},
        )
        named = {"explorer": self, "controls": bar, "tools": tools, "said": self.said}
        named |= {"presents": self.present_button, "view": self.view}
        for name, part in named.items():  # so that the style, or a test, finds them
            part.add_class(f"c3-{name}")
        for control in self.controls:
            place = self.places[control.name]
            place.add_class(f"c3-control-{control.name}")
            if not control.presented:
                place.add_class("c3-unpresented")
        try:
            self.set(**(settings or {}))
        except BaseException:  # also an interrupted training: nobody has it, so nobody can close it
            self.close()
            raise
        self._start = self.settings
        notebook.made(self)

    @property
    def settings(self) -> dict[str, Any]:
        """The values of all controls, by name."""
        return {name: widget.value for name, widget in self.widgets.items()}

    def close(self) -> None:
        """Close all the widgets that it is made of; it can be shown again."""
        if self.comm is not None:
            self._was_closed = True
            for widget in self._parts():
                widgets.Widget.close(widget)

    def __del__(self) -> None:
        if not sys.is_finalizing():  # at the end of the process everything goes anyway
            super().__del__()

    def open(self) -> None:
        """Open all the widgets that it is made of, where they were closed."""
        for widget in self._parts() if self._was_closed else [self]:
            vars(widget).pop("_repr_mimebundle_", None)  # which ``close`` takes away
            widgets.Widget.open(widget)
        self._was_closed = False

    @property
    def model_id(self) -> str:
        """What a page calls it by; whoever asks wants to show it, so a closed one opens."""
        if self.comm is None:
            self.open()
        return self.comm.comm_id

    def _parts(self) -> list[widgets.Widget]:
        """Return all widgets that it is made of, each behind those that it is made of itself."""
        found: dict[widgets.Widget, None] = {}

        def find(widget: widgets.Widget) -> None:
            for value in widget.trait_values().values():
                for part in value if isinstance(value, tuple) else (value,):
                    if isinstance(part, widgets.Widget) and part not in found:
                        find(part)
            found[widget] = None

        for widget in (*self.widgets.values(), *self.places.values(), self):
            find(widget)
        return list(found)

    @as_torch_starts()
    def state(self, settings: Settings) -> Any:
        """Compute what belongs to some settings."""
        return call(self._state_function(settings), settings)

    @as_torch_starts()
    def panels(self, settings: Settings) -> Sequence[Panel]:
        """Return what is drawn for some settings."""
        panels = call(self._panels, settings, self.state(settings))
        for panel in panels:
            self._check("a click", clicked_settings(panel.click or {}))
        return panels

    def _check_names(self) -> None:
        """Refuse two controls of one name, and functions that name a setting without a control."""
        names = [control.name for control in self.controls]
        for name in names:
            if names.count(name) > 1:
                raise TypeError(f"controls must have different names, got {name!r} twice")
        functions = [self._state]
        if isinstance(self._state, OneOf):
            self._check("OneOf", [self._state.control])
            functions = self._state.functions.values()
        for function in functions:
            self._check(called(function), parameters(function))
        self._check(called(self._panels), parameters(self._panels)[1:])
        for control in self.controls:
            functions = {"shown_if": control.shown_if}
            if isinstance(control, Listed):
                functions |= {"options": control.options, "returns_to": control.returns_to}
                self._check(f"returns_when of {control.name!r}", control.returns_when)
            for name, function in functions.items():
                if callable(function):
                    self._check(f"{name} of {control.name!r}", parameters(function))

    def _check(self, where: str, names: Iterable[str]) -> None:
        known = [control.name for control in self.controls]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise TypeError(
                f"{where} must name settings, which are {', '.join(known) or 'none'}, "
                f"got {', '.join(map(repr, unknown))}"
            )

    def code(self, settings: Settings) -> str:
        """Return what the Python button shows: the call that computes, and what it calls."""
        function = self._state_function(settings)
        source = inspect.getsource(getattr(function, "func", function))
        return f"{call_as_text(function, settings, self._given)}\n\n# What it does:\n\n{source}"

    def _state_function(self, settings: Settings) -> Callable[..., Any]:
        state = self._state
        return state.functions[settings[state.control]] if isinstance(state, OneOf) else state

    @as_torch_starts()
    def set(self, **values: Any) -> None:
        """Move several controls at once.

        Raises:
            ValueError: there is no such control, or it has no such value. Nothing has moved then.
        """
        self.move(**values)
        self._draw()

    @as_torch_starts()
    def move(self, **values: Any) -> None:
        """Move several controls as ``set`` does, and leave the picture as it is."""
        unknown = values.keys() - self.widgets.keys()
        if unknown:
            raise ValueError(
                f"settings must be among {', '.join(self.widgets)}, got {', '.join(unknown)}"
            )
        before = self.settings
        self._quiet = True
        try:
            for control in self.controls:  # in order: later options depend on earlier values
                if control.name not in values:
                    continue
                self._offer(control, self.settings)
                _put(control, self.widgets[control.name], values[control.name])
            self._settle({name for name in values if values[name] != before[name]}, values)
        except ValueError:
            for control in self.controls:
                self._offer(control, self.settings)
                self.widgets[control.name].value = before[control.name]
            raise
        finally:
            self._quiet = False

    def reset(self, _button: Any = None) -> None:
        """Put every control back to where it started."""
        self.set(**self._start)

    def click(self, values: Mapping[str, Any]) -> None:
        """Do what a click on the picture asks for.

        The picture that was clicked may be an older one: of what it offers and the controls do
        not, such as a token of a longer sentence, it is said that nothing has moved. What nothing
        but a click sets is taken away by a click that sets all of it once more.
        """
        settings = self.settings
        clicked = {c.name: settings[c.name] for c in self.controls if isinstance(c, Clicked)}
        if values == {name: value for name, value in clicked.items() if value is not None}:
            values = dict.fromkeys(values)
        try:
            self.set(**values)
        except ValueError as error:
            self._put_said(self._tools)
            self._say(render_error(say("This click moves nothing: {error}.", error=error)))

    @as_torch_starts()
    def _changed(self, change: Any, name: str = "") -> None:
        """Follow a reader, who has moved one control or pressed a button below them."""
        if self._quiet:
            return
        self._quiet = True
        try:
            self._settle({name}, {name: change.new} if name else {})
        finally:
            self._quiet = False
        self._draw()

    def _settle(self, changed: Collection[str], chosen: Settings) -> None:
        """Let every control offer what belongs to the present settings.

        Args:
            changed: the settings that have another value than before.
            chosen: where a reader has just put controls. Of the others, what returns when one of
                the changed settings is chosen anew does so.
        """
        settings = self.settings
        for control in self.controls:
            name, widget = control.name, self.widgets[control.name]
            if isinstance(control, Listed):
                if name in chosen:
                    self._remember(control, chosen[name])
                elif {*changed} & {*control.returns_when}:
                    self._chosen[name] = call(control.returns_to, settings)
                self._offer(control, settings)
            settings[name] = widget.value
            layout = self.places[name].layout
            display = None if control.is_shown(settings) else "none"
            if layout.display != display:
                layout.display = display

    def _remember(self, control: Control, value: Any) -> None:
        """Remember where a reader put a control, or that it was its end and is to stay there."""
        widget = self.widgets[control.name]
        ends = isinstance(control, Listed) and control.to_the_end
        ends = ends and widget.index == len(widget.options) - 1
        self._chosen[control.name] = THE_END if ends else value

    def _offer(self, control: Control, settings: Settings) -> None:
        """Give a control the options that fit the other settings.

        If the chosen value disappears, the nearest lower one is used, or the first where values
        are no numbers; it is restored when it returns. What was put at its last option, and is to
        stay at the end, moves to the new last one: while somebody types a sentence, all of it
        stays read. Where a text cannot be read, the options stay as they are.
        """
        options = control.offered(settings) if isinstance(control, Listed) else None
        if options is None:
            return
        widget, old = self.widgets[control.name], self._chosen[control.name]
        values = [option[1] if isinstance(option, tuple) else option for option in options]
        if isinstance(control, Clicked) and control.default is None:
            new = widget.value if widget.value in values else None
        elif old is THE_END:
            new = values[-1]
        else:
            new = old if old in values else _nearest_lower(old, values)
        if options != list(widget.options):
            widget.index = 0
            widget.options = options
        widget.value = new

    def _draw(self) -> None:
        """Show what belongs to the present settings."""
        settings, present = self.settings, self.present_button.value
        # before the explorer is on the page, the cell shows what is printed
        wait = _Waiting(self.view, self._drawn) if self._drawn else sys.stdout
        try:
            with contextlib.redirect_stdout(wait):
                panels = self.panels(settings)
            self._drawn = render(panels, present)
            shown, code = self._drawn, self.code(settings) if self.code_button.value else ""
            said = ""
            self._draw_pictures(panels)
        except Exception as error:
            told: Exception | str = error
            below = self._typed
            if not isinstance(error, ValueError):
                if self._own is None:
                    raise
                told = f"{self._own.__name__}: {type(error).__name__}: {error}"
                if line := _line(error, self._own):
                    told = say("{error} (in the line: {line})", error=told, line=line)
                if "NoneType" in told:
                    returns = say("Something returned nothing: is there a return at the end of it?")
                    told = say("{error}. {advice}", error=told, advice=returns)
                below = self._tools
            said, shown, code = render_error(told), render_dimmed(self._drawn), ""
            self._put_said(below)
        (self.add_class if present else self.remove_class)("c3-present")
        button = self.present_button
        button.description, button.icon = LEAVE if present else PRESENT
        self.view.value = shown
        self._say(said)
        self.code_view.value = f'<div class="c3"><pre><code>{escape(code)}</code></pre></div>'
        self.code_view.layout.display = None if code else "none"

    def _put_said(self, above: widgets.Widget) -> None:
        """Put what is said below what is to blame: what is typed, or all controls."""
        inside = [part for part in self._bar.children if part is not self.said]
        inside.insert(inside.index(above) + 1, self.said)
        if self._bar.children != tuple(inside):  # or the keyboard would lose its place
            self._bar.children = inside

    def _say(self, said: str) -> None:
        """Show some HTML where it stands, or nothing."""
        self.said.value = said
        self.said.layout.display = None if said else "none"

    def _draw_pictures(self, panels: Sequence[Panel]) -> None:
        """Draw what the controls that stand on a picture stand on."""
        for heads in (panel for panel in panels if isinstance(panel, Heads)):
            layers = heads.layers()
            self.pictures = "".join(layers)
            for control in self.controls:
                if control.stands == "on a picture":
                    for n, layer in enumerate(layers):
                        self.places[control.name].children[n].value = layer

    def __repr__(self) -> str:
        return say(
            "Explorer: {name}. Run this cell in JupyterLab to move its controls.", name=self.name
        )


class _Waiting(io.TextIOBase):
    """Shows what is printed, the progress bar of a training, above a picture that has to wait."""

    encoding = "utf-8"  # or the bar is drawn with number signs

    def __init__(self, view: widgets.HTML, drawn: str):
        self.view, self.drawn = view, drawn

    def write(self, text: str) -> int:
        if text.strip():
            self.view.value = render_waiting(text.strip(), self.drawn)
        return len(text)


def _built(control: Control, defaults: Settings) -> widgets.Widget:
    """Make what a control is on the page, at its default."""
    try:
        widget = control.build(defaults)
    except TraitError:  # none of its options is the default
        raise _not_offered(control, control.default) from None
    _put(control, widget, control.default)
    return widget


def _put(control: Control, widget: widgets.Widget, value: Any) -> None:
    """Move a control, or refuse a value that it does not offer."""
    with contextlib.suppress(TraitError):  # a slider moves to where it stops instead
        widget.value = value
    if widget.value != value:
        raise _not_offered(control, value)


def _not_offered(control: Control, value: Any) -> ValueError:
    must = say(
        "{name} must be a value that its control offers, got {value}",
        name=control.name,
        value=repr(value),
    )
    return ValueError(must)


def _line(error: Exception, own: Callable[..., Any]) -> str:
    """Return the last line of a reader's code that an error came through, to follow its message."""
    functions = vars(own).values() if isinstance(own, type) else [own]
    files = {f.__code__.co_filename for f in functions if inspect.isfunction(f)}
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.line for frame in frames if frame.filename in files and frame.line]
    return lines[-1] if lines else ""


def _nearest_lower(old: Any, values: Sequence[Any]) -> Any:
    """Return the largest of some values that is below another; the first where there is none, as
    where they are names, which have no order."""
    lower = [v for v in values if isinstance(v, Real) and isinstance(old, Real) and v < old]
    return max(lower, default=values[0])


def called(function: Callable[..., Any]) -> str:
    """Return the name of a function, or of that of a partial."""
    return getattr(function, "func", function).__name__


def explorer_function(
    name: str,
    title: str,
    controls: Sequence[Control],
    state: Callable[..., Any] | OneOf,
    panels: Callable[..., Sequence[Panel]],
) -> Callable[..., Explorer]:
    """Make the function that a notebook calls: settings to start from -> ``Explorer``.

    Its help and its signature name every setting, as the controls do.

    Args:
        name: of the function.
        title: what the explorer is called, in words.
        controls, state, panels: as for ``Explorer``.
    """

    def explorer(**settings: Any) -> Explorer:
        return Explorer(title, controls, state, panels, settings)

    explorer.__module__ = panels.__module__
    explorer.__name__ = explorer.__qualname__ = name
    return described(controls)(explorer)


def described(controls: Sequence[Control]) -> Callable[[Function], Function]:
    """Return a decorator that names every setting in a function's signature and help; the help
    begins as that of the function's module."""
    listed = "\n".join(f"    {control.name}: {control.tooltip}." for control in controls)
    keyword = inspect.Parameter.KEYWORD_ONLY
    settings = [inspect.Parameter(c.name, keyword, default=c.default) for c in controls]

    def describe(function: Function) -> Function:
        signature = inspect.signature(function)
        *given, _ = signature.parameters.values()  # all but **settings
        function.__signature__ = signature.replace(parameters=[*given, *settings])
        function.__doc__ = (
            f"{inspect.getdoc(sys.modules[function.__module__])}\n\nArgs:\n{listed}\n\n"
            "Returns:\n    A widget, to be the last line of a cell in JupyterLab.\n\n"
            "Raises:\n    ValueError: there is no such setting, or it has no such value.\n"
        )
        return function

    return describe
