"""The three parts of the tests: the order in which workers take them, and how long each took."""

import os
import tempfile
from collections import Counter

import pytest

from chapter3_helpers.model_files import model_path
from chapter3_helpers.tasks.training import KEPT_IN

FOLDER = "FOLDER_OF_TRAINED_MODELS"  # in the environment of this run
PARTS = BROWSER, NOTEBOOKS, UNIT = "browser", "notebooks", "unit tests and doctests"
WITH_REAL_MODEL = ("15_real_model.ipynb", "16_heads_of_a_real_model.ipynb")


def part(nodeid: str) -> str:
    if nodeid.startswith("tests/ui/"):
        return BROWSER
    return NOTEBOOKS if ".ipynb::" in nodeid else UNIT


def pytest_collection_modifyitems(config, items):
    """Where workers share the tests, long files go first, and short ones even out the end."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: PARTS.index(part(item.nodeid)))
    real = [item for item in items if item.path.name in WITH_REAL_MODEL]
    if real and not os.environ.get("REQUIRE_MODEL") and model_path() is None:
        for item in real:
            item.add_marker(pytest.mark.skip(reason="the real model is not installed: make setup"))


def pytest_terminal_summary(terminalreporter):
    """Say of each part how it went, and how long its tests took one after the other."""
    seconds = Counter()
    counts = {name: Counter() for name in PARTS}
    for outcome, reports in terminalreporter.stats.items():
        for report in reports:
            if hasattr(report, "duration"):
                seconds[part(report.nodeid)] += report.duration
                counts[part(report.nodeid)][outcome] += bool(outcome)
    if len(seconds) > 1:
        terminalreporter.section("parts")
        for name in filter(seconds.get, PARTS):
            words = ", ".join(f"{n} {outcome}" for outcome, n in counts[name].items() if n)
            terminalreporter.write_line(f"{name:24}{seconds[name]:5.0f} s   {words}")


def pytest_configure(config):
    """Make the folder in which the tests of all processes keep the models that take seconds to
    train; workers find it in their environment."""
    if FOLDER not in os.environ:
        made = tempfile.TemporaryDirectory(prefix="models")
        config.add_cleanup(made.cleanup)
        config.add_cleanup(lambda: os.environ.pop(FOLDER))
        os.environ[FOLDER] = made.name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """A test finds the folder where training looks for it. A notebook does not: it is compared, and
    its kernel trains what it says."""
    if part(item.nodeid) == NOTEBOOKS:
        return (yield)
    os.environ[KEPT_IN] = os.environ[FOLDER]
    try:
        return (yield)
    finally:
        os.environ.pop(KEPT_IN, None)
