"""What diagrams are made of and how they are drawn; the files beside this folder use it.

============  ======================================================================
file          what it holds
============  ======================================================================
``blocks``    ``Block`` and ``Plane``: what stands in a diagram
``arrows``    ``Arrow`` and ``Bracket``: what joins it
``graph``     ``Graph``: what fits together, and the ways that arrows take
``words``     its description
``routes``    which way an arrow takes through the grid
``layout``    where everything stands, in pixels
``drawing``   what is drawn there, as a ``scene`` of lines, boxes, texts and cells
``painting``  how blocks look; ``plane`` does vectors, ``shades`` the colours of numbers
``png``       a scene as a picture, by matplotlib
``svg``       a scene as SVG, for explorers
``diagram``   ``Diagram``: a graph with its words and both forms
============  ======================================================================
"""

from chapter3_helpers.diagrams.core.arrows import Arrow, Bracket
from chapter3_helpers.diagrams.core.blocks import Block, Plane
from chapter3_helpers.diagrams.core.diagram import Diagram

__all__ = ["Arrow", "Block", "Bracket", "Diagram", "Plane"]
