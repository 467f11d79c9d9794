"""What tests of diagrams share."""

from itertools import combinations, pairwise

import numpy as np

from chapter3_helpers.diagrams import Diagram
from chapter3_helpers.diagrams.core.drawing import draw
from chapter3_helpers.diagrams.core.layout import WIDEST, Layout
from chapter3_helpers.diagrams.core.scene import Cells, Group, Line, Text, text_width

PARTS = ("queries", "keys", "values", "scores", "scaled", "weights", "context")


def numbers(*shape: int) -> np.ndarray:
    """The same numbers whenever they are asked for."""
    return np.random.default_rng(0).normal(size=shape)


def attention(tokens=5, d_in=3, d=2, heads=None):
    """All the arrays from x to context, worked out plainly."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(tokens, d_in))
    lead = () if heads is None else (heads,)
    queries, keys, values = (x @ generator.normal(size=(*lead, d_in, d)) for _ in range(3))
    scores = queries @ keys.swapaxes(-1, -2)
    hidden = np.triu(np.ones((tokens, tokens), bool), 1)
    weights = np.exp(np.where(hidden, -np.inf, scores / d**0.5))
    weights /= weights.sum(-1, keepdims=True)
    parts = (queries, keys, values, scores, scores / d**0.5, weights, weights @ values)
    return {"x": x, "hidden": hidden, **dict(zip(PARTS, parts, strict=True))}


def without(arrays, *names):
    return {name: array for name, array in arrays.items() if name not in names}


def parts_of(*blocks) -> list:
    """All that is drawn of a diagram, or of blocks."""
    (diagram,) = blocks if isinstance(blocks[0], Diagram) else [Diagram("t", blocks)]
    return [part for item in draw(diagram).items for part in getattr(item, "items", [item])]


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
    for line in arrows:
        for box, text in texts:
            assert not crosses(line, box), f"an arrow crosses {text!r}"
        for box in cells:
            assert not crosses(line, box), "an arrow crosses cells"
    for box, text in texts:
        assert box[0] >= 0, f"{text!r} is cut off"
        assert box[2] <= scene.width + 1, f"{text!r} is cut off"


def text_box(text: Text) -> tuple[float, float, float, float]:
    wide = text_width(text.text, text.size, text.bold)
    left = text.x - {"start": 0, "middle": wide / 2, "end": wide}[text.anchor]
    return left, text.y - 0.72 * text.size, left + wide, text.y + 0.1 * text.size


def overlap(a: tuple, b: tuple) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def crosses(line: tuple, box: tuple) -> bool:
    """Whether a straight line between two points passes through the inside of a box."""
    (x, y), (x1, y1) = line
    first, last = 0.0, 1.0  # the part of the line that is within the box
    for start, step, low, high in ((x, x1 - x, box[0], box[2]), (y, y1 - y, box[1], box[3])):
        if step:
            a, b = sorted(((low - start) / step, (high - start) / step))
            first, last = max(first, a), min(last, b)
        elif not low < start < high:
            return False
    return first < last
