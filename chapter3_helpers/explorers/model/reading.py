"""What ``model_explorer`` takes for attention weights, and what it refuses, with what to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.explorers.model.padding import looks_ahead, rows_of_padding, text_of_mask
from chapter3_helpers.explorers.model.tokens import readable

MOST_TOKENS = 300  # in one picture
ABOVE = 0.02  # what rounding to 16 bits may add to the sum of a row
CLOSE = 0.05  # of weights that were computed twice, in 16 bits
EXPECTED = (
    "weights must be a sequence with a tensor (1, H, T, T) or (H, T, T) for each layer, one tensor "
    "(L, H, T, T), or the attentions that generate(..., output_attentions=True) returns"
)
NOT_THERE = (
    "weights hold no layer: call the model with output_attentions=True, and load it with "
    'attn_implementation="eager", since faster ways to compute attention return no weights'
)
ONE_TEXT = {  # how to take one text out of several, by the form in which they were handed over
    "a tensor": "weights[:, :1]",
    "layers": "[{layer} for layer in weights]",
    "steps": "[[{layer} for layer in step] for step in weights]",
}
PARTS = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")

Step = Sequence[torch.Tensor]  # the layers that were computed at once, (H, rows, keys) each
Rows = list[tuple[int, int]]  # for each step, the places of its first token and of the next one's


@dataclass(frozen=True, eq=False)
class Reading:
    """The weights of every layer, and the tokens that they belong to.

    The rows are those of the last tokens: where a model has read some before and kept them, what
    it returns has no rows for these.
    """

    layers: tuple[torch.Tensor, ...]  # (H, R, S) each, float32
    numbers: tuple[int, ...]  # the places of these layers in what was handed over
    tokens: tuple[str, ...]  # the text of the queries, of which the last R have a row
    keys: tuple[str, ...]  # S
    cross: bool  # whether the keys are the tokens of another text
    unread: tuple[str, ...]  # the token that was generated last: no row belongs to it
    is_text: torch.Tensor  # (S,), False for keys that are padding
    told: bool  # whether a mask has said so
    drawn: dict = field(default_factory=dict, init=False)  # parts of it, by what is asked for

    @property
    def first(self) -> int:
        """The place of the first row's token."""
        return len(self.tokens) - self.layers[0].shape[1]

    @property
    def has_text(self) -> torch.Tensor:
        """Which rows are those of text, (R,)."""
        if self.cross:
            return torch.ones(len(self.tokens), dtype=torch.bool)
        return self.is_text[self.first :]

    @cached_property
    def causal(self) -> bool:
        """Whether no token looks at a later one."""
        return not self.cross and not looks_ahead(self.layers, self.first, self.has_text)

    @cached_property
    def start(self) -> int:
        """The place of the first key that is text."""
        return int(self.is_text.int().argmax())

    @cached_property
    def rest(self) -> tuple[torch.Tensor, ...]:
        """The layers without the first token: each weight divided by what is left of its row."""
        layers = []
        for layer in self.layers:
            rest = layer.clone()
            rest[..., self.start] = 0
            left = rest.sum(-1, keepdim=True)
            layers.append(rest / left.where(left > 0, 1))
        return tuple(layers)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tokens as a reader knows them."""
        return readable([*self.tokens, *self.unread])

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The keys as a reader knows them."""
        return readable(self.keys)


@as_torch_starts()
def read_weights(
    weights: Any,
    tokens: Sequence[str],
    keys: Sequence[str] | None = None,
    attention_mask: Any = None,
) -> Reading:
    """Read attention weights in any of the forms that models return them in, as ``model_explorer``
    takes them.

    Raises:
        TypeError: these are no weights, or no tokens.
        ValueError: they do not go together, or are not the attention weights of one text.
    """
    queries, others = _names(tokens, "tokens"), None if keys is None else _names(keys, "keys")
    handed, form = _handed(weights)
    generated = form == "steps"
    holes = any(layer is None for step in handed for layer in step)
    layer_of_one = "None if layer is None else layer[:1]" if holes else "layer[:1]"
    advice = ONE_TEXT[form].format(layer=layer_of_one)
    steps = [
        {i: _layer(layer, i, advice) for i, layer in enumerate(step) if layer is not None}
        for step in handed
    ]
    numbers = tuple(steps[0])
    if not numbers:
        raise ValueError(NOT_THERE)
    if any(tuple(step) != numbers for step in steps):
        raise ValueError("each step that was generated must hold the same layers")
    for step in steps:
        shapes = {tuple(layer.shape[1:]): i for i, layer in step.items()}
        if len(shapes) > 1:
            said = ", ".join(f"{shape} in layer {i}" for shape, i in shapes.items())
            raise ValueError(f"all layers must have as many queries and keys, got {said}")
    by_step = [list(step.values()) for step in steps]
    if others is not None and _is_end_of(queries, others, by_step):
        queries, others = others, None
    if others is None:
        rows = _rows(by_step, len(queries), generated)
        first, S = rows[0][0], rows[-1][1]
    else:
        rows = _rows_across(by_step, len(queries), len(others), generated)
        first, S = 0, len(others)
    T = rows[-1][1]
    layers = tuple(_joined(layers, rows, S) for layers in zip(*by_step, strict=True))
    told = attention_mask is not None
    is_text = text_of_mask(attention_mask, S, generated) if told else torch.ones(S) > 0
    if others is None and not told:
        is_text[first:] = ~rows_of_padding(layers, first)
    text, cross = queries[:T], others is not None
    read = Reading(layers, numbers, text, others or text, cross, queries[T:], is_text, told)
    if first and looks_ahead(layers, first, read.has_text):
        raise ValueError(_other_text(T - first, S))
    return replace(read, layers=_without_nan(read))


