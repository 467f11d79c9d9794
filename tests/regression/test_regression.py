"""The regression itself: what nbval compares, what is stored, and that a fault is noticed."""

import base64
import copy
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.regression.golden_values import missing_values
from tests.regression.tolerance import align_numbers
from tools import regenerate, stills
from tools.notebook_files import (
    DEFINES,
    NOTEBOOKS,
    SLOW,
    code_cells,
    notebook_paths,
    printed,
    read,
    tags,
)

ROOT = NOTEBOOKS.parent
# A cell for each kind of output that the notebooks have, and for each fault that is planted below.
CELLS = {
    "imports": """
        import sys
        import time
        import numpy as np
        from IPython.display import display
        from ipywidgets import IntSlider
        from tqdm import tqdm
        from chapter3_helpers.plots import heatmap
        np.set_printoptions(precision=4)
        exponentials = np.exp([[1.0, 2.0], [3.0, 0.5]])  # torch would take two seconds more
        weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    """,
    "number": "print(weights)",
    "rounding": "print(weights * 1)",
    "word": "print('equal:', True)",
    "figure": "heatmap(weights, ['a', 'b'])",
    "output lost": "print(weights.sum(axis=1))",
    "never run": "print('nothing to compare')",
    "time": "# times differ from run to run\nprint(f'{time.perf_counter():.6f} s')",
    "progress": """
        look = {"bar_format": "{percentage:3.0f}%", "file": sys.stdout, "mininterval": 0}
        for step in tqdm(range(3), **look):
            pass
    """,
    "widget": "display(IntSlider()); print('a slider')",
}


def cells_by_name(notebook: nbformat.NotebookNode) -> dict[str, nbformat.NotebookNode]:
    return dict(zip(CELLS, code_cells(notebook), strict=True))


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Path:
    """A notebook of these cells, run and stored as the real ones are."""
    path = tmp_path_factory.mktemp("stored") / "small.ipynb"
    notebook = new_notebook(cells=[new_code_cell(dedent(source)) for source in CELLS.values()])
    cells_by_name(notebook)["time"].metadata.tags = ["nbval-ignore-output"]
    nbformat.write(notebook, path)
    regenerate.regenerate(path)
    return path


def test_nbval_fails_every_planted_fault_and_nothing_else(stored, tmp_path):
    """One run as in ``make test``, of a notebook with a fault in each of several cells."""
    notebook = read(stored)
    cells = cells_by_name(notebook)
    assert "0.2689" in printed(cells["number"])
    for name, output, old, new in (
        ("number", cells["number"].outputs[0], "0.2689", "0.2699"),
        ("rounding", cells["rounding"].outputs[0], "0.2689", "0.2690"),
        ("word", cells["word"].outputs[0], "True", "False"),
        ("figure", cells["figure"].outputs[0].data, "0.2689", "0.9689"),
    ):
        key = "text/plain" if name == "figure" else "text"
        assert old in output[key]
        output[key] = output[key].replace(old, new, 1)
    cells["output lost"].outputs = []
    cells["never run"].execution_count, cells["never run"].outputs = None, []
    nbformat.write(notebook, tmp_path / "faults.ipynb")

    plugins = ("-p", "tests.regression.tolerance", "-p", "tests.regression.differences")
    options = ("-v", *plugins, "--nbval", "--nbval-current-env")
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path / "faults.ipynb")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    outcomes = re.findall(r"::Cell \d+ (PASSED|FAILED)", result.stdout)
    failed = [name for name, how in zip(CELLS, outcomes, strict=True) if how == "FAILED"]
    assert failed == ["number", "word", "figure", "output lost", "never run"], result.stdout
    assert result.returncode == 1
    assert "0.2699" in result.stdout
    assert "never run" in result.stdout
    assert re.search(
        r": 5 of 10 cells print something else: faults cell 1, .*, faults cell 6$",
        result.stdout.strip(),
    )


def test_regenerating_again_gives_the_same_bytes(stored):
    """No time, no widget's state and no half-drawn progress bar is kept."""
    before = stored.read_bytes()
    bar = printed(cells_by_name(read(stored))["progress"])
    assert "100%" in bar
    assert "33%" not in bar
    regenerate.regenerate(stored)
    assert stored.read_bytes() == before


