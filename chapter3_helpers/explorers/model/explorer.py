"""Any model's attention: all heads of all layers, and what each of them does.

Give it the attention weights that a model returned and the tokens that it read::

    outputs = model(**batch, output_attentions=True)  # loaded with attn_implementation="eager"
    model_explorer(outputs.attentions, tokenizer.convert_ids_to_tokens(batch["input_ids"][0]))

Layers and heads are counted from 0, as they were handed over.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch

from chapter3_helpers._figures.writing import short
from chapter3_helpers.explorers.core.controls import Board, Buttons, Clicked, Control, Steps
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.panels import Bars, Matrix, Note, Panel
from chapter3_helpers.explorers.core.widget import Explorer
from chapter3_helpers.explorers.model.measures import LOST, Measures, measure, sentence
from chapter3_helpers.explorers.model.montage import Large, Montage
from chapter3_helpers.explorers.model.pixels import Tiles, Window, draw_tiles
from chapter3_helpers.explorers.model.ranking import Ranking
from chapter3_helpers.explorers.model.reading import Reading, read_weights
from chapter3_helpers.explorers.model.text import Text

MOST_TOKENS, MOST_HEADS = 300, 1024  # in one picture
AS_TABLE, AS_LINES = 16, 24  # tokens, at most
LISTED = 6  # heads
LARGEST = 12  # weights of a row
AS_IS = "layer"
CLICK_ROW = {"q": "row"}


class ModelState(NamedTuple):
    """A window of a model's weights, and what each head does in it."""

    read: Reading
    layers: range  # places in ``read.layers``
    window: Window
    measures: Measures  # (N, names)
    tiles: Tiles
    weights: torch.Tensor  # (T, S), of the chosen head


def model_state(
    read: Reading, *, layers: range, rows: range, columns: range, layer: int, head: int
) -> ModelState:
    """Return what there is to see of some layers, rows and columns, and of one head."""
    known = _DRAWN.setdefault(read, {})
    if (layers, rows, columns) not in known:
        chosen, window = [read.layers[i] for i in layers], Window(rows, columns, read.causal)
        measures = measure(chosen, read.tokens, rows, cross=read.cross, causal=read.causal)
        tiles = draw_tiles(chosen, [read.numbers[i] for i in layers], window)
        known[layers, rows, columns] = window, measures, tiles
    window, measures, tiles = known[layers, rows, columns]
    return ModelState(read, layers, window, measures, tiles, read.layers[layer][head])


_DRAWN: WeakKeyDictionary[Reading, dict] = WeakKeyDictionary()  # another head needs no new picture


def model_panels(
    state: ModelState, *, sort: str, layer: int, head: int, row: int, layers: range
) -> list[Panel]:
    """Return all heads, those that come first by a measure, and one of them in large."""
    read, window, measures = state.read, state.window, state.measures
    places = [(i, j) for i in layers for j in range(len(read.layers[i]))]
    names = [f"layer {read.numbers[i]}, head {j}" for i, j in places]
    chosen = places.index((layer, head))
    listed = measures.order(sort)[:LISTED] if sort in measures.names else []
    outlined = [(places[n][0] - layers.start, places[n][1]) for n in listed]
    if chosen not in listed:
        listed = [*listed, chosen]
    queries, keys = _labels(read.tokens), _labels(read.keys)
    weights, hidden = window.of(state.weights), window.hidden(*window.shape)
    longest = max(len(queries), len(keys))
    panels: list[Panel] = [
        Montage(
            state.tiles,
            chosen=(layer - layers.start, head),
            first=layers.start,
            outlined=outlined,
            said=names[chosen],
        ),
        Note(sentence(measures, chosen, names[chosen].capitalize()) + _passed_over(state)),
        Ranking(
            measures,
            listed,
            [places[n] for n in listed],
            read.numbers,
            chosen,
            sort,
        ),
    ]
    if longest <= AS_TABLE:
        marked = {"hidden": hidden, "marked_row": row, "click": CLICK_ROW}
        panels.append(Matrix(names[chosen], weights, queries, keys, **marked))
    else:
        panels.append(Large(names[chosen], weights, window, row, queries[row]))
    panels.append(_row(state, row, f"where {queries[row]} looks", keys))
    if longest <= AS_LINES:
        panels.append(
            Lines("the same, as lines", weights, queries, keys, hidden, row, click=CLICK_ROW)
        )
    else:
        panels += _texts(state, row)
    return panels


def _labels(tokens: Sequence[str]) -> list[str]:
    return [f"{i} {short(visible(token))}" for i, token in enumerate(tokens)]


def visible(token: str) -> str:
    """Return a token so that it can be seen, and stays on one line.

    >>> visible("two\\n"), visible("")
    ('two↵', '(empty)')
    """
    return token.translate(SIGNS) or "(empty)"


SIGNS = {ord("\n"): "↵", ord("\r"): "↵", ord("\t"): "⇥"}


def _passed_over(state: ModelState) -> str:
    """Say what is not shown, if there is anything."""
    read, said = state.read, []
    parts = [
        ("layers", state.layers, len(read.layers)),
        ("rows", state.window.rows, len(read.tokens)),
        ("columns", state.window.columns, len(read.keys)),
    ]
    cut = [
        f"{name} {part.start} to {part.stop - 1} of {count:,}"
        for name, part, count in parts
        if len(part) < count
    ]
    if cut:
        said.append(f" Shown are {', '.join(cut)}.")
    if read.unread:
        said.append(f" “{visible(read.unread[0])}” was generated last and has no row yet.")
    return "".join(said)