def _handed(weights: Any) -> tuple[list[Sequence[Any]], str]:
    """Return what was handed over as steps, each a sequence of layers, and what form it had."""
    if weights is None:
        raise ValueError(NOT_THERE)
    if isinstance(weights, Mapping):
        parts = [f"weights[{part!r}]" for part in PARTS if part in weights]
    else:
        parts = [f"weights.{part}" for part in PARTS if hasattr(weights, part)]
    if parts:  # what a model of transformers returns as a whole
        name = type(weights).__name__
        raise TypeError(f"{EXPECTED}, got {name}: pass its attentions, {' or '.join(parts)}")
    if isinstance(weights, torch.Tensor | np.ndarray):
        # (L, 1, H, T, T), as torch.stack makes it, and (L, H, T, T); or one layer, or one head
        return [list(weights) if weights.ndim in (4, 5) else [weights]], "a tensor"
    if hasattr(weights, "get_seq_length"):
        raise TypeError(f"{EXPECTED}, got {type(weights).__name__}: it keeps keys and values")
    if not isinstance(weights, list | tuple):
        raise TypeError(f"{EXPECTED}, got {type(weights).__name__}")
    known = [part for part in weights if part is not None]
    if not known:
        raise ValueError(NOT_THERE)
    if all(isinstance(part, list | tuple) for part in known):
        return known, "steps"
    if all(getattr(part, "ndim", 0) == 5 for part in known):  # each step as one tensor
        return [list(step) for step in known], "steps"
    if isinstance(known[-1], list | tuple):  # what a model returns with return_dict=False
        raise TypeError(f"{EXPECTED}, got more than that: pass its last part, weights[-1]")
    return [weights], "layers"


def _layer(layer: Any, number: int, advice: str) -> torch.Tensor:
    """Return the weights of one layer as (H, rows, keys), or refuse them."""
    where = f"layer {number}"
    if not isinstance(layer, torch.Tensor | np.ndarray):
        raise TypeError(f"{EXPECTED}, got {type(layer).__name__} for {where}")
    if getattr(layer, "is_meta", False):
        raise ValueError(
            f"weights must hold numbers, {where} is on the meta device, without any: load the "
            "model's weights onto a device that computes, such as cpu"
        )
    if layer.ndim == 4 and len(layer) > 1:
        raise ValueError(
            f"weights must be those of one text, got {len(layer)} in {where}: pass one, as in "
            f"{advice}; if these are the beams of one text, generate it with num_beams=1"
        )
    if layer.ndim not in (2, 3, 4) or not all(layer.shape):
        raise ValueError(f"{EXPECTED}, got {tuple(layer.shape)} for {where}")
    array = to_array(layer)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"weights must be real numbers, got {array.dtype} for {where}")
    read = torch.from_numpy(array.astype(np.float32, copy=False))
    read = read.reshape(-1, *read.shape[-2:])  # (H, rows, keys)
    known = read.nan_to_num(posinf=torch.inf, neginf=-torch.inf) if read.isnan().any() else read
    if known.min() < 0:
        raise ValueError(
            f"weights must be at least 0, {where} has {known.min():.3g}: were scores passed, or "
            "the keys and values of a cache?"
        )
    if (most := known.sum(dim=-1).max()) > 1 + ABOVE:
        raise ValueError(
            f"a row of weights must sum to at most 1, one of {where} sums to {most:.3f}: call "
            "eval() on the model first, since dropout makes weights larger; or were scores passed?"
        )
    return read


def _is_end_of(tokens: tuple[str, ...], keys: tuple[str, ...], steps: Sequence[Step]) -> bool:
    """Return whether the keys are no other text, but that of the tokens and what came before."""
    if len(tokens) > len(keys) or keys[-len(tokens) :] != tokens:
        return False
    if len({step[0].shape[2] for step in steps}) > 1:  # another text does not grow
        return True
    rows = steps[0][0].shape[1]  # one row may be that of another text, which ends alike
    alone = len(steps) == 1 and 1 < rows < len(keys)
    return alone and not looks_ahead(steps[0], len(keys) - rows, torch.ones(rows) > 0)


