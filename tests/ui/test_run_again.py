"""A notebook whose cells are run again shows explorers that answer, and keeps no former ones."""

import pytest
from playwright.sync_api import expect

from tools.lab import errors, open_notebook, run_all, write_notebook

CELLS = (
    "from chapter3_helpers.explorers import dot_products_explorer, softmax_explorer",
    "kept = dot_products_explorer()",
    "kept",
    "softmax_explorer()",
    "from ipywidgets.widgets.widget import _instances\n"
    "runs = globals().get('runs', 0) + 1\n"
    "print(f'run {runs}: {len(_instances)} widgets')",
)


@pytest.fixture
def page(browser, server, folder):
    write_notebook(folder / "again.ipynb", *CELLS)
    page = open_notebook(browser, server, "again.ipynb")
    yield page
    assert errors(page) == []
    page.close()


def test_cells_that_are_run_again_leave_as_many_widgets_and_their_explorers_answer(page):
    printed = page.locator(".jp-OutputArea-output pre").filter(has_text="widgets")
    counts = []
    for run in (1, 2, 3):
        run_all(page)
        expect(printed).to_contain_text(f"run {run}:")
        explorers = page.locator(".c3-explorer")
        expect(explorers).to_have_count(2)
        for explorer in explorers.all():
            before = explorer.locator(".c3-view").inner_text()
            explorer.locator(".noUi-handle").first.press("ArrowRight")
            expect(explorer.locator(".c3-view")).not_to_have_text(before)
        counts.append(printed.inner_text().partition(":")[2])
    assert counts == [counts[0]] * 3
