"""How vectors in a plane look: arrows from the origin, a shadow, an angle, a clock."""

import math

import numpy as np

from chapter3_helpers.diagrams.core.blocks import Plane
from chapter3_helpers.diagrams.core.scene import Box, Line, Point, Text, text_width
from chapter3_helpers.diagrams.core.shades import HUES


def paint_plane(plane: Plane, left: float, top: float) -> list:
    """Draw a plane from its upper left corner."""
    size, half = plane.size, plane.size / 2
    scale = half / plane.reach
    origin = (left + half, top + half)

    def spot(vector) -> Point:
        return origin[0] + scale * float(vector[0]), origin[1] - scale * float(vector[1])

    def arc(radius: float, start: float, end: float, tone: str, width: float) -> Line:
        turns = np.linspace(start, end, 60)
        return Line(
            [spot((radius * math.cos(t), radius * math.sin(t))) for t in turns], tone, width
        )

    items: list = [
        Box(left, top, size, size, "ground", "faint", 1, 4),
        Line([(left + 4, origin[1]), (left + size - 4, origin[1])], "faint", 1),
        Line([(origin[0], top + 4), (origin[0], top + size - 4)], "faint", 1),
    ]
    if plane.circle:
        items.append(arc(1.0, 0.0, 2 * math.pi, "faint", 1))
    if plane.angle is not None:
        a, b = plane.vectors[list(plane.angle)]
        start = math.atan2(a[1], a[0])
        radius = 0.35 * min(float(np.hypot(*a)), float(np.hypot(*b)))
        items.append(arc(radius, start, start + plane.turned(), "ink", 1.5))
    if plane.shadow is not None:
        foot = spot(plane.shadow_of())
        items += [
            Line([spot(plane.vectors[plane.shadow[0]]), foot], "soft", 1.5, dashed=True),
            Line([origin, foot], "shadow", 7),
        ]
    at_tip: dict[tuple, list[str]] = {}
    for vector, label, kind in zip(plane.vectors, plane.labels, plane.kinds, strict=True):
        items.append(Line([origin, spot(vector)], HUES.get(kind, "ink"), 2.5, head=True))
        if label:
            at_tip.setdefault(tuple(np.round(vector, 6) + 0.0), []).append(label)
    for tip, labels in at_tip.items():  # vectors that end in the same place share their words
        items.append(_tip(spot(tip), origin, ", ".join(labels), (left, left + size)))
    return items


def _tip(tip: Point, origin: Point, label: str, sides: tuple[float, float]) -> Text:
    """Write a vector's label just beyond its tip, and within the plane."""
    x, y = tip[0] - origin[0], tip[1] - origin[1]
    length = math.hypot(x, y) or 1.0
    half = text_width(label, bold=True) / 2
    middle = tip[0] + (6 + half) * x / length
    inside = min(max(middle, sides[0] + half + 2), sides[1] - half - 2)
    baseline = tip[1] + 12 * y / length + 4
    if abs(inside - middle) > 4:  # it was moved, and would lie on the arrow
        baseline = tip[1] + (-9 if y <= 0 else 17)
    return Text(inside, baseline, label, 12, "middle", True)
