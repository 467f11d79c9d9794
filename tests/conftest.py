"""The three parts of the tests: the order in which workers take them, and how long each took."""

from collections import Counter

import pytest

from tests import trained

PARTS = BROWSER, NOTEBOOKS, UNIT = "browser", "notebooks", "unit tests and doctests"


def part(nodeid: str) -> str:
    if nodeid.startswith("tests/ui/"):
        return BROWSER
    return NOTEBOOKS if ".ipynb::" in nodeid else UNIT


def pytest_collection_modifyitems(config, items):
    """Where workers share the tests, long files go first, and short ones even out the end."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: PARTS.index(part(item.nodeid)))


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


@pytest.fixture(scope="session", autouse=True)
def models(tmp_path_factory, request):
    """The folder in which all processes of this run keep the models that take seconds to train."""
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        folder = folder.parent  # which all workers share
    trained.share(folder)
    return folder
