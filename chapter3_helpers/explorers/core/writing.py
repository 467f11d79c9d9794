"""How explorers write numbers and labels: decimals, gaps, and what a reader typed."""

import html
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import to_array

MOST_DRAWN = 16  # rows or columns of a matrix


def decimals_for(values: Any) -> int:
    """Return how many decimals to write: two, or four where two show hardly any difference.

    >>> decimals_for([0.1, 0.7]), decimals_for([0.1652, 0.1678])
    (2, 4)
    """
    finite = to_array(values)
    finite = finite[np.isfinite(finite)]
    return 4 if finite.size and 0 < np.ptp(finite) < 0.1 else 2


def some_of(count: int, picked: int | None = None) -> list[int | None]:
    """Return which of so many rows or columns to draw: at most 16, None for a gap.

    >>> some_of(20)
    [0, 1, 2, 3, 4, 5, 6, 7, None, 13, 14, 15, 16, 17, 18, 19]
    """
    if count <= MOST_DRAWN:
        return list(range(count))
    tail = list(range(count - 7, count))
    if picked is None or picked < 8 or picked >= tail[0]:
        return [*range(8), None, *tail]
    return [*range(7), None, picked, None, *tail[1:]]


def picks(pick: Mapping[str, Any] | None) -> str:
    """Return the attribute that says which settings a click changes; ``hands.js`` reads it.

    >>> picks({"q": "row", "show": "one number"})
    ' data-pick="{&quot;q&quot;:&quot;row&quot;,&quot;show&quot;:&quot;one number&quot;}"'
    """
    return f' data-pick="{escape(json.dumps(pick, separators=(",", ":")))}"' if pick else ""


def stop(side: str, first: bool) -> str:
    """Return the attributes of a label that the keyboard reaches: by the Tab key if it is the
    first one on its side, by the arrow keys otherwise. ``hands.js`` moves the focus."""
    return f" data-stop={side} tabindex={0 if first else -1}"


def escape(text: str) -> str:
    """Make a text safe inside HTML, in attributes too."""
    return html.escape(str(text), quote=True)