def test_a_notebook_that_stops_is_left_as_it_was(tmp_path, monkeypatch, capsys):
    path = tmp_path / "stops.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("print(1)"), new_code_cell("1 / 0")]), path)
    before = path.read_bytes()
    monkeypatch.setattr(sys, "argv", ["regenerate", str(path)])
    assert regenerate.main() == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_golden_value_that_no_cell_prints_is_missing(tmp_path):
    for path in notebook_paths()[1:3]:
        notebook = read(path)
        for cell in code_cells(notebook):
            if "0.4419" in printed(cell):
                cell.outputs = []
        nbformat.write(notebook, tmp_path / path.name)
    assert "context_2" in missing_values(tmp_path / "02_softmax.ipynb")


@pytest.mark.parametrize(
    ("reference", "test", "close"),
    [
        ("0.2379", "0.2380", True),
        ("0.2379", "0.2381", False),
        ("0.2379", "0.24", False),  # as many places must be right as either shows
        ("0.3", "0.2379", False),
        ("tensor([ 0.1000, -0.0000])", "tensor([0.1000, 0.0000])", True),
        ("tensor([0.1000])", "tensor([[0.1000]])", False),
        ("1.5e-05", "1.6e-05", True),
        ("1.5e-05", "1.5e-04", False),
        ("(2, 6, 3)", "(2, 6, 4)", False),
        ("2360064", "2360065", False),
        ("tensor([2., 0.])", "tensor([0., 2.])", False),
        ("equal: True", "equal: False", False),
        ("a 0.10 b", "a 0.10", False),
        ("12.5 %", "12.6 %", True),
    ],
)
def test_text_is_exact_and_numbers_agree_to_their_last_place(reference, test, close):
    assert (align_numbers(reference, test) == reference) is close


@pytest.mark.parametrize("path", notebook_paths(), ids=lambda path: path.stem)
def test_every_cell_was_run_in_order_and_keeps_no_widget_state(path):
    notebook = read(path)
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    assert "widgets" not in notebook.metadata


@pytest.mark.parametrize("path", notebook_paths(), ids=lambda path: path.stem)
def test_a_cell_exempted_from_comparison_says_why(path):
    for cell in code_cells(read(path)):
        known = {"exercise", "nbval-ignore-output", DEFINES, SLOW, regenerate.SHOWN_IN_README}
        assert set(tags(cell)) <= known, cell.source
        markers = re.search(r"(?im)^#\s*(nbval|pytest)", cell.source)
        assert not markers, "exemptions are tags, not comments"
        if "nbval-ignore-output" in tags(cell):
            first = cell.source.splitlines()[0]
            assert re.match(r"# .{20,}", first), cell.source


class Camera:
    """A page that takes pictures without a browser."""

    def set_content(self, content: str) -> None:
        self.picture = content.encode()

    def locator(self, _: str) -> "Camera":
        return self

    def screenshot(self) -> bytes:
        return self.picture


def test_a_still_is_taken_where_the_state_is_another_and_there_is_a_browser():
    def still(source, page, before=None):
        cell = new_code_cell(source, outputs=[new_output("display_data", {"text/plain": "words"})])
        cell.metadata.explorer = {}
        notebook = new_notebook(cells=[cell])
        stills.add_stills(notebook, before or copy.deepcopy(notebook), page)
        return notebook, notebook.cells[0].outputs[0].data.get("image/png")

    first, other = "softmax_explorer()", "softmax_explorer(score=3.0)"
    stored, picture = still(first, Camera())
    assert b"None" not in base64.b64decode(picture)
    assert still(first, None)[1] is None
    assert still(first, None, stored)[1] == still(other, None, stored)[1] == picture
    stored.cells[0].outputs[0].data["image/png"] = "an older picture of the same"
    assert still(first, Camera(), stored)[1] == "an older picture of the same"
    assert still(other, Camera(), stored)[1] not in (picture, "an older picture of the same")
