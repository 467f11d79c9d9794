"""Move an explorer's controls on the page, and read what it then shows."""

import time
from typing import Any

from playwright.sync_api import Locator, Page

from chapter3_helpers.explorers.panels import render, render_error
from chapter3_helpers.explorers.widget import Control, Explorer, Pick, Steps, Switch, Words

# The text of everything that carries a word or a number, and the classes that carry a colour.
READ = """root => Array.from(root.querySelectorAll('td, th, caption, h4, p, figcaption, text'))
    .map(e => (e.className.baseVal ?? e.className) + '|' + e.textContent)"""
PARSE = f"html => ({READ})(new DOMParser().parseFromString(html, 'text/html').body)"


class NotOfferedError(Exception):
    """The page shows a value that does not go with its other settings, as it may for a moment."""


class PageExplorer:
    """One explorer on the page, beside the Python object that says what it should show."""

    def __init__(self, page: Page, root: Locator, model: Explorer):
        self.page, self.root, self.model = page, root, model

    def control(self, control: Control) -> Locator:
        return self.root.locator(f".c3-control-{control.name}")

    def read_settings(self) -> dict[str, Any]:
        """Read the value of every control from the page."""
        settings = {control.name: control.default for control in self.model.spec}
        for control in self.model.spec:
            settings[control.name] = self._read(control, settings)
        return settings

    def _read(self, control: Control, settings: dict[str, Any]) -> Any:
        place = self.control(control)
        if isinstance(control, Words):
            return place.locator("input").input_value()
        if isinstance(control, Switch):
            return place.locator("input").is_checked()
        if isinstance(control, Pick):
            label = place.locator("select").evaluate("e => e.options[e.selectedIndex].text")
            return _by_label(control.options, label)
        text = place.locator(".widget-readout").inner_text()
        if isinstance(control, Steps):
            return _by_label(control.options(settings), text)
        return type(control.default)(text.replace(",", ""))

    def shown(self) -> list[str]:
        """Read what the explorer shows."""
        return self.root.locator(".c3:not(:has(pre))").first.evaluate(READ)

    def expected(self) -> list[str]:
        """Compute what it should show for the settings that stand on the page."""
        try:
            content = render(self.model.panels(self.read_settings()))
        except ValueError as error:
            content = render_error(str(error))
        return self.page.evaluate(PARSE, content)

    def settle(self, timeout: float = 10.0) -> None:
        """Wait until the explorer shows what it should; fail with the difference if it won't."""
        deadline = time.monotonic() + timeout
        while True:
            late = time.monotonic() > deadline
            try:
                shown, expected = self.shown(), self.expected()
            except NotOfferedError:
                if late:
                    raise
            else:
                if shown == expected:
                    return
                if late:
                    break
            self.page.wait_for_timeout(50)
        pairs = zip(shown, expected, strict=False)
        differences = [f"{old} != {new}" for old, new in pairs if old != new][:5]
        raise AssertionError(
            f"{self.model.name} at {self.read_settings()} shows {len(shown)} texts, expected are "
            f"{len(expected)}; first differences: {differences}"
        )

    def move_by_keyboard(self, control: Control) -> None:
        place = self.control(control)
        if isinstance(control, Words):
            place.locator("input").focus()
            self.page.keyboard.press("End")
            self.page.keyboard.type(" and more")
        elif isinstance(control, Switch):
            place.locator("input").focus()
            self.page.keyboard.press("Space")
        elif isinstance(control, Pick):
            place.locator("select").focus()
            self.page.keyboard.press("ArrowDown")
        else:
            handle = place.locator(".noUi-handle")
            handle.focus()
            for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft"):
                handle.press(key)

    def move_by_mouse(self, control: Control) -> None:
        place = self.control(control)
        if isinstance(control, Words):
            place.locator("input").click()
            self.page.keyboard.type("x")
        elif isinstance(control, Switch):
            place.locator("input").click()
        elif isinstance(control, Pick):
            count = place.locator("option").count()
            place.locator("select").select_option(index=count - 1)
        else:
            handle = place.locator(".noUi-handle").bounding_box()
            track = place.locator(".noUi-base").bounding_box()
            middle = handle["y"] + handle["height"] / 2
            self.page.mouse.move(handle["x"] + handle["width"] / 2, middle)
            self.page.mouse.down()
            self.page.mouse.move(track["x"] + 0.3 * track["width"], middle, steps=3)
            self.page.mouse.move(track["x"] + 0.7 * track["width"], middle, steps=3)
            self.page.mouse.up()

    def is_enabled(self, control: Control) -> bool:
        return control.enabled(self.read_settings())

    def type_text(self, control: Words, text: str) -> None:
        self.control(control).locator("input").fill(text)

    def press(self, label: str) -> None:
        self.root.get_by_role("button", name=label).click()

    def code(self) -> str:
        return self.root.locator(".c3 pre").inner_text()


def _by_label(options: Any, label: str) -> Any:
    for option in options:
        name, value = option if isinstance(option, tuple) else (option, option)
        if str(name).split() == label.replace("\xa0", " ").split():
            return value
    raise NotOfferedError(f"the page shows {label!r}, which is none of {list(options)}")
