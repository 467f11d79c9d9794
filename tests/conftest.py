"""The three parts of the tests: the order in which workers take them, and how long each took."""

import os
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from chapter3_helpers.model_files import model_path
from tests import trained

PARTS = BROWSER, NOTEBOOKS, UNIT = "browser", "notebooks", "unit tests and doctests"
TRAINING = ("00_why_attention.ipynb", "10_induction_heads.ipynb")  # explorers show what they train
MODELS = "SHARED_MODELS"
WITH_REAL_MODEL = ("15_real_model.ipynb", "16_heads_of_a_real_model.ipynb")


def part(nodeid: str) -> str:
    if nodeid.startswith("tests/ui/"):
        return BROWSER
    return NOTEBOOKS if ".ipynb::" in nodeid else UNIT


def pytest_collection_modifyitems(config, items):
    """Where workers share the tests, long files go first, and short ones even out the end.

    Before all go the notebooks whose models others wait for.
    """

    def place(item):
        trains = part(item.nodeid) == NOTEBOOKS and item.path.name in TRAINING
        return -1 if trains else PARTS.index(part(item.nodeid))

    if hasattr(config, "workerinput"):
        items.sort(key=place)
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
    """Make the folder in which all processes of this run keep the models that take seconds to
    train; workers, and the kernels of all, find it in their environment."""
    if MODELS not in os.environ:
        made = tempfile.TemporaryDirectory(prefix="models")
        config.add_cleanup(made.cleanup)
        config.add_cleanup(lambda: os.environ.pop(MODELS))
        os.environ[MODELS] = made.name
        ipython = Path(made.name) / "ipython"
        trained.write_startup(Path(made.name), ipython)
        os.environ["IPYTHONDIR"] = str(ipython)


@pytest.fixture(scope="session", autouse=True)
def models():
    """The folder of models, in which this process looks from now on."""
    folder = Path(os.environ[MODELS])
    trained.share(folder)
    return folder
