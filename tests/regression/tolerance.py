"""A pytest plugin for nbval: text is exact, numbers agree to their last printed place.

Loaded with ``-p tests.regression.tolerance``. It also refuses what nbval lets pass: a code cell
that was never run has no output to compare, so anything could stand in it.
"""

import re
from decimal import Decimal

import pytest
from nbval.plugin import IPyNbCell

# Only numbers with digits behind the point are compared with a tolerance: whole numbers (shapes,
# counts, the zeros and ones of a mask) stay part of the text. Spaces before a number go with it,
# since a rounding difference can change a sign and with it the width of a column.
NUMBER = re.compile(r" *(?<![\w.])([-+]?\d+\.\d+(?:[eE][-+]?\d+)?)(?![\w.]*\.\d)")

exact_compare = IPyNbCell.compare_outputs
run_cell = IPyNbCell.runtest


def last_place(number: Decimal) -> Decimal:
    """Return one unit of the last place that was printed: 0.0001 for 0.2379."""
    return Decimal(1).scaleb(number.as_tuple().exponent)


def align_numbers(reference: str, test: str) -> str:
    """Return ``test`` with every number that is close enough replaced by the reference's.

    The result equals ``reference`` exactly if the texts are the same and all numbers agree.
    """
    expected, found = NUMBER.findall(reference), NUMBER.findall(test)
    if len(expected) != len(found) or NUMBER.sub("#", reference) != NUMBER.sub("#", test):
        return test
    for left, right in zip(map(Decimal, expected), map(Decimal, found), strict=True):
        if abs(left - right) > min(last_place(left), last_place(right)):
            return test
    return reference


def align_outputs(test: list, reference: list) -> list:
    """Align every text of a cell's outputs with the stored one in the same place."""
    if len(test) != len(reference):
        return test
    for new, old in zip(test, reference, strict=True):
        if isinstance(new.get("text"), str) and isinstance(old.get("text"), str):
            new["text"] = align_numbers(old["text"], new["text"])
        for mime, value in new.get("data", {}).items():
            stored = old.get("data", {}).get(mime)
            if isinstance(value, str) and isinstance(stored, str) and mime.startswith("text/"):
                new["data"][mime] = align_numbers(stored, value)
    return test


def compare_outputs(self, test, ref, skip_compare=None):
    """Compare as nbval does, after close numbers were aligned."""
    return exact_compare(self, align_outputs(test, ref), ref, skip_compare)


def runtest(self):
    """Run a cell as nbval does, but refuse one whose output was never recorded."""
    if self.cell.execution_count is None and self.cell.source.strip():
        self.raise_cell_error("This cell was never run, so there is nothing to compare it with")
    run_cell(self)


@pytest.hookimpl
def pytest_configure():
    IPyNbCell.compare_outputs = compare_outputs
    IPyNbCell.runtest = runtest


@pytest.hookimpl
def pytest_unconfigure():
    IPyNbCell.compare_outputs = exact_compare
    IPyNbCell.runtest = run_cell