def _row(state: ModelState, row: int, title: str, keys: Sequence[str]) -> Bars:
    """Return the numbers of one row: all, or the largest of them and what the others sum to."""
    weights = state.weights[row]
    nowhere = 1 - weights.sum().item()
    numbers = range(row + 1 if state.read.causal else len(weights))
    if len(numbers) > LARGEST:
        numbers = weights[: len(numbers)].topk(LARGEST).indices.sort().values.tolist()
    named = {keys[k]: weights[k].item() for k in numbers}
    others = len(weights[: row + 1] if state.read.causal else weights) - len(named)
    if others:
        named[f"{others} others"] = 1 - nowhere - sum(named.values())
    if nowhere > LOST:
        named["to no token"] = nowhere
    return Bars(title, [*named], [*named.values()], 2, side="k", numbers=[*numbers])


def _texts(state: ModelState, row: int) -> list[Panel]:
    """Return the tokens in the colours of a row of weights, those of the queries to be clicked."""
    read, (rows, columns) = state.read, (state.window.rows, state.window.columns)
    looks = f"what “{visible(read.tokens[row])}” ({row}) looks at"
    weights = state.weights[row, columns.start : columns.stop]
    queries, keys = (
        [visible(token) for token in tokens[part.start : part.stop]]
        for tokens, part in ((read.tokens, rows), (read.keys, columns))
    )
    if not read.cross and rows == columns:
        return [Text(looks, keys, columns.start, weights, "qk", row, CLICK_ROW)]
    return [
        Text("whose row is read", queries, rows.start, None, "q", row, CLICK_ROW),
        Text(looks, keys, columns.start, weights, "k"),
    ]


class ModelExplorer(Explorer):
    """An explorer of what a reader handed over, which stands by its name in the lines of Python."""

    def code(self, settings: dict[str, Any]) -> str:
        return super().code(settings).replace("\nstate = model_state(", CODE, 1)


CODE = """from chapter3_helpers.explorers.model.reading import read_weights

read = read_weights(weights, tokens, keys)
state = model_state(
    read,"""


def model_explorer(
    weights: Any, tokens: Sequence[str], keys: Sequence[str] | None = None, **settings: Any
) -> Explorer:
    """Show all heads of any model, and what each of them does.

    Args:
        weights: the attention weights of one text: a sequence with a tensor (1, H, T, T) or
            (H, T, T) for each layer, as models of ``transformers`` return for
            ``output_attentions=True``; one tensor (L, H, T, T); attention to another text,
            (1, H, T, S); or what ``generate(..., output_attentions=True)`` returns.
        tokens: T of them, as text.
        keys: the S tokens of the other text.
        settings: where to start, such as ``layer=5, head=1, sort="induction"``.

    Returns:
        A widget, to be the last line of a cell in JupyterLab.

    Raises:
        TypeError, ValueError: what was handed over cannot be shown; the message says what to do.
    """
    read = read_weights(weights, tokens, keys)
    state = partial(model_state, read)
    controls = _controls(read)
    return ModelExplorer("the heads of a model", controls, state, model_panels, settings)


def _controls(read: Reading) -> tuple[Control, ...]:
    rows, columns = (_parts(len(names), MOST_TOKENS) for names in (read.tokens, read.keys))
    most = max(1, MOST_HEADS // max(len(layer) for layer in read.layers))
    layers = _parts(len(read.layers), most)
    first = {"layers": layers[0][1], "rows": rows[0][1], "columns": columns[0][1]}
    measures = model_state(read, **first, layer=0, head=0).measures

    def part(name: str, offered: list[tuple[str, range]], tooltip: str) -> Steps:
        several = len(offered) > 1
        return Steps(name, name, offered[0][1], tooltip, lambda: several, options=offered)

    return (
        Buttons(
            "sort",
            "sort by",
            AS_IS,
            "Which heads come first in the list; they are outlined in the picture",
            options=(AS_IS, *measures.names),
        ),
        part("layers", layers, f"Which layers are shown: up to {MOST_HEADS} heads at once"),
        part("rows", rows, f"Which queries are shown: up to {MOST_TOKENS} at once"),
        part("columns", columns, f"Which keys are shown: up to {MOST_TOKENS} at once"),
        Clicked("layer", "layer", 0, "The layer of the head that is shown", options=_layer_options),
        Board(
            "head",
            "head",
            0,
            "The head that is shown",
            options=lambda layer: range(len(read.layers[layer])),
        ),
        Clicked("row", "row", min(len(read.tokens), MOST_TOKENS) - 1, "The query", options=_rows),
    )


def _layer_options(layers: range) -> range:
    return layers


def _rows(rows: range) -> range:
    return rows


def _parts(count: int, most: int) -> list[tuple[str, range]]:
    """Return parts of so many things, with what each is called."""
    starts = range(0, count, most)
    parts = [range(start, min(start + most, count)) for start in starts]
    return [(f"{part.start} to {part.stop - 1} of {count:,}", part) for part in parts]
