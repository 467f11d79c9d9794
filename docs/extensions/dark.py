"""Give every heatmap a second picture for the dark theme: the cells as they are, on no ground.

A heatmap is drawn on white, and in its cells more is darker, in the dark theme too; so its colours
cannot be turned round as those of a diagram are. What lies around the cells is taken off, and the
words there are written in white. Which pictures are heatmaps, these say themselves: ``pages`` gives
them the class ``cells``.
"""

from pathlib import Path
from typing import Any

import numpy as np
from docutils import nodes
from PIL import Image, ImageDraw
from sphinx.application import Sphinx

INK = (206, 214, 221)  # of the theme's text on its dark ground
WHITE = 245  # what is at least as light belongs to the ground
LETTER = 10  # pixels; no letter fills a square of this width, as all cells and scales do


def darkened(picture: Image.Image) -> Image.Image:
    """Return a heatmap for a dark page."""
    rgba = picture.convert("RGBA")
    on_white = Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")
    pixels = np.asarray(on_white)
    light = Image.fromarray(np.where(pixels.min(axis=2) >= WHITE, 255, 0).astype(np.uint8))
    framed = Image.new("L", (light.width + 2, light.height + 2), 255)
    framed.paste(light, (1, 1))
    ImageDraw.floodfill(framed, (0, 0), 128)  # the ground; white cells have a border around them
    cells = opened(np.asarray(framed)[1:-1, 1:-1] != 128, LETTER)
    words = np.zeros((*pixels.shape[:2], 4), np.uint8)
    words[..., :3] = INK
    words[..., 3] = 255 - pixels.min(axis=2)
    words[cells] = np.dstack([pixels, np.full(pixels.shape[:2], 255, np.uint8)])[cells]
    return Image.fromarray(words)


def opened(mask: np.ndarray, width: int) -> np.ndarray:
    """Return what of a mask lies in squares of some width that are all in it."""

    def counted(cells: np.ndarray) -> np.ndarray:  # of each square, by its upper left corner
        sums = np.pad(cells.astype(int).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
        return (
            sums[width:, width:]
            - sums[:-width, width:]
            - sums[width:, :-width]
            + sums[:-width, :-width]
        )

    whole = counted(mask) == width * width
    return counted(np.pad(whole, width - 1)) > 0


def add_dark(app: Sphinx, doctree: nodes.document) -> None:
    """Put the second picture beside each heatmap; the theme shows one of the two."""
    for image in list(doctree.findall(nodes.image)):
        if "cells" not in image["classes"]:
            continue
        source = Path(app.srcdir, image["uri"].lstrip("/"))
        target = source.with_name(f"{source.stem}-dark.png")
        with Image.open(source) as picture:
            darkened(picture).save(target)
        dark = image.deepcopy()
        dark["uri"] = image["uri"].replace(source.name, target.name)
        dark["classes"] = [*image["classes"], "only-dark"]
        image["classes"] = [*image["classes"], "only-light"]
        image.parent.insert(image.parent.index(image) + 1, dark)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", add_dark, priority=400)  # before Sphinx collects the pictures
    return {"parallel_read_safe": True, "parallel_write_safe": True}
