"""Any model's attention: all heads of all layers, and what each of them does.

Layers and heads are counted from 0, as they were handed over.
"""

from collections.abc import Sequence
from functools import partial, wraps
from typing import Any

from torch import nn

from chapter3_helpers._language import say, to_say
from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.explorers.core.controls import (
    Board,
    Buttons,
    Clicked,
    Control,
    Steps,
    Switch,
    TextField,
)
from chapter3_helpers.explorers.core.inputs import options_of
from chapter3_helpers.explorers.core.widget import Explorer
from chapter3_helpers.explorers.model.cutting import Asked, answer, cut_state, read_model
from chapter3_helpers.explorers.model.panels import model_panels
from chapter3_helpers.explorers.model.reading import MOST_TOKENS, Reading, read_weights
from chapter3_helpers.explorers.model.state import model_state

MOST_HEADS = 1024  # in one picture
AS_IS = to_say("layer")


@as_torch_starts()
def model_explorer(
    weights: Any,
    tokens: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    attention_mask: Any = None,
    tokenizer: Any = None,
    **settings: Any,
) -> Explorer:
    """Show all heads of any model, and what each of them does; given the model itself, what it
    writes and how its loss changes where some of them are off::

        outputs = model(**batch, output_attentions=True)  # loaded with attn_implementation="eager"
        model_explorer(outputs.attentions, tokenizer.convert_ids_to_tokens(batch["input_ids"][0]))
        model_explorer(load_llama(), "My name is Quembyra. Nice to meet you, Quem")

    Args:
        weights: the attention weights of one text: a sequence with a tensor (1, H, T, T) or
            (H, T, T) for each layer, as models of ``transformers`` return for
            ``output_attentions=True``; one tensor (L, H, T, T); attention to another text,
            (1, H, T, S); or what ``generate(..., output_attentions=True)`` returns. Or a model,
            which gives logits (T, vocab_size) for ids (T,) and has ``attention_weights(ids)``,
            such as a ``Llama`` or a ``GPT``.
        tokens: T of them, as text; where the model had read S - T before, all S. For a model a
            text.
        keys: the S tokens of the other text.
        attention_mask: (S,) or (1, S), 1 for keys that are text and 0 for padding, which counts in
            no mean (default: rows that look like padding count in none).
        tokenizer: the model's own, from ``read_tokenizer`` (default: that of the model that set-up
            brings).
        settings: where to start, such as ``layer=5, head=1, sort="induction"``; of a model also
            ``off="16.0 18.6"``, the heads that are off, each as layer and head.

    Returns:
        A widget, to be the last line of a cell in JupyterLab.

    Raises:
        TypeError, ValueError: what was handed over cannot be shown; the message says what to do.
    """
    handed = {"tokens": tokens, "keys": keys, "attention_mask": attention_mask}
    of_model = isinstance(weights, nn.Module)
    if of_model:
        if not isinstance(tokens, str) or keys is not None or attention_mask is not None:
            raise TypeError(
                "with a model goes one text, as in model_explorer(model, text), and neither keys "
                f"nor a mask, got {type(tokens).__name__}: {tokens!r:.40}"
            )
        made, make, handed = "asked", read_model, {"model": weights, "tokenizer": tokenizer}
        asked = read_model(weights, tokenizer)
        state, controls = partial(cut_state, asked), _controls_of_model(asked, tokens)
    else:
        if tokenizer is not None:
            raise TypeError(f"tokenizer goes with a model, got {type(weights).__name__} as well")
        made, make, handed = "read", read_weights, {"weights": weights, **handed}
        read = read_weights(**handed)
        state, controls = partial(model_state, read), _controls_of_weights(read)
    given = {made: (make, [name for name, value in handed.items() if value is not None])}
    own = type(weights) if of_model else None
    name = say("the heads of a model")
    return Explorer(name, controls, state, model_panels, settings, own, given)


