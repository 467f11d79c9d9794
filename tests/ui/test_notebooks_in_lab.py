"""A real JupyterLab: every explorer opens, and a notebook runs as a whole.

What a notebook prints is nbval's to compare. Here the cells that end in an explorer, as the
notebooks have them, stand alone in one notebook with one kernel.
"""

import json
import random
import re
from functools import cache
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

from chapter3_helpers import explorers
from chapter3_helpers.explorers.core.controls import Clicked
from chapter3_helpers.explorers.core.widget import Explorer
from chapter3_helpers.model_files import model_path
from tests.ui.driver import PARSE, READ, PageExplorer, luminance, value_shown
from tests.ui.test_book import OPEN, built, offline_page, visit
from tools.lab import choose_theme, errors, open_notebook, run_all, write_notebook
from tools.notebook_files import (
    NOTEBOOKS,
    ExplorerCall,
    closed_cells,
    code_cells,
    explorer_calls,
    lines_of,
    numbered_paths,
    read,
)

WHOLE = NOTEBOOKS / "02_softmax.ipynb"  # one of the quickest


def explorers_of(path: Path) -> list[tuple[str, ExplorerCall]]:
    """Return the cells that end in an explorer: source and explorer of each."""
    notebook = read(path)
    pairs = zip(notebook.cells, explorer_calls(notebook), strict=True)
    return [(cell.source, call) for cell, call in pairs if call]


def is_here(call: ExplorerCall) -> bool:
    """Return whether an explorer can be made: what needs a real model cannot without one."""
    return not call.stored or model_path() is not None


SHOWN = {path.stem: explorers_of(path) for path in numbered_paths()}
HERE = {stem: [one for one in shown if is_here(one[1])] for stem, shown in SHOWN.items()}
CALLS = {f"{stem}-{call.name}": call for stem, shown in HERE.items() for _, call in shown}


@cache
def built_here(name: str) -> Explorer:
    """Return the explorer that says what the page should show; some train a model for seconds."""
    return CALLS[name].build()


def test_every_explorer_is_shown():
    assert {call.function for call in CALLS.values()} == set(explorers.__all__)
    assert len(CALLS) == sum(map(len, HERE.values()))  # each has an id of its own in the book


@pytest.fixture(scope="module")
def page(browser, server, folder):
    """A notebook that holds every explorer, after Run All."""
    cells = [cell for shown in HERE.values() for cell in shown]
    sources = [part for source, call in cells for part in (call.definitions, source) if part]
    write_notebook(folder / "explorers.ipynb", *sources)
    page = open_notebook(browser, server, "explorers.ipynb")
    run_all(page)
    assert errors(page) == []
    assert page.locator(".c3-explorer").count() == len(CALLS)
    yield page
    page.close()


CELL = """cell => [JSON.parse(cell.closest('[data-click]').dataset.click), Object.fromEntries(
    ['q', 'k'].flatMap(side => cell.closest(`[data-${side}]`) ?
        [[side, cell.closest(`[data-${side}]`).dataset[side]]] : []))]"""


NAMELESS = (
    r"^ *- (?:slider|button|radio|radiogroup|checkbox|combobox|spinbutton|textbox)(?: \[\w+\])*:?$"
)


@pytest.mark.parametrize("name", CALLS)
def test_explorer_shows_what_the_package_computes_and_answers_a_click(page, name):
    root = page.locator(".c3-explorer").nth(list(CALLS).index(name))
    explorer = PageExplorer(page, root, built_here(name))
    explorer.settle_at(explorer.model.settings)
    said = root.aria_snapshot()
    assert said.startswith(f"- 'group \"Explorer: {explorer.model.name}\"'")
    assert not re.findall(NAMELESS, said, re.MULTILINE)
    cell = root.locator("[data-click] :is(td, tr, text)[data-k]").nth(1)
    if cell.count():
        clicked, numbers = cell.evaluate(CELL)
        explained = "k" in clicked  # where a click chooses a row alone, no number is explained
        for side in ("q", "k"):
            setting = clicked.pop(side, None)
            if setting and side in numbers:
                clicked[setting] = int(numbers[side])
        names = {
            control.name for control in explorer.model.controls if isinstance(control, Clicked)
        }
        explorer.clicked = {name: clicked[name] for name in names & clicked.keys()}
        cell.click()
        explorer.settle(
            f"{clicked} should be shown", lambda found: clicked.items() <= found.items()
        )
        if explained:
            expect(root.locator(".c3path")).to_be_visible()
        explorer.clicked = {}
        explorer.reset()


