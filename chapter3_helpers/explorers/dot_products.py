"""The explorer of ``01_dot_products``: two arrows, their angle and their dot product."""

import math

import torch

from chapter3_helpers.explorers.controls import Settings, Slider
from chapter3_helpers.explorers.drawings import Arrows, Curves
from chapter3_helpers.explorers.panels import Facts, Note, Panel
from chapter3_helpers.explorers.widget import explorer_function

CONTROLS = (
    Slider("angle", "angle in degrees", 60, "How far b is turned away from a", low=0, high=180),
    Slider("length_a", "length of a", 1.0, "How long the arrow a is", low=0.0, high=2.0, step=0.1),
    Slider("length_b", "length of b", 1.5, "How long the arrow b is", low=0.0, high=2.0, step=0.1),
)


def dot_products_state(settings: Settings) -> dict[str, torch.Tensor]:
    """Return the vectors a and b, (2,) each, and their dot product."""
    radians = math.radians(settings["angle"])
    a = settings["length_a"] * torch.tensor([1.0, 0.0])
    b = settings["length_b"] * torch.tensor([math.cos(radians), math.sin(radians)])
    return {"a": a, "b": b, "dot": torch.dot(a, b)}


def dot_products_panels(settings: Settings) -> list[Panel]:
    """Return the drawing, the sum of products, and the dot product at every angle."""
    state = dot_products_state(settings)
    a, b, dot = state["a"], state["b"], state["dot"].item()
    products = " + ".join(f"({x:.2f})({y:.2f})" for x, y in zip(a, b, strict=True))
    facts = {
        "a": f"({a[0]:.4f}, {a[1]:.4f})",
        "b": f"({b[0]:.4f}, {b[1]:.4f})",
        "multiply and sum": f"{products} = {dot:.4f}",
        "length times shadow": f"{settings['length_a']:.2f} · {b[0]:.4f} = {dot:.4f}",
    }
    angles = torch.arange(0, 181, 5)
    curve = settings["length_a"] * settings["length_b"] * torch.cos(torch.deg2rad(angles))
    return [
        Note(_note(settings["angle"], dot)),
        Arrows("two arrows", {"a": tuple(a.tolist()), "b": tuple(b.tolist())}, reach=2.2),
        Facts(facts, "their dot product"),
        Curves(
            "dot product at every angle, for these lengths",
            "angle in degrees",
            "dot product",
            angles,
            {"dot product": curve},
            mark=settings["angle"],
        ),
    ]


def _note(angle: int, dot: float) -> str:
    if abs(dot) < 5e-5:
        return "The dot product is 0: the arrows stand at a right angle, or one has no length."
    side = "less" if angle < 90 else "more"
    sign = "positive" if dot > 0 else "negative"
    return f"The angle is {side} than 90°, so the dot product is {sign}: {dot:.4f}."


def dot_products_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same dot product."""
    return [
        "import torch",
        "",
        f"radians = torch.deg2rad(torch.tensor({float(settings['angle'])}))",
        f"a = {settings['length_a']:g} * torch.tensor([1.0, 0.0])",
        f"b = {settings['length_b']:g} * torch.stack([radians.cos(), radians.sin()])",
        "dot = torch.dot(a, b)",
    ]


dot_products_explorer = explorer_function(
    "dot products", CONTROLS, dot_products_panels, dot_products_code
)