def _rows(steps: Sequence[Step], count: int, generated: bool) -> Rows:
    """Find out which tokens the rows of each step belong to, of a text that looks at itself.

    Each step has the rows of its last tokens. With a cache it goes on where the one before ended;
    without one it is the whole text once more, and longer. A cache of a fixed size has room at its
    end, on which there is no weight.

    Args:
        steps: of one text.
        count: of the tokens that were passed.
        generated: whether one of these may have no row.
    """
    sizes = [step[0].shape[1:] for step in steps]
    counts = (count, count - generated)
    ways = [[keys for _, keys in sizes]]  # where each step ends
    has_room = sizes[0][0] < ways[0][0] and len({*ways[0]}) == 1
    if has_room:
        ways.insert(0, [_last_seen(step) for step in steps])
    for ends in ways:
        rows = [(end - queries, end) for (queries, _), end in zip(sizes, ends, strict=True)]
        goes_on = all(
            start == end_before or (start == start_before and end > end_before)
            for (start_before, end_before), (start, end) in pairwise(rows)
        )
        if goes_on and rows[0][0] >= 0 and ends[-1] in counts:
            return rows
    (first, _), (_, S) = rows[0], rows[-1]
    if goes_on and first == 0:
        raise ValueError(f"tokens must be {S}, one for each row of weights, got {count}")
    if has_room or (goes_on and first > 0):
        raise ValueError(_other_text(S - first if goes_on else sizes[0][0], S, count))
    raise ValueError(
        f"weights hold {S} keys at the step that ends with {sum(queries for queries, _ in sizes)} "
        "tokens: the model forgets older ones. Pass the text to the model once more, in one call"
    )


def _last_seen(step: Step) -> int:
    """Return the number of keys, up to the last one that has any weight."""
    seen = torch.stack([layer.nan_to_num().any(0).any(0) for layer in step]).any(0)  # (S,)
    return int(seen.nonzero().max()) + 1 if seen.any() else 0


def _other_text(rows: int, keys: int, count: int | None = None) -> str:
    got = "" if count is None else f"; got {count} tokens"
    return (
        f"weights have {rows} queries and {keys} keys: for attention to another text, pass the "
        f"tokens of that text as keys; where the model had read {keys - rows} tokens of this text "
        f"before and kept them, pass all {keys} tokens{got}"
    )


def _rows_across(steps: Sequence[Step], count: int, S: int, generated: bool) -> Rows:
    """Find out which tokens the rows of each step belong to, of a text that looks at S others."""
    for step in steps:
        keys = step[0].shape[2]
        if keys < S or any(layer[..., S:].any() for layer in step):
            raise ValueError(f"keys must be {keys}, one for each column of weights, got {S}")
    sizes = [step[0].shape[1] for step in steps]
    counts = (count, count - generated)
    ends = [sum(sizes[: n + 1]) for n in range(len(sizes))]
    if ends[-1] not in counts and sizes[-1] in counts:  # each step is the whole text once more
        ends = sizes
    if ends[-1] not in counts:
        raise ValueError(f"tokens must be {ends[-1]}, one for each row of weights, got {count}")
    return [(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _joined(layers: Sequence[torch.Tensor], rows: Rows, S: int) -> torch.Tensor:
    """Return the rows of all steps of one layer, (H, R, S), the last ones where there are two."""
    if len(layers) == 1:
        return layers[0][..., :S]
    (first, _), (_, last) = rows[0], rows[-1]
    joined = layers[0].new_zeros(len(layers[0]), last - first, S)
    done = first
    for layer, (start, end) in zip(layers, rows, strict=True):
        wide, again = min(S, layer.shape[2]), done - start  # rows that were computed before
        before = joined[:, start - first : done - first, :wide]
        if again and (before - layer[:, :again, :wide]).abs().max() > CLOSE:
            raise ValueError(
                "the weights of each step must go on from those of the step before: pass those of "
                "one text"
            )
        joined[:, start - first : end - first, :wide] = layer[..., :wide]
        done = end
    return joined


def _without_nan(read: Reading) -> tuple[torch.Tensor, ...]:
    """Return the layers with 0 for what is NaN in rows of padding, and refuse it elsewhere."""
    for number, layer in zip(read.numbers, read.layers, strict=True):
        bad = layer.isnan().any(-1) & read.has_text
        if bad.any():
            head, row = bad.nonzero()[0].tolist()
            raise ValueError(
                f"weights must be numbers, layer {number}, head {head}, row {row} holds NaN: were "
                "all its keys hidden, by padding say? Then pass attention_mask"
            )
    return tuple(layer.nan_to_num() if layer.isnan().any() else layer for layer in read.layers)


def _names(tokens: Sequence[str], name: str) -> tuple[str, ...]:
    if not isinstance(tokens, str | list | tuple) or not all(isinstance(t, str) for t in tokens):
        several = isinstance(tokens, list | tuple) and isinstance(tokens[0], list | tuple)
        raise TypeError(
            f"{name} must be a list of texts, as tokenizer.convert_ids_to_tokens(ids) returns, "
            f"got {type(tokens).__name__}: {tokens!r:.60}{': pass those of one text' * several}"
        )
    return tuple(tokens)