# After the next frame, in which a picture gets its size.
SCROLLS = """root => new Promise(done => requestAnimationFrame(() => setTimeout(() =>
    done([root.scrollHeight / innerHeight, root.scrollWidth / innerWidth]))))"""
# Whether letters are larger than they are anyway, and rows higher.
ENLARGED = "view => [view.style.zoom > 1, !!view.style.getPropertyValue('--high')]"
# The smallest letters of what is shown; those of a drawing grow with it.
LETTERS = """view => Math.min(...[...view.querySelectorAll('p, td, th, caption, text')]
    .filter(e => e.textContent.trim() && e.checkVisibility())
    .map(e => {
        const drawn = e.getScreenCTM?.() ?? { a: 1, b: 0 };  // of a turned word a alone is 0
        return parseFloat(getComputedStyle(e).fontSize) * Math.hypot(drawn.a, drawn.b);
    }))"""


# The cells behind what is presented: to lay them out in every window takes as long as all else.
ALONE = ".jp-Notebook .jp-Cell:not(.tried) { display: none }"
TRIED = "(root, tried) => root.closest('.jp-Cell').classList.toggle('tried', tried)"
WIDE, SQUARE = {"width": 1280, "height": 720}, {"width": 1024, "height": 768}  # two projectors


def assert_fits(page, root, name, window):
    page.set_viewport_size(window)
    high, wide = root.evaluate(SCROLLS)
    most = 1 if window is WIDE else 2  # windows that it may be high
    assert (high <= most, wide <= 1) == (True, True), (name, window, high, wide)


def test_a_presented_explorer_fits_a_projector_in_letters_for_the_back_row(page):
    enlarged = []
    alone = page.add_style_tag(content=ALONE)
    for name, root in zip(CALLS, page.locator(".c3-explorer").all(), strict=True):
        root.evaluate(TRIED, True)
        present = root.get_by_role("button", name="Present")
        present.click()
        expect(root.locator(".c3-view .c3")).to_have_class(re.compile("c3-presented"))
        assert_fits(page, root, name, WIDE)
        enlarged.append(root.locator(".c3-view").evaluate(ENLARGED))
        view = root.locator(".c3-view .c3")
        for part in ("> p", "> :not(p)"):  # a sentence and a picture
            expect(view.locator(part).first).to_be_in_viewport(ratio=1)
        assert view.evaluate(LETTERS) >= 16, name
        assert_fits(page, root, name, SQUARE)
        cell = root.locator("[data-click] :is(td, tr, text)[data-k]:visible").nth(1)
        if cell.count():
            cell.click()
            expect(view.locator(".c3path")).to_be_visible()
            assert_fits(page, root, name, SQUARE)
            assert_fits(page, root, name, WIDE)  # in this order: each change of window takes long
            expect(cell).to_be_in_viewport(ratio=1)
        page.keyboard.press("Escape")
        expect(root).not_to_have_class(re.compile("c3-present"))
        root.get_by_role("button", name="Reset").click()
        root.evaluate(TRIED, False)
    assert all(sum(part) > len(CALLS) / 2 for part in zip(*enlarged, strict=True))
    alone.evaluate("style => style.remove()")
    page.set_viewport_size({"width": 1600, "height": 1000})


def follow(explorer: Explorer, chosen: dict[str, str]) -> None:
    """Move an explorer's controls to what a recording's controls show."""
    explorer.reset()
    controls = {control.name: control for control in explorer.controls}
    for name, label in chosen.items():
        explorer.set(**{name: value_shown(controls[name], label, explorer.settings)})


MOVE = """(root, draw) => {
    const inputs = [...root.querySelectorAll('input:enabled, select')].filter(i => i.offsetParent);
    const input = inputs[Math.floor(draw[0] * inputs.length)];
    if (input.type === 'range') {
        input.value = Math.round(draw[1] * input.max);
        input.dispatchEvent(new Event('input'));
    } else if (input.tagName === 'SELECT') {
        input.selectedIndex = Math.floor(draw[1] * input.options.length);
        input.dispatchEvent(new Event('change'));
    } else input.click();
}"""


CLICK = """(root, draw) => {
    root.querySelector('.c3-tools button').click();
    const all = root.querySelectorAll('[data-click] :is([data-q], [data-k])');
    all[Math.floor(draw * all.length)]?.dispatchEvent(new MouseEvent('click', {bubbles: true}));
}"""


