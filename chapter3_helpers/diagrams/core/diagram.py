"""A diagram: a graph that shows itself, as a picture or live."""

from typing import Any

from chapter3_helpers.diagrams.core import svg
from chapter3_helpers.diagrams.core.drawing import draw
from chapter3_helpers.diagrams.core.graph import Graph


class Diagram(Graph):
    """A ``Graph``, with its arguments and errors, that can be shown.

    Standing on the last line of a cell it is shown as a picture with its description in words; an
    explorer shows it by ``svg``.
    """

    def figure(self) -> Any:
        """Return the picture for the page, a matplotlib figure with its description."""
        from chapter3_helpers.diagrams.core import png  # here: explorers draw without matplotlib

        return png.draw(draw(self), self.description)

    def svg(self, strips: bool = False) -> str:
        """Return the drawing as SVG, for an explorer; it follows the theme of JupyterLab.

        Args:
            strips: whether each block is a button, as ``hands.js`` knows them.
        """
        # without numbers: rows of cells say theirs
        return svg.draw(draw(self), self._described(numbers=False), strips)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        return self.figure()._repr_mimebundle_(include, exclude)
