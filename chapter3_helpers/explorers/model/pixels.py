"""Weights as pictures: a pixel for each, or for the largest of several.

A small picture of a large matrix shows the largest weight of each block. By the nearest pixel a
head that looks at the token before would show no pixel at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.nn.functional import adaptive_max_pool2d

from chapter3_helpers._figures.colours import LEVELS
from chapter3_helpers.explorers.core.style import HIDDEN, NOTHING, png

# Pixels for all heads together, where they stand beside one of them and where they stand above it,
# as long as each has SMALLEST.
BESIDE, ABOVE = (360, 400), (1080, 270)
SMALLEST, LARGEST = 12, 60  # pixels of a head, the gap to the next one included
ENOUGH = 24  # of these; smaller heads stand where they have more room
GAP = 2


@dataclass(frozen=True)
class Window:
    """Which rows and which columns of all weights are drawn."""

    rows: range
    columns: range
    causal: bool  # whether a later token is hidden
    first: int = 0  # the place of the first row's token
    left_out: int | None = None  # the key that is not looked at

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    def of(self, weights: torch.Tensor) -> torch.Tensor:
        """Return the part of (..., R, S) that is drawn."""
        rows, columns = self.rows, self.columns
        return weights[..., rows.start : rows.stop, columns.start : columns.stop]

    def hidden(self, high: int, wide: int) -> np.ndarray:
        """Return which of high times wide blocks belong to later tokens, or are left out."""
        middles = [
            part.start + (np.arange(count) + 0.5) * len(part) / count
            for part, count in ((self.rows, high), (self.columns, wide))
        ]
        later = middles[1][None, :] > middles[0][:, None] + self.first + 1e-6
        hidden = self.causal & later
        if self.left_out in self.columns and wide == len(self.columns):
            hidden[:, self.left_out - self.columns.start] = True
        return hidden

    def levels(self, weights: torch.Tensor) -> np.ndarray:
        """Return the place of every weight of blocks (..., high, wide) in the palette."""
        levels = (weights.clamp(max=1) * LEVELS).round().to(torch.uint8).numpy()
        return np.where(self.hidden(*levels.shape[-2:]), np.uint8(HIDDEN), levels)


@dataclass(frozen=True)
class Tiles:
    """All heads of some layers, drawn once: a row for each layer."""

    picture: str  # the address of the PNG
    tile: tuple[int, int]  # width and height of a head, the gap included
    numbers: tuple[int, ...]  # of the layers
    heads: tuple[int, ...]  # how many each layer has
    above: bool = False  # whether they are to stand above one head, and not beside it
    turned: bool = False  # whether a layer is a column, and not a row

    @property
    def counts(self) -> tuple[int, int]:
        """How many heads there are across and down."""
        counts = max(self.heads), len(self.heads)
        return counts[::-1] if self.turned else counts

    def corner(self, layer: int, head: int) -> tuple[int, int]:
        """Return where a head begins, in pixels."""
        across, down = (layer, head) if self.turned else (head, layer)
        return across * self.tile[0], down * self.tile[1]


def draw_tiles(layers: Sequence[torch.Tensor], numbers: Sequence[int], window: Window) -> Tiles:
    """Draw a window of the weights of some layers, (H, T, S) each."""
    heads = tuple(len(layer) for layer in layers)
    counts = R, S = window.shape
    fewer, more = sorted((max(heads), len(layers)))
    beside = min(LARGEST, BESIDE[0] // max(heads), BESIDE[1] // len(layers))
    above = min(LARGEST, ABOVE[0] // more, ABOVE[1] // fewer)
    stand_above = beside < min(above, ENOUGH)
    longest = max(SMALLEST, above if stand_above else beside) - GAP
    sides = [max(4, round(longest * count / max(counts))) for count in counts]
    # a side with fewer weights than pixels has as many pixels for each of them
    high, wide = (
        side if side < count else round(side / count) * count
        for side, count in zip(sides, counts, strict=True)
    )
    turned = stand_above and len(layers) > max(heads)
    tiles = Tiles("", (wide + GAP, high + GAP), tuple(numbers), heads, stand_above, turned)
    # where each weight has an even number of pixels, the picture is stored in half its size
    zoom = 2 if all(n % (2 * count) == 0 for n, count in ((high, R), (wide, S))) else 1
    high, wide, gap = high // zoom, wide // zoom, GAP // zoom
    across, down = tiles.counts
    canvas = np.full((down * (high + gap), across * (wide + gap)), NOTHING, dtype=np.uint8)
    for i, layer in enumerate(layers):
        blocks = adaptive_max_pool2d(window.of(layer), (min(high, R), min(wide, S)))
        small = window.levels(blocks)
        small = small.repeat(high // small.shape[1], 1).repeat(wide // small.shape[2], 2)
        for j, head in enumerate(small):
            left, top = (pixels // zoom for pixels in tiles.corner(i, j))
            canvas[top : top + high, left : left + wide] = head
    return replace(tiles, picture=png(canvas, indexed=True))
