"""Weights as pictures: a pixel for each, or for the largest of several.

A small picture of a large matrix shows the largest weight of each block. By the nearest pixel a
head that looks at the token before would show no pixel at all.
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
from torch.nn.functional import adaptive_max_pool2d

from chapter3_helpers._figures.colours import LEVELS, WEIGHT_COLOURS, palette
from chapter3_helpers.explorers.core.panels import HIDDEN

WIDE, HIGH = 360, 400  # pixels for all heads together, as long as each has SMALLEST
SMALLEST, LARGEST = 12, 60  # pixels of a head, the gap to the next one included
GAP = 2
_HIDDEN, _NOTHING = LEVELS + 1, LEVELS + 2  # places in the palette behind those of weights
_COLOURS = [part for colour in palette(WEIGHT_COLOURS) for part in bytes.fromhex(colour[1:])]


@dataclass(frozen=True)
class Window:
    """Which rows and which columns of all weights are drawn."""

    rows: range
    columns: range
    causal: bool  # whether a later token is hidden
    first: int = 0  # the place of the first row's token

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    def of(self, weights: torch.Tensor) -> torch.Tensor:
        """Return the part of (..., R, S) that is drawn."""
        rows, columns = self.rows, self.columns
        return weights[..., rows.start : rows.stop, columns.start : columns.stop]

    def hidden(self, high: int, wide: int) -> np.ndarray:
        """Return which of high times wide blocks of the window belong to later tokens."""
        middles = [
            part.start + (np.arange(count) + 0.5) * len(part) / count
            for part, count in ((self.rows, high), (self.columns, wide))
        ]
        return self.causal & (middles[1][None, :] > middles[0][:, None] + self.first + 1e-6)

    def levels(self, weights: torch.Tensor) -> np.ndarray:
        """Return the place of every weight of blocks (..., high, wide) in the palette."""
        levels = (weights.clamp(max=1) * LEVELS).round().to(torch.uint8).numpy()
        return np.where(self.hidden(*levels.shape[-2:]), np.uint8(_HIDDEN), levels)


def png(places: np.ndarray) -> str:
    """Return places in the palette (rows, columns) as the address of a PNG that is all in it."""
    image = Image.fromarray(places, "P")
    image.putpalette([*_COLOURS, *HIDDEN, 0, 0, 0])
    file = io.BytesIO()
    image.save(file, "PNG", transparency=_NOTHING, compress_level=6)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


@dataclass(frozen=True)
class Tiles:
    """All heads of some layers, drawn once: a row for each layer."""

    picture: str  # the address of the PNG
    tile: tuple[int, int]  # width and height of a head, the gap included
    numbers: tuple[int, ...]  # of the layers
    heads: tuple[int, ...]  # how many each layer has


def draw_tiles(layers: Sequence[torch.Tensor], numbers: Sequence[int], window: Window) -> Tiles:
    """Draw a window of the weights of some layers, (H, T, S) each."""
    heads = tuple(len(layer) for layer in layers)
    counts = R, S = window.shape
    room = min(WIDE // max(heads), HIGH // len(layers))
    longest = max(SMALLEST, min(LARGEST, room)) - GAP
    sides = [max(4, round(longest * count / max(counts))) for count in counts]
    # a side with fewer weights than pixels has as many pixels for each of them
    high, wide = (
        side if side < count else side // count * count
        for side, count in zip(sides, counts, strict=True)
    )
    size = len(layers) * (high + GAP), max(heads) * (wide + GAP)
    canvas = np.full(size, _NOTHING, dtype=np.uint8)
    for i, layer in enumerate(layers):
        blocks = adaptive_max_pool2d(window.of(layer), (min(high, R), min(wide, S)))
        small = window.levels(blocks)
        small = small.repeat(high // small.shape[1], 1).repeat(wide // small.shape[2], 2)
        for j, head in enumerate(small):
            top, left = i * (high + GAP), j * (wide + GAP)
            canvas[top : top + high, left : left + wide] = head
    return Tiles(png(canvas), (wide + GAP, high + GAP), tuple(numbers), heads)
