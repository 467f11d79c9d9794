"""What diagrams are made of and how they are drawn; the files beside this folder use it.

``parts``     ``Block`` and ``Plane``, which stand in a diagram, ``Arrow`` and ``Bracket``
``graph``     ``Graph``: parts that fit together, and the ways that arrows take
``diagram``   ``Diagram``: a graph with its words, that shows itself in both forms
``layout``    where everything stands, in pixels
``drawing``   what is drawn there, as a ``scene`` of lines, boxes, texts and cells
``painting``  how blocks and planes look
``png``       a scene as a picture, by matplotlib
``svg``       a scene as SVG, for explorers
"""

from chapter3_helpers.diagrams.core.diagram import Diagram
from chapter3_helpers.diagrams.core.parts import Arrow, Block, Bracket, Plane, one_word

__all__ = ["Arrow", "Block", "Bracket", "Diagram", "Plane", "one_word"]
