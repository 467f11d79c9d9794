"""The explorer of ``01_dot_products``: two arrows, a shadow, and their dot product.

The heads of the arrows can be dragged. Only that turns b.
"""

import math
from typing import Any, NamedTuple

import torch

from chapter3_helpers._language import say, to_say
from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.diagrams import Diagram, Plane
from chapter3_helpers.explorers.core.controls import Clicked, Slider
from chapter3_helpers.explorers.core.drawings import Curves, Flow
from chapter3_helpers.explorers.core.panels import Facts, Note, Panel
from chapter3_helpers.explorers.core.style import written
from chapter3_helpers.explorers.core.widget import explorer_function

LONGEST, STEP = 2.0, 0.1

CONTROLS = (
    Slider(
        "angle",
        say("angle in degrees"),
        60,
        say("How far a is turned away from b"),
        low=-180,
        high=180,
    ),
    Slider(
        "length_a",
        say("length of a"),
        1.5,
        say("How long a is"),
        low=0.0,
        high=LONGEST,
        step=STEP,
    ),
    Slider(
        "length_b",
        say("length of b"),
        1.0,
        say("How long b is"),
        low=0.0,
        high=LONGEST,
        step=STEP,
    ),
    Clicked(
        "direction",
        "direction of b",
        None,
        "Where b points, in degrees, once its head was dragged",
        options=range(-180, 181),
    ),
)


class DotProductsState(NamedTuple):
    """Two vectors (2,) and their dot product."""

    a: torch.Tensor
    b: torch.Tensor
    dot: torch.Tensor


@as_torch_starts()
def dot_products_state(
    *, angle: int, length_a: float, length_b: float, direction: int | None
) -> DotProductsState:
    """Turn a away from b, and multiply."""
    along_b = math.radians(direction or 0)
    along_a = along_b + math.radians(angle)
    a = length_a * torch.tensor([math.cos(along_a), math.sin(along_a)])
    b = length_b * torch.tensor([math.cos(along_b), math.sin(along_b)])
    return DotProductsState(a, b, torch.dot(a, b))


def dot_products_panels(
    state: DotProductsState,
    *,
    angle: int,
    length_a: float,
    length_b: float,
    direction: int | None,
) -> list[Panel]:
    """Return the drawing, the dot product at every angle, and the sum of products.

    Both pictures keep their scale, whatever is moved.
    """
    a, b, dot = state.a, state.b, state.dot.item()
    products = " + ".join(f"({written(x)})({written(y)})" for x, y in zip(a, b, strict=True))
    shadow = length_a * math.cos(math.radians(angle))
    facts = {
        "a": f"({written(a[0])}, {written(a[1])})",
        "b": f"({written(b[0])}, {written(b[1])})",
        say("multiply and sum"): f"{products} = {written(dot)}",
        say("length of b · shadow of a"): (
            f"{length_b:.1f} · {written(shadow)} = {written(dot)}"
            if length_b
            else say("b points nowhere")
        ),
        say("from tip to tip"): f"{torch.dist(a, b).item():.2f}",
    }
    angles = torch.arange(-180, 181, 5)
    direction = direction or 0
    with_b = {"direction": (direction, 1), "angle": (angle, -1)}  # a stays where it is
    drags = [
        {"name": "a", **_drag("length_a", length_a, direction + angle, {"angle": (angle, 1)})},
        {"name": "b", **_drag("length_b", length_b, direction, with_b)},
    ]
    curve = length_a * length_b * torch.cos(torch.deg2rad(angles))
    return [
        Note(_note(angle, {"a": length_a, "b": length_b}, dot)),
        Flow(_drawing(a, b, drags)),
        Curves(
            say("dot product at every angle"),
            say("angle in degrees"),
            say("dot product"),
            angles,
            {say("dot product"): curve},
            mark=angle,
            limits=(-(LONGEST**2), LONGEST**2),
            ticks=(-180, -90, 0, 90, 180),
            beside=True,
        ),
        Facts(facts, say("the numbers")),
    ]


def _drag(length: str, value: float, at: int, turns: dict[str, tuple[int, int]]) -> dict[str, Any]:
    """Say what dragging the head of an arrow changes: its length, and by as many degrees as it is
    turned from where it is now, angles: name -> (value, 1 or -1)."""
    steps = {"from": round(value, 6), "longest": LONGEST, "step": STEP}
    return {"length": length, **steps, "at": at, "turns": turns}


def _drawing(a: torch.Tensor, b: torch.Tensor, drags: list[dict[str, Any]]) -> Diagram:
    plane = Plane(
        name=say("plane"),
        caption="",
        vectors=torch.stack([a, b]),
        labels=["a" if a.norm() else "", "b" if b.norm() else ""],
        kinds=["query", "key"],
        shadow=(0, 1),
        angle=(1, 0) if a.norm() and b.norm() else None,
        reach=1.1 * LONGEST,
        size=260,
        drags=drags,
    )
    return Diagram(say("The shadow of a on b: drag the heads"), [plane])


def _note(angle: int, lengths: dict[str, float], dot: float) -> str:
    without = [name for name, length in lengths.items() if length == 0]
    if len(without) == 2:
        return say(
            "a and b have length 0 and so no direction: the dot product is 0 at every angle."
        )
    if without:
        return say(
            "{name} has length 0 and so no direction: the dot product is 0 at every angle.",
            name=without[0],
        )
    if abs(angle) == 90:
        return say(
            "At a right angle a casts no shadow: the dot product is 0, whatever the lengths."
        )
    along = to_say("Less than a right angle: the shadow falls along b, dot product {dot}.")
    backwards = to_say("More than a right angle: the shadow falls backwards, dot product {dot}.")
    return say(along if abs(angle) < 90 else backwards, dot=written(dot))


dot_products_explorer = explorer_function(
    "dot_products_explorer", say("dot products"), CONTROLS, dot_products_state, dot_products_panels
)
