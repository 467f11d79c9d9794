"""Every number that the sources print stands in the output of its section's notebook."""

import pytest

from tests.golden import golden
from tests.regression.golden_values import (
    SECTIONS,
    contains,
    is_printed,
    missing_values,
    numbers_in,
    values_of,
)
from tools.notebook_files import NOTEBOOKS, code_cells, read

TAUGHT = sorted({name for names in SECTIONS.values() for name in names})


def test_every_golden_value_belongs_to_a_notebook():
    assert {entry["section"] for entry in golden().values()} == SECTIONS.keys()


@pytest.mark.parametrize("notebook", TAUGHT)
def test_every_golden_value_is_printed(notebook):
    path = NOTEBOOKS / f"{notebook}.ipynb"
    assert path.exists()
    assert values_of(notebook)
    assert missing_values(path) == []


@pytest.mark.parametrize("notebook", TAUGHT)
def test_golden_values_are_computed_and_not_typed_in(notebook):
    """No cell's code holds a run of numbers from the golden file; ``a`` alone is data."""
    sources = [cell.source for cell in code_cells(read(NOTEBOOKS / f"{notebook}.ipynb"))]
    typed = [
        entry["id"]
        for entry in values_of(notebook)
        if entry["decimals"] == 4 and entry["id"] != "a" and is_printed(entry, sources)
    ]
    assert typed == []


def test_numbers_are_read_as_torch_prints_them():
    text = "tensor([[ 0.2899,    -inf],\n        [-1.0000e-04, 2.]])\n1,024 of 2_048"
    assert numbers_in(text) == [0.2899, float("-inf"), -0.0001, 2.0, 1024.0, 2048.0]


def test_a_run_of_numbers_is_found_whole_or_not_at_all():
    assert contains([9.0, 0.1234, 0.5], [0.1234, 0.5], 4)
    assert not contains([0.1234, 9.0, 0.5], [0.1234, 0.5], 4)
    assert not contains([0.1235, 0.5], [0.1234, 0.5], 4)
    assert not contains([6.0], [6.0, 2.0], 0)
