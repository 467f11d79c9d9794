"""What tests of diagrams share."""

from itertools import combinations, pairwise

from chapter3_helpers.diagrams import Diagram
from chapter3_helpers.diagrams.core.drawing import draw
from chapter3_helpers.diagrams.core.layout import WIDEST, Layout
from chapter3_helpers.diagrams.core.scene import Cells, Group, Line, Text, text_width


def check_drawing(diagram: Diagram) -> None:
    """Assert that a diagram is legible: narrow enough, and nothing overlaps."""
    width = Layout(diagram).width
    assert width <= WIDEST, f"{width:.0f} pixels wide"
    check_overlaps(diagram)


def check_overlaps(diagram: Diagram) -> None:
    """Assert that no texts and no cells overlap, and that no arrow crosses any of them."""
    scene = draw(diagram)
    texts, cells, arrows = [], [], []
    for item in scene.items:
        for part in item.items if isinstance(item, Group) else [item]:
            if isinstance(part, Text):
                texts.append((text_box(part), part.text))
            elif isinstance(part, Cells):
                rows, columns = len(part.colours), len(part.colours[0])
                right, bottom = part.x + columns * part.cell[0], part.y + rows * part.cell[1]
                cells.append((part.x, part.y, right, bottom))
            elif isinstance(part, Line) and not isinstance(item, Group):
                arrows.extend(pairwise(part.points))
    for (a, first), (b, second) in combinations(texts, 2):
        assert not overlap(a, b), f"{first!r} and {second!r} overlap"
    for a, b in combinations(cells, 2):
        assert not overlap(a, b), "cells overlap"
    for (x0, y0), (x1, y1) in arrows:
        if x0 == x1 or y0 == y1:
            line = (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
            for box, text in texts:
                assert not overlap(line, box), f"an arrow crosses {text!r}"
            for box in cells:
                assert not overlap(line, box), "an arrow crosses cells"
    for box, text in texts:
        assert box[0] >= 0, f"{text!r} is cut off"
        assert box[2] <= scene.width + 1, f"{text!r} is cut off"


def text_box(text: Text) -> tuple[float, float, float, float]:
    wide = text_width(text.text, text.size, text.bold)
    left = text.x - {"start": 0, "middle": wide / 2, "end": wide}[text.anchor]
    return left, text.y - 0.72 * text.size, left + wide, text.y + 0.1 * text.size


def overlap(a: tuple, b: tuple) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
