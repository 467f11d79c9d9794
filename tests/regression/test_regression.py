"""The regression itself: real nbval on doctored copies of a real notebook must fail, or pass."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.notebook_files import NOTEBOOKS, code_cells, notebook_paths, read, tags
from tests.regression.tolerance import align_numbers

ROOT = NOTEBOOKS.parent
REAL = NOTEBOOKS / "02_softmax.ipynb"


def pytest_run(*arguments: str | Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def nbval(path: Path) -> subprocess.CompletedProcess:
    """Run the notebook as ``make test`` does."""
    plugins = ("-p", "tests.regression.tolerance")
    return pytest_run(*plugins, "--nbval", "--nbval-current-env", path)


@pytest.fixture
def copy(tmp_path) -> Path:
    shutil.copy(REAL, tmp_path)
    return tmp_path / REAL.name


def doctor(path: Path, old: str, new: str, mime: str | None = None) -> None:
    """Replace a text in the stored outputs of one cell, which must hold it."""
    notebook = read(path)
    for cell in code_cells(notebook):
        for output in cell.outputs:
            holder, key = (output, "text") if mime is None else (output.get("data", {}), mime)
            figure = "image/png" in output.get("data", {})
            if old in holder.get(key, "") and figure == (mime is not None):
                holder[key] = holder[key].replace(old, new, 1)
                nbformat.write(notebook, path)
                return
    raise AssertionError(f"{old!r} is not among the outputs of {path.name}")


def test_the_real_notebook_passes(copy):
    result = nbval(copy)
    assert result.returncode == 0, result.stdout


def test_a_falsified_number_fails(copy):
    doctor(copy, "0.2379", "0.2479")
    result = nbval(copy)
    assert result.returncode == 1
    assert "0.2479" in result.stdout


def test_a_rounding_difference_in_the_last_place_passes(copy):
    doctor(copy, "0.2379", "0.2380")
    assert nbval(copy).returncode == 0


def test_a_falsified_figure_description_fails(copy):
    doctor(copy, "0.2379", "0.9379", mime="text/plain")
    assert nbval(copy).returncode == 1


def test_a_cell_that_was_never_run_fails(copy):
    notebook = read(copy)
    cell = code_cells(notebook)[2]
    cell.execution_count, cell.outputs = None, []
    nbformat.write(notebook, copy)
    result = nbval(copy)
    assert result.returncode == 1
    assert "never run" in result.stdout


def test_a_missing_golden_value_fails(tmp_path):
    folder = tmp_path / "notebooks"
    shutil.copytree(NOTEBOOKS, folder, ignore=shutil.ignore_patterns(".*"))
    arguments = ("tests/test_golden_values.py", "-k", "printed and softmax", "--notebooks", folder)
    assert pytest_run(*arguments).returncode == 0
    for name in ("01_dot_products", "02_softmax"):
        notebook = read(folder / f"{name}.ipynb")
        for cell in code_cells(notebook):
            if "0.4419" in str(cell.outputs):
                cell.outputs = []
        nbformat.write(notebook, folder / f"{name}.ipynb")
    result = pytest_run(*arguments)
    assert result.returncode == 1
    assert "context_2" in result.stdout


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
        assert set(tags(cell)) <= {"exercise", "nbval-ignore-output"}, cell.source
        markers = re.search(r"(?im)^#\s*(nbval|pytest)", cell.source)
        assert not markers, "exemptions are tags, not comments"
        if "nbval-ignore-output" in tags(cell):
            first = cell.source.splitlines()[0]
            assert re.match(r"# not compared: .{10,}", first), cell.source


def test_regenerating_twice_gives_the_same_bytes(copy):
    command = [sys.executable, "-m", "tests.regression.regenerate", copy]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    first = copy.read_bytes()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert copy.read_bytes() == first


def test_a_notebook_that_stops_is_left_as_it_was(copy):
    notebook = read(copy)
    code_cells(notebook)[1].source = "1 / 0"
    nbformat.write(notebook, copy)
    before = copy.read_bytes()
    command = [sys.executable, "-m", "tests.regression.regenerate", copy]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 1
    assert "ZeroDivisionError" in result.stderr
    assert copy.read_bytes() == before
