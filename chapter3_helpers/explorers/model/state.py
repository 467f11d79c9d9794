"""What there is to see of a model's weights: a window of them, drawn and measured, and one head."""

from typing import Any, NamedTuple

import torch

from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.explorers.model.measures import FIRST, Measures, measure
from chapter3_helpers.explorers.model.pixels import Tiles, Window, draw_tiles
from chapter3_helpers.explorers.model.reading import Reading


class ModelState(NamedTuple):
    """A window of a model's weights, and what each head does in it."""

    read: Reading
    layers: range  # places in ``read.layers``
    window: Window
    measures: Measures  # of the heads of these layers
    tiles: Tiles
    weights: torch.Tensor  # (R, S), of the chosen head
    order: list[tuple[int, int]]  # layer and head, the largest by a measure first
    off: tuple[tuple[int, int], ...] = ()  # heads
    answers: Any = None  # of a model: with all heads, and with these off


@as_torch_starts()
def model_state(
    read: Reading,
    *,
    sort: str,
    without_first: bool,
    layers: range,
    rows: range,
    columns: range,
    layer: int,
    head: int,
) -> ModelState:
    """Return what there is to see of some layers, rows and columns, and of one head."""
    without_first = without_first and not read.cross  # of another text none is the first
    drawn = without_first, layers, rows, columns
    if drawn not in read.drawn:  # another head needs no new picture
        read.drawn[drawn] = _draw(read, *drawn)
    window, measures, tiles = read.drawn[drawn]
    weights, order = read.rest if without_first else read.layers, []
    if sort in measures:
        places = [(i, j) for i in layers for j in range(len(weights[i]))]
        order = [places[n] for n in measures[sort].order()]
    chosen = weights[layer][head]
    return ModelState(read, layers, window, measures, tiles, chosen, order)


def _draw(
    read: Reading, without_first: bool, layers: range, rows: range, columns: range
) -> tuple[Window, Measures, Tiles]:
    text = {"cross": read.cross, "causal": read.causal, "is_text": read.is_text}
    chosen, left_out = [read.layers[i] for i in layers], None
    measures = measure(chosen, read.tokens, rows, **text, without_first=False)
    if without_first:  # the share that it gets is that of the whole
        chosen, left_out = [read.rest[i] for i in layers], read.start
        rest = measure(chosen, read.tokens, rows, **text, without_first=True)
        measures = rest | {FIRST: measures[FIRST]}
    window = Window(rows, columns, read.causal, read.first, left_out)
    return window, measures, draw_tiles(chosen, [read.numbers[i] for i in layers], window)
