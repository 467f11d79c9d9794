"""Every notebook in a real JupyterLab: it runs, and its explorers follow keyboard and mouse."""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from chapter3_helpers import explorers
from chapter3_helpers.explorers.controls import Words
from tests.ui.driver import PageExplorer
from tests.ui.lab import NOTEBOOKS, choose_theme, errors, open_notebook, run_all

PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
PICTURES = Path(__file__).parents[2] / "ui-screenshots"
MARKUP = '<b id="typed">bold</b> & "quoted"'


def explorer_names(path: Path) -> list[str]:
    """Return the explorers that a notebook shows, in order."""
    cells = nbformat.read(path, as_version=4).cells
    lines = [cell.source.splitlines()[-1:] for cell in cells if cell.cell_type == "code"]
    calls = [line[0].split("(")[0] for line in lines if line]
    return [name for name in calls if name in explorers.__all__]


def take_pictures(page, name: str, theme: str) -> None:
    """Take the explorers of a page at two widths, and the top of the notebook."""
    PICTURES.mkdir(exist_ok=True)
    for width in (900, 1600):
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(300)
        for i, root in enumerate(page.locator(".c3-explorer").all()):
            root.scroll_into_view_if_needed()
            root.screenshot(path=PICTURES / f"{name}-{i}-{theme}-{width}.png")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_notebook_runs_and_its_explorers_follow(browser, server, path):
    page = open_notebook(browser, server, path.name)
    try:
        run_all(page)
        assert errors(page) == []
        names = explorer_names(path)
        roots = page.locator(".c3-explorer")
        assert roots.count() == len(names) >= 1
        for i, name in enumerate(names):
            drive(PageExplorer(page, roots.nth(i), getattr(explorers, name)()))
        assert errors(page) == []
        take_pictures(page, path.stem, "light")
        choose_theme(page, "dark")
        check_dark_theme(page)
        take_pictures(page, path.stem, "dark")
        choose_theme(page, "light")
    finally:
        page.close()


STUCK = """
from chapter3_helpers.explorers.controls import Slider
from chapter3_helpers.explorers.panels import Note
from chapter3_helpers.explorers.widget import Explorer

def build(enabled):
    return Explorer(
        "one slider that moves and one that may not",
        [
            Slider("a", "a", 1, "This one moves", low=0, high=9),
            Slider("b", "b", 1, "This one may not", enabled, low=0, high=9),
        ],
        lambda settings: [Note(f"{settings['a']} and {settings['b']}")],
        lambda settings: [f"a, b = {settings['a']}, {settings['b']}"],
    )
"""


@pytest.mark.parametrize("stuck", [False, True])
def test_a_control_that_does_not_move_is_noticed(browser, server, folder, stuck):
    """What drives the explorers says so, rather than pass over the control."""
    source = f"{STUCK}\nbuild(lambda settings: {not stuck})"
    notebook = new_notebook(cells=[new_code_cell(source)])
    nbformat.write(notebook, folder / f"stuck-{stuck}.ipynb")
    space: dict = {}
    exec(STUCK, space)
    page = open_notebook(browser, server, f"stuck-{stuck}.ipynb")
    try:
        run_all(page)
        explorer = PageExplorer(page, page.locator(".c3-explorer"), space["build"](lambda _: True))
        if stuck:
            with pytest.raises(AssertionError, match="b: move_by_keyboard left it at 1"):
                drive(explorer)
        else:
            drive(explorer)
    finally:
        page.close()


def drive(explorer: PageExplorer) -> None:
    """Move every control by keyboard and by mouse; what is shown must follow each time."""
    explorer.root.scroll_into_view_if_needed()
    explorer.wait_for(explorer.model.settings)
    start = explorer.shown()
    for control in explorer.model.spec:
        for move in (explorer.move_by_keyboard, explorer.move_by_mouse):
            explorer.enable(control)
            before = explorer.read_settings()[control.name]
            move(control)
            explorer.settle()
            after = explorer.read_settings()[control.name]
            assert after != before, f"{control.name}: {move.__name__} left it at {before!r}"
    for control in explorer.model.spec:
        if isinstance(control, Words):
            check_typed_text(explorer, control)
    explorer.press("Python")
    explorer.reset()
    explorer.page.wait_for_timeout(300)
    assert explorer.shown() == start
    assert explorer.code().strip() == explorer.model.code(explorer.model.settings).strip()
    explorer.press("Python")


def check_typed_text(explorer: PageExplorer, control: Words) -> None:
    """Markup that a reader types is shown as text; an empty or endless text gets a sentence."""
    for text in (MARKUP, "", "word " * 200, "我想吃酸菜鱼"):
        explorer.type_text(control, text)
        explorer.settle()
        assert explorer.root.locator("#typed").count() == 0
    explorer.type_text(control, control.default)
    explorer.settle()


def check_dark_theme(page) -> None:
    """The explorers are drawn in the theme's own ink, legible against its ground."""
    ink, ground = page.locator(".c3").first.evaluate(
        "e => [getComputedStyle(e).color, "
        "getComputedStyle(document.querySelector('.jp-Notebook')).backgroundColor]"
    )
    assert luminance(ink) - luminance(ground) > 0.5


def luminance(colour: str) -> float:
    """Return the relative luminance of ``rgb(...)`` or ``rgba(...)``, roughly."""
    red, green, blue = (
        float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
