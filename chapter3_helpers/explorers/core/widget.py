"""Controls on top, where they stay, panels below: the widget that every explorer is.

What is shown is a plain function of the settings; this module only wires it to real ipywidgets
controls, which bring labels, tooltips and the keyboard with them. Settings that would not fit
together can't be reached: a control's options may depend on the other settings, and a control
that has no meaning for them is not shown.
"""

import contextlib
import inspect
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import ipywidgets as widgets
from traitlets import TraitError

from chapter3_helpers.explorers.core.controls import (
    Control,
    Picked,
    Settings,
    Steps,
    Thumbnails,
)
from chapter3_helpers.explorers.core.hands import Hands
from chapter3_helpers.explorers.core.panels import (
    Heads,
    Panel,
    escape,
    render,
    render_error,
    render_waiting,
)
from chapter3_helpers.explorers.core.style import STYLE

Function = TypeVar("Function", bound=Callable)


class Explorer(widgets.VBox):
    """Controls on top, panels below; shown by standing on the last line of a cell.

    Args:
        name: what it is called, in words.
        controls: what can be changed.
        panels: settings -> what is shown. It may raise ``ValueError``, whose message is then
            shown in place of the panels.
        lines: settings -> a few lines of Python that give the same numbers without the widget.
        settings: where to start, where that is not at the controls' defaults.

    Raises:
        ValueError: as ``set``.
    """

    def __init__(
        self,
        name: str,
        controls: Sequence[Control],
        panels: Callable[[Settings], Sequence[Panel]],
        lines: Callable[[Settings], Sequence[str]],
        settings: Settings | None = None,
    ):
        self.name, self.controls = name, tuple(controls)
        self.panels, self.lines = panels, lines
        self._quiet = True  # while several controls change together, the view waits
        self._drawn = ""  # the last picture; it stays, dimmed, while a text can't be read
        defaults = {control.name: control.default for control in controls}
        self.widgets: dict[str, widgets.Widget] = {
            control.name: control.build(defaults) for control in controls
        }
        self.reset_button = widgets.Button(
            description="Reset", tooltip="Back to the settings at the start", icon="undo"
        )
        self.code_button = widgets.ToggleButton(
            value=False,
            description="Python",
            tooltip="The lines that give these numbers",
            icon="code",
        )
        self.present_button = widgets.ToggleButton(
            value=False,
            description="Present",
            tooltip="One picture, large enough for the back row; Escape leaves it",
            icon="expand",
        )
        self.view = widgets.HTML(layout=widgets.Layout(width="100%"))
        self.code_view = widgets.HTML(layout=widgets.Layout(width="100%", display="none"))
        self._chosen = dict(defaults)  # where a reader put each control, wherever it is now
        for name, widget in self.widgets.items():
            widget.observe(partial(self._changed, name=name), names="value")
        self.reset_button.on_click(self.reset)
        for button in (self.code_button, self.present_button):
            button.observe(self._changed, names="value")
        self.places = {c.name: c.place(self.widgets[c.name]) for c in self.controls}
        below = [self.places[c.name] for c in self.controls if isinstance(c, Thumbnails)]
        above = [
            self.places[c.name] for c in self.controls if not isinstance(c, Thumbnails | Picked)
        ]
        tools = widgets.HBox([self.reset_button, self.code_button, self.present_button])
        bar = widgets.Box([*above, tools])
        hidden = widgets.Layout(display="none")
        super().__init__(
            [
                *(widgets.HTML(STYLE, layout=hidden), bar, self.code_view, *below, self.view),
                Hands(self.pick),
            ],
            layout=widgets.Layout(width="100%", overflow="visible"),
        )
        bar.add_class("c3-controls")
        tools.add_class("c3-tools")
        self.present_button.add_class("c3-presents")
        # so that a page's own style, or a test, can find an explorer and its controls
        self.add_class("c3-explorer")
        self.view.add_class("c3-view")
        for control in self.controls:
            place = self.places[control.name]
            place.add_class(f"c3-control-{control.name}")
            if not control.presented:
                place.add_class("c3-unpresented")
        self.set(**(settings or {}))
        self._start = self.settings

    @property
    def settings(self) -> dict[str, Any]:
        """The values of all controls, by name."""
        return {name: widget.value for name, widget in self.widgets.items()}

    def code(self, settings: Settings) -> str:
        """Return what the Python button shows for some settings."""
        return "\n".join(self.lines(settings))

    def set(self, **values: Any) -> None:
        """Move several controls at once.

        Raises:
            ValueError: there is no such control, or it has no such value. Nothing has moved then.
        """
        self.move(**values)
        self._draw()

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
                if control.name in values:
                    self._offer(control)
                    self._move(control, values[control.name])
        except ValueError:
            for control in self.controls:
                self._offer(control)
                self.widgets[control.name].value = before[control.name]
            raise
        finally:
            self._quiet = False
        self._chosen |= values
        self._settle()

    def reset(self, _button: Any = None) -> None:
        """Put every control back to where it started."""
        self.set(**self._start)

    def pick(self, values: Mapping[str, Any]) -> None:
        """Do what a click on the picture asks for.

        The picture that was clicked may be an older one: what it offers and the controls do not,
        such as a token of a longer sentence, is passed over. What nothing but a click can pick is
        taken away by a click that picks all of it once more.
        """
        settings = self.settings
        picked = {c.name: settings[c.name] for c in self.controls if isinstance(c, Picked)}
        if values == {name: value for name, value in picked.items() if value is not None}:
            values = dict.fromkeys(values)
        with contextlib.suppress(ValueError):
            self.set(**values)

    def _move(self, control: Control, value: Any) -> None:
        """Move one control, and refuse what a reader could not choose there."""
        widget = self.widgets[control.name]
        with contextlib.suppress(TraitError):  # a slider moves to its end instead: see below
            widget.value = value
        if widget.value != value:
            raise ValueError(
                f"{control.name} must be a value that its control offers, got {value!r}"
            )

    def _changed(self, change: Any, name: str = "") -> None:
        if not self._quiet:
            self._chosen |= {name: change.new} if name else {}
            self._settle()
            self._draw()

    def _offer(self, control: Control) -> None:
        """Give a control the options that fit the other settings, and the value that was chosen, or
        the nearest below: while a sentence is typed anew its fifth token is gone, and comes back.

        A control with a play button that stood at its last option moves to the new last one: while
        somebody types a sentence, all of it stays read.
        """
        if not isinstance(control, Steps):
            return
        widget = self.widgets[control.name]
        options = control.offered(self.settings)
        if options == list(widget.options):
            return
        values = [option[1] if isinstance(option, tuple) else option for option in options]
        old = self._chosen[control.name]
        if isinstance(control, Picked):
            new = widget.value if widget.value in values else None
        else:
            new = old if old in values else max((v for v in values if v < old), default=values[0])
        if control.play and widget.index == len(widget.options) - 1:
            new = values[-1]
        widget.index = 0
        widget.options = options
        widget.value = new

    def _settle(self) -> None:
        """Let every control offer what belongs to the present settings."""
        self._quiet = True
        try:
            for control in self.controls:
                self._offer(control)
                layout = self.places[control.name].layout
                display = None if control.enabled(self.settings) else "none"
                if layout.display != display:
                    layout.display = display
        finally:
            self._quiet = False

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
            self._draw_thumbnails(panels)
        except ValueError as error:
            shown, code = render_error(str(error), self._drawn), ""
        (self.add_class if present else self.remove_class)("c3-present")
        self.view.value = shown
        self.code_view.value = f'<div class="c3"><pre><code>{escape(code)}</code></pre></div>'
        self.code_view.layout.display = None if code else "none"

    def _draw_thumbnails(self, panels: Sequence[Panel]) -> None:
        """Draw what lies under the buttons of a ``Thumbnails`` control."""
        heads = next((panel for panel in panels if isinstance(panel, Heads)), None)
        for control in self.controls:
            if heads and isinstance(control, Thumbnails):
                self.places[control.name].children[0].value = heads.html()

    def __repr__(self) -> str:
        return f"Explorer: {self.name}. Run this cell in JupyterLab to move its controls."


class _Waiting(io.TextIOBase):
    """Shows what is printed, the progress bar of a training, above a picture that has to wait."""

    encoding = "utf-8"  # or the bar is drawn with number signs

    def __init__(self, view: widgets.HTML, drawn: str):
        self.view, self.drawn = view, drawn

    def write(self, text: str) -> int:
        if text.strip():
            self.view.value = render_waiting(text.strip(), self.drawn)
        return len(text)


def explorer_function(
    name: str,
    controls: Sequence[Control],
    panels: Callable[[Settings], Sequence[Panel]],
    lines: Callable[[Settings], Sequence[str]],
) -> Callable[..., Explorer]:
    """Make the function that a notebook calls: settings to start from -> ``Explorer``.

    Its help and its signature name every setting, as the controls do. The arguments are those of
    ``Explorer``.
    """

    def explorer(**settings: Any) -> Explorer:
        return Explorer(name, controls, panels, lines, settings)

    explorer.__module__ = panels.__module__
    explorer.__name__ = explorer.__qualname__ = panels.__name__.replace("_panels", "_explorer")
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
