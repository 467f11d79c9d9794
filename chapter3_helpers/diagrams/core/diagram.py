"""A diagram: a graph that shows itself, as a picture with its words or live."""

from typing import Any

from chapter3_helpers.diagrams.core import svg
from chapter3_helpers.diagrams.core.graph import Graph
from chapter3_helpers.diagrams.core.words import describe


class Diagram(Graph):
    """Blocks on a grid, the arrows between them, and the brackets around them.

    Standing on the last line of a cell it is shown as a picture with its description in words;
    an explorer shows it by ``svg``.

    Args:
        title: one line on what it shows.
        blocks: ``Block`` and ``Plane``, in the order in which they are read.
        arrows: ``Arrow``.
        brackets: ``Bracket``.
        cell: how large a cell is at most, in pixels.
        note: what stands below the title, such as what the letters of shapes mean.

    Raises:
        ValueError: two blocks have one name, an arrow names a block that is not there, or could not
            get through without crossing one.
    """

    @property
    def description(self) -> str:
        """The diagram in words: arrows, then the numbers of its blocks."""
        return describe(self)

    def figure(self) -> Any:
        """Return the picture for the page, a matplotlib figure with its description."""
        from chapter3_helpers.diagrams.core import png  # here: explorers draw without matplotlib

        return png.draw(self, self.description)

    def svg(self, strips: bool = False) -> str:
        """Return the drawing as SVG, for an explorer; it follows the theme of JupyterLab.

        Args:
            strips: whether each block is a button, as ``hands.js`` knows them.
        """
        return svg.draw(self, strips)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        return self.figure()._repr_mimebundle_(include, exclude)

    def __repr__(self) -> str:
        return self.description
