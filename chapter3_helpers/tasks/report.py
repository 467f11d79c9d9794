"""Reports on learned models, side by side."""

from collections.abc import Mapping
from typing import NamedTuple


def table(reports: Mapping[str, NamedTuple]) -> str:
    """Lay reports of one kind out as a table: a row each, two decimals.

    >>> class Report(NamedTuple):
    ...     word_right: float
    ...     loss: float
    >>> print(table({"before": Report(0.1, 2.5), "after training": Report(1.0, 0.003)}))
                    word right  loss
    before                0.10  2.50
    after training        1.00  0.00
    """
    titles = [field.replace("_", " ") for field in next(iter(reports.values()))._fields]
    left = max(map(len, reports))
    lines = ["  ".join([" " * left, *titles])]
    for name, report in reports.items():
        cells = [
            f"{value:.2f}".rjust(len(title)) for title, value in zip(titles, report, strict=True)
        ]
        lines.append("  ".join([name.ljust(left), *cells]))
    return "\n".join(lines)