def _controls_of_weights(read: Reading) -> tuple[Control, ...]:
    queries = say("Which queries are shown: up to {most} at once", most=MOST_TOKENS)
    keys = say("Which keys are shown: up to {most} at once", most=MOST_TOKENS)
    rows = _part("rows", say("rows"), len(read.has_text), MOST_TOKENS, queries)
    columns = _part("columns", say("columns"), len(read.keys), MOST_TOKENS, keys)
    text = read.has_text[:MOST_TOKENS].nonzero().flatten().tolist()
    row = Clicked("row", "row", text[-1] if text else 0, "The query", options=lambda rows: rows)
    return (*_controls_of_heads(partial(model_state, read), read, (rows, columns)), row)


def _controls_of_model(asked: Asked, text: str) -> tuple[Control, ...]:
    def read_tokens(text: str) -> list[str]:
        return asked.encode(text)[1]

    typed = (
        TextField(
            "text",
            say("text"),
            text,
            say("What the model reads; Enter lets it read"),
            waits=True,
        ),
        TextField(
            "off",
            say("heads off"),
            "",
            say(
                "Layer and head of each with a point between them, such as 16.0 18.6; Enter does it"
            ),
            waits=True,
        ),
    )
    read = answer(asked, text, ()).read
    last = len(read.tokens) - 1
    rows = options_of(read_tokens, lambda tokens: range(len(tokens)))
    row = Clicked("row", "row", last, "The query", options=rows, to_the_end=True)
    return (*typed, *_controls_of_heads(partial(cut_state, asked), read, typed), row)


def _controls_of_heads(
    state: partial, read: Reading, others: Sequence[Control]
) -> tuple[Control, ...]:
    """Return what chooses a head; ``others`` choose what is read of all of them."""
    most = max(1, MOST_HEADS // max(len(layer) for layer in read.layers))
    tooltip = say("Which layers are shown: up to {most} heads at once", most=MOST_HEADS)
    layers = _part("layers", say("layers"), len(read.layers), most, tooltip)
    start = {control.name: control.default for control in (*others, layers)}
    measures = state(**start, sort=AS_IS, without_first=False, layer=0, head=0).measures

    @wraps(state)  # what it computes says which settings these need
    def first_layer(**settings: Any) -> int:
        order = state(**settings).order
        return order[0][0] if order else settings["layer"]

    @wraps(state)
    def first_head(**settings: Any) -> int:
        order = state(**settings).order
        return next((j for i, j in order if i == settings["layer"]), settings["head"])

    return (
        Buttons(
            "sort",
            say("sort by"),
            AS_IS,
            say("Which heads come first in the list; they are outlined in the picture"),
            options=(AS_IS, *measures),
        ),
        Switch(
            "without_first",
            say("without the first token"),
            False,
            say("Each weight divided by what the first token leaves, at which most heads look"),
            lambda: not read.cross,
        ),
        layers,
        *(control for control in others if isinstance(control, Steps)),
        Clicked(
            "layer",
            "layer",
            0,
            "The layer of the head that is shown",
            options=lambda layers: layers,
            returns_to=first_layer,
            returns_when=("sort",),
        ),
        Board(
            "head",
            "head",
            0,
            "The head that is shown",
            options=lambda layer: range(len(read.layers[layer])),
            returns_to=first_head,
            returns_when=("sort",),
        ),
    )


def _part(name: str, label: str, count: int, most: int, tooltip: str) -> Steps:
    """Return what chooses a part of so many things, each with at most so many."""
    parts = [range(start, min(start + most, count)) for start in range(0, count, most)]
    options = [
        (
            say(
                "{first} to {last} of {count}",
                first=part.start,
                last=part.stop - 1,
                count=f"{count:,}",
            ),
            part,
        )
        for part in parts
    ]
    return Steps(name, label, parts[0], tooltip, lambda: len(parts) > 1, options=options)
