"""A pytest plugin for nbval: one line at the end says which cells print something else.

Loaded with ``-p tests.regression.differences``, as ``make check-torch`` does.
"""

import re
from importlib.metadata import version

CELL = re.compile(r"([^/]+)\.ipynb::Cell (\d+)$")


def pytest_unconfigure(config):
    """Speak when everything else has been said; a worker leaves that to who sees all."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    same, other = (
        [match.groups() for match in map(CELL.search, nodeids(reporter, *outcomes)) if match]
        for outcomes in (("passed",), ("failed", "error"))
    )
    line = f"all {len(same)} cells print the same"
    if other:
        where = ", ".join(f"{name} cell {number}" for name, number in other)
        line = f"{len(other)} of {len(same) + len(other)} cells print something else: {where}"
    reporter.write_line(f"PyTorch {version('torch')}: {line}")


def nodeids(reporter, *outcomes):
    return [report.nodeid for outcome in outcomes for report in reporter.stats.get(outcome, [])]
