"""What there is to see of a model's weights: a window of them, drawn and measured, and one head."""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

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
    measures: Measures  # (N, names)
    tiles: Tiles
    weights: torch.Tensor  # (R, S), of the chosen head
    order: list[tuple[int, int]]  # layer and head, the largest by a measure first
    left_out: int | None = None  # the key without which they are shown
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
    known, key = _DRAWN.setdefault(read, {}), (without_first, layers, rows, columns)
    left_out, weights = (read.start, read.rest) if without_first else (None, read.layers)
    if key not in known:
        text = {"cross": read.cross, "causal": read.causal, "is_text": read.is_text}
        measures = measure([read.layers[i] for i in layers], read.tokens, rows, **text)
        chosen = [weights[i] for i in layers]
        if without_first:  # the share that it gets is that of the whole
            rest = measure(chosen, read.tokens, rows, **text, without_first=True)
            measures = rest.instead(FIRST, measures)
        window = Window(rows, columns, read.causal, read.first, left_out)
        tiles = draw_tiles(chosen, [read.numbers[i] for i in layers], window)
        known[key] = window, measures, tiles
    window, measures, tiles = known[key]
    order = []
    if sort in measures.names:
        places = [(i, j) for i in layers for j in range(len(weights[i]))]
        order = [places[n] for n in measures.order(sort)]
    chosen = weights[layer][head]
    return ModelState(read, layers, window, measures, tiles, chosen, order, left_out)


_DRAWN: WeakKeyDictionary[Reading, dict] = WeakKeyDictionary()  # another head needs no new picture