COLOUR = "e => getComputedStyle(e)"


@pytest.fixture(scope="module")
def book_page(browser):
    yield from offline_page(browser)


@built
@pytest.mark.parametrize("path", numbered_paths(), ids=lambda path: path.stem)
def test_recorded_explorer_shows_what_the_package_computes(book_page, path):
    page = book_page
    visit(page, f"notebooks/{path.stem}")
    page.evaluate(OPEN)
    draws = random.Random(123)
    roots = page.locator(".c3-explorer").all()
    calls = [call for _, call in SHOWN[path.stem]]
    assert [root.get_attribute("id") for root in roots] == [call.name for call in calls]
    for root, call in zip(roots, calls, strict=True):
        expect(root.locator(".c3-tools")).to_be_visible()
        if not is_here(call):
            continue
        explorer = built_here(f"{path.stem}-{call.name}")
        for step in range(4):
            if step < 3:
                root.evaluate(MOVE, [draws.random(), draws.random()])
            else:
                root.evaluate(CLICK, draws.random())
            chosen = json.loads(root.get_attribute("data-chosen"))
            follow(explorer, chosen)
            shown = root.locator(".c3-view").evaluate(READ)
            expected = page.evaluate(PARSE, explorer.view.value)
            if call.stored:  # by a processor that may round otherwise
                shown, expected = ([re.sub(r"\d", "", t) for t in s] for s in (shown, expected))
            assert shown == expected, chosen
            code = root.locator("pre").evaluate("pre => pre.textContent")
            assert code == explorer.code(explorer.settings)


def test_explorers_are_drawn_in_the_ink_of_the_theme(page):
    for theme in ("light", "dark"):  # it opens in the light one
        if theme == "dark":
            choose_theme(page, theme)
        ground = page.locator(".jp-Notebook").evaluate(f"{COLOUR}.backgroundColor")
        inks = page.locator(".c3-view .c3").evaluate_all(f"all => all.map({COLOUR}.color)")
        assert len(inks) >= len(CALLS)
        contrasts = {luminance(ink) - luminance(ground) for ink in inks}
        assert min(contrasts) > 0.5 if theme == "dark" else max(contrasts) < -0.5


def test_a_notebook_runs_from_top_to_bottom_its_folded_parts_too(browser, server, folder):
    """Here the script that listens beside the pictures can't be loaded: they are there without."""
    notebook = read(WHOLE)
    answers = closed_cells(notebook)
    for cell in code_cells(notebook):
        cell.execution_count, cell.outputs = None, cell.outputs if cell in answers else []
    headings = [cell for cell in notebook.cells if re.match("## ", cell.source)]
    headings[0].metadata["jp-MarkdownHeadingCollapsed"] = True
    code_cells(notebook)[0].metadata["jupyter"] = {"source_hidden": True}
    nbformat.write(notebook, folder / WHOLE.name)
    page = open_notebook(browser, server, WHOLE.name, without="**/extensions/anywidget/**")
    try:
        expect(page.get_by_text(re.compile(r"cells? hidden")).first).to_be_visible()
        closed = page.locator(".jp-OutputPlaceholder")
        expect(closed).to_have_count(len(answers))
        shown = page.locator(".jp-Notebook").inner_text()
        for cell in answers:
            printed = [line for line in lines_of(cell)[1:] if line not in cell.source]
            assert printed
            assert not [line for line in printed if line in shown]
        run_all(page)
        expect(closed).to_have_count(0)  # a cell that is run opens
        assert errors(page) == []
        prompts = page.locator(".jp-CodeCell .jp-InputPrompt").all_text_contents()
        assert prompts == [
            "" if cell.metadata.get("jupyter", {}).get("source_hidden") else f"[{count}]:"
            for count, cell in enumerate(code_cells(notebook), start=1)
        ]
        calls = [call for _, call in SHOWN[WHOLE.stem]]
        roots = page.locator(".c3-explorer")
        assert roots.count() == len(calls) >= 1
        for root, call in zip(roots.all(), calls, strict=True):
            explorer = PageExplorer(page, root, built_here(f"{WHOLE.stem}-{call.name}"))
            explorer.settle_at(explorer.model.settings)
            expect(root).not_to_have_attribute("data-hands", "")
    finally:
        page.close()
