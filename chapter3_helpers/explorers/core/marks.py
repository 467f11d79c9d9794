"""What a picture says of itself to ``hands.js`` and ``explorers.css``: all names after ``data-``.

A cell stands for a query and a key, say, and a click on it changes those settings that its picture
names. ``hands.js`` has the table of what each name holds; a test keeps both complete.
"""

import json
from collections.abc import Mapping
from typing import Any

from chapter3_helpers.explorers.core.style import escape

# Which number of what something stands for; strips are the parts of a diagram, and have names.
SIDES = {"query": "q", "key": "k", "row": "r", "column": "c"}
PICKED = (*SIDES.values(), "strip")
BY_PICTURES = (*PICKED, "click", "stop", "drag", "board", "cells", "hint", "hidden")
BY_SCRIPT = ("hands", *(f"{at}-{side}" for at in ("at", "pointed") for side in PICKED))


def mark(side: str, number: int) -> str:
    """Return the attribute that says which query, key, row or column something is.

    >>> mark("query", 3), mark("", 3)
    (' data-q=3', '')
    """
    return f" data-{SIDES[side]}={number}" if side else ""


def stop(name: str, first: bool) -> str:
    """Return the attributes of a label that the keyboard reaches: by the Tab key if it is the
    first one of that name, by the arrow keys otherwise. ``hands.js`` moves the focus."""
    return f" data-stop={name} tabindex={0 if first else -1}"


def click_attribute(click: Mapping[str, Any] | None) -> str:
    """Return the attribute that says which settings a click changes; ``hands.js`` reads it.

    >>> click_attribute({"q": "row", "show": "one number"})
    ' data-click="{&quot;q&quot;:&quot;row&quot;,&quot;show&quot;:&quot;one number&quot;}"'
    """
    return f' data-click="{escape(json.dumps(click, separators=(",", ":")))}"' if click else ""


def clicked_settings(click: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings that a click changes.

    >>> clicked_settings({"q": "row", "show": "one number"})
    ['row', 'show']
    """
    return [value if name in PICKED else name for name, value in click.items()]
