"""Move an explorer's controls on the page, and read what it then shows."""

import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, expect

from chapter3_helpers.explorers.core.controls import (
    Clicked,
    Control,
    Listed,
    Seed,
    Slider,
    TextField,
    call,
)
from chapter3_helpers.explorers.core.panels import render, render_error
from chapter3_helpers.explorers.core.widget import Explorer

# The text of everything that carries a word or a number, and the classes that carry a colour.
READ = """root => Array.from(root.querySelectorAll('td, th, caption, p, figcaption, text'))
    .filter(e => !e.closest('.c3-stale'))
    .map(e => (e.className.baseVal ?? e.className) + '|' + e.textContent)"""
PARSE = f"html => ({READ})(new DOMParser().parseFromString(html, 'text/html').body)"
# What stands on the page at one moment: the controls and, read in the same breath, what is shown.
SNAPSHOT = f"""(root, names) => {{
    const controls = names.map(name => {{
        const place = root.querySelector('.c3-control-' + name);
        const input = place.querySelector('input'), list = place.querySelector('select');
        if (input?.type === 'checkbox') return input.checked ? 'on' : 'off';
        return list?.options[list.selectedIndex]?.text
            ?? place.querySelector('label:has(:checked)')?.textContent
            ?? place.querySelector('.widget-readout')?.innerText ?? input?.value ?? '';
    }});
    const places = [...root.querySelectorAll('.c3-said, .c3-view')];
    return [controls, places.flatMap(place => ({READ})(place))];
}}"""


def value_shown(control: Control, shown: str, settings: dict[str, Any]) -> Any:
    """Return the value of a control that a page means by what it shows.

    Raises:
        ValueError: none of its values, beside these other settings.
    """
    if isinstance(control, TextField | Seed):
        return type(control.default)(shown)
    if isinstance(control, Slider):
        return type(control.default)(shown.replace(",", "").replace("−", "-"))
    if isinstance(control, Listed) and control.offered(settings) is None:
        number, *_ = shown.split()  # before the name of a token on its button
        return type(control.default)(number)
    choices = control.choices(settings)
    for label, value in choices:
        if label.split() == shown.replace("\xa0", " ").split():
            return value
    raise ValueError(f"{control.name} must be one of {choices}, the page shows {shown!r}")


