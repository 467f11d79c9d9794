"""What there is to see of a model's weights: a window of them, drawn and measured, and one head."""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch

from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.explorers.model.measures import Measures, measure
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


@as_torch_starts()
def model_state(
    read: Reading, *, layers: range, rows: range, columns: range, layer: int, head: int
) -> ModelState:
    """Return what there is to see of some layers, rows and columns, and of one head."""
    known = _DRAWN.setdefault(read, {})
    if (layers, rows, columns) not in known:
        chosen = [read.layers[i] for i in layers]
        window = Window(rows, columns, read.causal, read.first)
        text = {"cross": read.cross, "causal": read.causal, "is_text": read.is_text}
        measures = measure(chosen, read.tokens, rows, **text)
        tiles = draw_tiles(chosen, [read.numbers[i] for i in layers], window)
        known[layers, rows, columns] = window, measures, tiles
    window, measures, tiles = known[layers, rows, columns]
    return ModelState(read, layers, window, measures, tiles, read.layers[layer][head])


_DRAWN: WeakKeyDictionary[Reading, dict] = WeakKeyDictionary()  # another head needs no new picture
