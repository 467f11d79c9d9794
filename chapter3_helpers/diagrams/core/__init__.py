"""What diagrams are made of and how they are drawn, in the order in which a diagram is made:

``parts``     ``Block`` and ``Plane``, which stand in a diagram, ``Arrow`` and ``Bracket``
``graph``     parts that fit together, and what they are in words
``routes``    which ways arrows take
``layout``    where everything stands, in pixels
``drawing``   what is drawn: a ``scene`` of lines, boxes, texts, cells
``painting``  how blocks and planes look
``png``       a scene as a picture, by matplotlib
``svg``       a scene as SVG, for explorers
``diagram``   ``Diagram``: a graph that shows itself in both forms

A topic's file needs the first and the last alone.
"""

from chapter3_helpers.diagrams.core.diagram import Diagram
from chapter3_helpers.diagrams.core.parts import Arrow, Block, Bracket, Plane, one_word

__all__ = ["Arrow", "Block", "Bracket", "Diagram", "Plane", "one_word"]