class PageExplorer:
    """One explorer on the page, beside the Python object that says what it should show."""

    def __init__(self, page: Page, root: Locator, model: Explorer):
        self.page, self.root, self.model = page, root, model
        model.reset()
        self.started = model.settings
        self.clicked: dict[str, Any] = {}  # what no control shows, as a test has clicked it
        self.chosen: dict[str, Any] = {}  # where controls stood when it was last read
        self.timeout = 20.0  # seconds until what is not shown counts as wrong
        self._expected: dict[str, list[str]] = {}

    def control(self, control: Control) -> Locator:
        return self.root.locator(f".c3-control-{control.name}")

    def snapshot(self) -> tuple[dict[str, Any], list[str]]:
        """Read the value of every control, and what the explorer shows.

        Raises:
            ValueError: a value does not go with the other settings, as it may be for a moment.
        """
        seen = [control for control in self.model.controls if not isinstance(control, Clicked)]
        found, shown = self.root.evaluate(SNAPSHOT, [control.name for control in seen])
        settings = self.started | self.clicked
        for control, label in zip(seen, found, strict=True):
            settings[control.name] = value_shown(control, label, settings)
        changed = {name for name in self.chosen if self.chosen[name] != settings[name]}
        self.chosen = {control.name: settings[control.name] for control in seen}
        for control in self.model.controls:
            if isinstance(control, Clicked) and changed & {*control.returns_when}:
                self.clicked[control.name] = call(control.returns_to, settings)
                settings[control.name] = self.clicked[control.name]
        return settings, shown

    def expected(self, settings: dict[str, Any]) -> list[str]:
        """Compute what it should show for these settings; what is dimmed is left out."""
        key = repr(settings)
        if key not in self._expected:
            try:
                content = render(self.model.panels(settings))
            except ValueError as error:
                content = render_error(error)
            self._expected[key] = self.page.evaluate(PARSE, content)
        return self._expected[key]

    def settle(
        self, what: str = "", wanted: Callable[[dict[str, Any]], bool] = lambda settings: True
    ) -> None:
        """Wait until the explorer shows what its controls say; fail with the difference.

        Args:
            what: what should happen, in words.
            wanted: whether it has, by where the controls stand.
        """
        deadline = time.monotonic() + self.timeout
        while True:
            late = time.monotonic() > deadline
            try:
                settings, shown = self.snapshot()
            except ValueError:
                if late:
                    raise
            else:
                arrived = wanted(settings)
                if arrived and shown == self.expected(settings):
                    return
                if late:
                    break
            self.page.wait_for_timeout(30)
        assert arrived, f"{self.model.name}: {what}, but it is at {settings}"
        wrong = set(shown) ^ set(self.expected(settings))
        raise AssertionError(f"{self.model.name} at {settings} shows or lacks {sorted(wrong)[:9]}")

    def settle_at(self, settings: dict[str, Any]) -> None:
        """Wait until the controls stand at these settings, and what is shown goes with them."""
        self.settle(f"it should be at {settings}", lambda found: found == settings)

    def settle_code(self) -> None:
        """Wait until the lines of Python are those for what the controls say."""
        settings, _ = self.snapshot()
        try:
            self.model.panels(settings)
            code = self.model.code(settings)
        except ValueError:  # a sentence is shown instead
            code = ""
        expect(self.root.locator(".c3 pre")).to_have_js_property("textContent", code)

    def reset(self) -> None:
        self.press("Reset")
        self.chosen, self.clicked = {}, {}
        self.settle_at(self.model.settings)

    def drive(self, control: Control, move: Callable[[Control], None]) -> None:
        """Move a control in one of the two ways below, and see that what is shown follows."""
        before, _ = self.snapshot()
        move(control)
        what = f"{move.__name__} should move {control.name}"
        self.settle(what, lambda found: found[control.name] != before[control.name])

    def move_by_keyboard(self, control: Control) -> None:
        place = self.control(control)
        match control.kind:
            case "text":
                place.locator("input").focus()
                self.page.keyboard.press("End")
                self.page.keyboard.type(" and more")
                self.page.keyboard.press("Enter")
            case "switch":
                place.locator("input").focus()
                self.page.keyboard.press("Space")
            case "list":
                place.locator("select").press("ArrowUp" if self._at_end(place) else "ArrowDown")
            case "number":
                place.locator("input").press("ArrowUp")
            case "buttons" | "thumbnails":
                place.locator("input:not(:checked)").last.press("Space")
            case "slider":
                handle = place.locator(".noUi-handle")
                handle.focus()
                at_end = handle.evaluate("e => e.ariaValueNow == e.ariaValueMax")
                for key in ("ArrowLeft", "ArrowDown") if at_end else ("ArrowRight", "ArrowUp"):
                    handle.press(key)

    def move_by_mouse(self, control: Control) -> None:
        place = self.control(control)
        match control.kind:
            case "text":
                place.locator("input").click()
                self.page.keyboard.type("x")
                self.page.keyboard.press("Enter")
            case "switch":
                place.locator("input").click()
            case "list":
                key = "Home" if self._at_end(place) else "End"
                place.locator("select").click()
                self.page.wait_for_timeout(200)  # while it opens, out of reach of the page's mouse
                self.page.keyboard.press(key)
                self.page.keyboard.press("Enter")
                self.page.wait_for_timeout(200)  # while it closes
            case "number":
                place.get_by_role("button", name="Draw again").click()
            case "buttons" | "thumbnails":
                place.locator("input:not(:checked)").first.click()
            case "slider":
                place.scroll_into_view_if_needed()
                handle = place.locator(".noUi-handle").bounding_box()
                track = place.locator(".noUi-base").bounding_box()
                middle = handle["y"] + handle["height"] / 2
                start = handle["x"] + handle["width"] / 2
                in_right_half = start > track["x"] + 0.6 * track["width"]
                self.page.mouse.move(start, middle)
                self.page.mouse.down()
                for share in (0.7, 0.2) if in_right_half else (0.3, 0.8):
                    self.page.mouse.move(track["x"] + share * track["width"], middle, steps=3)
                self.page.mouse.up()

    def _at_end(self, place: Locator) -> bool:
        at_end = "list => list.selectedIndex === list.options.length - 1"
        return place.locator("select").evaluate(at_end)

    def press(self, label: str) -> None:
        self.root.get_by_role("button", name=label).click()


def luminance(colour: str) -> float:
    """Return the relative luminance of ``rgb(...)`` or ``rgba(...)``, roughly."""
    red, green, blue = (
        float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
