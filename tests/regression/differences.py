"""A pytest plugin: one line at the end says which cells print something else, which tests fail.

Loaded with ``-p tests.regression.differences``, as ``make check-torch`` and ``check-cpus`` do.
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
        [(nodeid, CELL.search(nodeid)) for nodeid in nodeids(reporter, *outcomes)]
        for outcomes in (("passed",), ("failed", "error"))
    )
    cells = [found for _, found in same + other if found]
    line = f"all {len(cells)} cells print the same"
    if different := [f"{found[1]} cell {found[2]}" for _, found in other if found]:
        line = f"{len(different)} of {len(cells)} cells print something else: "
        line += ", ".join(different)
    if failed := [nodeid for nodeid, found in other if not found]:
        line += f"; of the tests fail: {', '.join(failed)}"
    reporter.write_line(f"PyTorch {version('torch')}: {line}")


def nodeids(reporter, *outcomes):
    return [report.nodeid for outcome in outcomes for report in reporter.stats.get(outcome, [])]
