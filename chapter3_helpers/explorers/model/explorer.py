"""Any model's attention: all heads of all layers, and what each of them does.

Give it the attention weights that a model returned and the tokens that it read::

    outputs = model(**batch, output_attentions=True)  # loaded with attn_implementation="eager"
    model_explorer(outputs.attentions, tokenizer.convert_ids_to_tokens(batch["input_ids"][0]))

Layers and heads are counted from 0, as they were handed over.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.explorers.core.controls import Board, Buttons, Clicked, Control, Steps, Switch
from chapter3_helpers.explorers.core.widget import Explorer
from chapter3_helpers.explorers.model.panels import model_panels
from chapter3_helpers.explorers.model.reading import Reading, read_weights
from chapter3_helpers.explorers.model.state import model_state

MOST_TOKENS, MOST_HEADS = 300, 1024  # in one picture
AS_IS = "layer"


@as_torch_starts()
def model_explorer(
    weights: Any,
    tokens: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    attention_mask: Any = None,
    **settings: Any,
) -> Explorer:
    """Show all heads of any model, and what each of them does.

    Args:
        weights: the attention weights of one text: a sequence with a tensor (1, H, T, T) or
            (H, T, T) for each layer, as models of ``transformers`` return for
            ``output_attentions=True``; one tensor (L, H, T, T); attention to another text,
            (1, H, T, S); or what ``generate(..., output_attentions=True)`` returns.
        tokens: T of them, as text; where the model had read S - T before, all S.
        keys: the S tokens of the other text.
        attention_mask: (S,) or (1, S), 1 for keys that are text and 0 for padding, which counts in
            no mean (default: rows that look like padding count in none).
        settings: where to start, such as ``layer=5, head=1, sort="induction"``.

    Returns:
        A widget, to be the last line of a cell in JupyterLab.

    Raises:
        TypeError, ValueError: what was handed over cannot be shown; the message says what to do.
    """
    read = read_weights(weights, tokens, keys, attention_mask)
    handed = {"weights": weights, "tokens": tokens, "keys": keys, "attention_mask": attention_mask}
    names = [name for name, value in handed.items() if value is not None]
    return Explorer(
        "the heads of a model",
        _controls(read),
        partial(model_state, read),
        model_panels,
        settings,
        given={"read": (read_weights, names)},
    )


def _controls(read: Reading) -> tuple[Control, ...]:
    count = len(read.has_text)
    rows, columns = (_parts(number, MOST_TOKENS) for number in (count, len(read.keys)))
    text = read.has_text[:MOST_TOKENS].nonzero().flatten().tolist()
    most = max(1, MOST_HEADS // max(len(layer) for layer in read.layers))
    layers = _parts(len(read.layers), most)
    first = {"layers": layers[0][1], "rows": rows[0][1], "columns": columns[0][1]}
    measures = model_state(read, **first, without_first=False, layer=0, head=0).measures

    def ranked(sort: str, **shown: Any) -> list[tuple[int, int]]:
        """Return the heads of some layers by a measure, none where they are not sorted."""
        found = model_state(read, **shown, layer=0, head=0).measures
        places = [(i, j) for i in shown["layers"] for j in range(len(read.layers[i]))]
        return [places[n] for n in found.order(sort)] if sort in found.names else []

    def best_layer(
        sort: str, without_first: bool, layers: range, rows: range, columns: range, layer: int
    ) -> int:
        shown = {"layers": layers, "rows": rows, "columns": columns}
        best = ranked(sort, without_first=without_first, **shown)
        return best[0][0] if best else layer

    def best_head(
        sort: str,
        without_first: bool,
        layers: range,
        rows: range,
        columns: range,
        layer: int,
        head: int,
    ) -> int:
        shown = {"layers": layers, "rows": rows, "columns": columns}
        best = ranked(sort, without_first=without_first, **shown)
        return next((j for i, j in best if i == layer), head)

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
        Switch(
            "without_first",
            "without the first token",
            False,
            "Each weight divided by what the first token leaves, at which most heads look",
            lambda: not read.cross,
        ),
        part("layers", layers, f"Which layers are shown: up to {MOST_HEADS} heads at once"),
        part("rows", rows, f"Which queries are shown: up to {MOST_TOKENS} at once"),
        part("columns", columns, f"Which keys are shown: up to {MOST_TOKENS} at once"),
        Clicked(
            "layer",
            "layer",
            0,
            "The layer of the head that is shown",
            options=_layer_options,
            returns_to=best_layer,
            returns_when=("sort",),
        ),
        Board(
            "head",
            "head",
            0,
            "The head that is shown",
            options=lambda layer: range(len(read.layers[layer])),
            returns_to=best_head,
            returns_when=("sort",),
        ),
        Clicked("row", "row", text[-1] if text else 0, "The query", options=_rows),
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
