"""An invisible widget that listens beside the picture of an explorer; ``hands.js`` says to what.

The picture itself stays plain HTML, so that it is there wherever this script cannot run.
"""

import importlib.resources
from collections.abc import Callable, Mapping
from typing import Any

import anywidget

FOLDER = importlib.resources.files(__package__)
SCRIPT = FOLDER.joinpath("hands.js").read_text("utf-8")
WIDGET = FOLDER.joinpath("hands_widget.js").read_text("utf-8")


class Hands(anywidget.AnyWidget):
    """Hands what is picked in the picture to a function.

    A pick is a message and no trait: picking the same cell twice has to act twice.

    Args:
        pick: is called with the settings that a click changes, such as ``{"row": 2, "column": 0}``.
    """

    _esm = SCRIPT + WIDGET

    def __init__(self, pick: Callable[[Mapping[str, Any]], None]):
        super().__init__(layout={"display": "none"})
        self.on_msg(lambda _widget, settings, _buffers: pick(settings))
