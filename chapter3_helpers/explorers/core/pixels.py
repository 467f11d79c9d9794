"""A matrix of weights as a picture of one pixel per cell: many small heads, drawn in no time.

Twenty-four heads as tables took ten milliseconds of every step of a slider; as pictures they take
one. A browser enlarges them without smoothing.
"""

import base64
import io
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image

from chapter3_helpers._figures.arrays import hidden_cells
from chapter3_helpers._figures.colours import WEIGHT_COLOURS, shade

HIDDEN = (176, 176, 176)  # seen on a light and on a dark page


@lru_cache
def _palette() -> np.ndarray:
    """Return the colours of the weights 0, 1/255, ..., 1, and of hidden cells, (257, 3)."""
    colours = [bytes.fromhex(shade(level / 255, WEIGHT_COLOURS)[1:]) for level in range(256)]
    return np.array([*map(tuple, colours), HIDDEN], dtype=np.uint8)


def weights_image(weights: np.ndarray, hidden: Any = None) -> str:
    """Return weights (rows, columns) as the address of a PNG that is all in it."""
    hide = hidden_cells(weights, hidden)
    levels = np.rint(np.clip(np.where(hide, 0.0, weights), 0, 1) * 255).astype(int)
    pixels = _palette()[np.where(hide, 256, levels)]  # (rows, columns, 3)
    png = io.BytesIO()
    Image.fromarray(pixels).save(png, "PNG")
    return "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()
