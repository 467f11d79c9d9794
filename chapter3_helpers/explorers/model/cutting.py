"""A model some of whose heads are off: where the others look, what it writes, and its loss."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from chapter3_helpers._language import say
from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.explorers.model.reading import MOST_TOKENS, Reading, read_weights
from chapter3_helpers.explorers.model.state import ModelState, model_state
from chapter3_helpers.model_files import read_tokenizer
from chapter3_helpers.real_heads import cut_heads, head_columns
from chapter3_helpers.real_model import encode, end_ids, likeliest_ids

NEW = 10  # tokens that it writes
KEPT = 4  # answers
HEAD = re.compile(r"([0-9]+)\.([0-9]+)")


@dataclass(frozen=True, eq=False)
class Asked:
    """A language model, and what cuts texts into its tokens."""

    model: nn.Module
    tokenizer: Any
    answers: dict = field(default_factory=dict, init=False)  # the last ones, by text and heads off

    def encode(self, text: str) -> tuple[list[int], list[str]]:
        """Return the ids and the names of the tokens of a text.

        Raises:
            ValueError: it is empty, holds half a character, or is too long.
        """
        ids = encode(self.tokenizer, text)
        most = min(MOST_TOKENS, getattr(self.model, "context_length", MOST_TOKENS) - 1)
        if len(ids) > most:
            raise ValueError(
                say(
                    "This text has {count} tokens; up to {most} can be read here.",
                    count=len(ids),
                    most=most,
                )
            )
        return ids, self.tokenizer.encode(text).tokens


class Answer(NamedTuple):
    """What a model does with a text."""

    text: str
    read: Reading
    losses: torch.Tensor  # (T - 1,), of each token but the first
    written: str  # what it writes after the text


@as_torch_starts()
def read_model(model: nn.Module, tokenizer: Any = None) -> Asked:
    """Take a language model that can be asked, or refuse it with what it needs.

    Args:
        model: gives logits (T, vocab_size) for ids (T,), and has ``attention_weights(ids)``.
        tokenizer: its own (default: that of the model that set-up brings).

    Raises:
        TypeError: it is no such model, or no such tokenizer.
        ValueError: they do not belong together.
    """
    if not callable(getattr(model, "attention_weights", None)):
        raise TypeError(
            "a model must have attention_weights(ids), which returns weights (H, T, T) for each "
            f"layer, as a Llama of real_model has, got {type(model).__name__} without it: write "
            "that method, or pass the weights themselves and the tokens"
        )
    chosen = read_tokenizer() if tokenizer is None else tokenizer
    if not all(hasattr(chosen, name) for name in ("encode", "decode", "get_vocab_size")):
        raise TypeError(
            "tokenizer must be what read_tokenizer returns, of the package tokenizers, got "
            f"{type(chosen).__name__}: from transformers pass tokenizer.backend_tokenizer"
        )
    with _evaluated(model):
        logits = model(torch.tensor([0], device=_device(model)))
    if not isinstance(logits, torch.Tensor) or logits.ndim != 2:
        got = f"{tuple(logits.shape)}" if hasattr(logits, "shape") else type(logits).__name__
        raise TypeError(f"a model must return logits (T, vocab_size) for ids (T,), got {got}")
    size, known = logits.shape[-1], chosen.get_vocab_size()
    if known > size or (tokenizer is None and known < size):  # a table may be longer than needed
        raise ValueError(
            f"tokenizer must be the model's own: it knows {known:,} tokens and the model "
            f"{size:,}. Pass the right one, as in read_tokenizer(path)"
        )
    return Asked(model, chosen)


def read_heads(off: str) -> tuple[tuple[int, int], ...]:
    """Read which heads are off, each as layer and head.

    >>> read_heads("16.0, 18.6")
    ((16, 0), (18, 6))

    Raises:
        ValueError: a part of it is no head.
    """
    heads = []
    for part in filter(None, re.split(r"[\s,;]+", off)):
        found = HEAD.fullmatch(part)
        if found is None:
            raise ValueError(
                say(
                    "Type heads as layer and head with a point between them, such as 16.0, not "
                    "{part}.",
                    part=part,
                )
            )
        heads.append((int(found[1]), int(found[2])))
    return tuple(dict.fromkeys(heads))


def written_heads(heads: Sequence[tuple[int, int]]) -> str:
    """Write heads as ``read_heads`` reads them."""
    return " ".join(f"{layer}.{head}" for layer, head in heads)


@as_torch_starts()
def cut_state(
    asked: Asked,
    *,
    text: str,
    off: str,
    sort: str,
    without_first: bool,
    layers: range,
    layer: int,
    head: int,
) -> ModelState:
    """Return what there is to see of a model with some heads off, and of the whole one."""
    heads = read_heads(off)
    answers = answer(asked, text, ()), answer(asked, text, heads)
    read = answers[1].read
    every = range(len(read.tokens))
    window = {"sort": sort, "without_first": without_first, "rows": every, "columns": every}
    state = model_state(read, **window, layers=layers, layer=layer, head=head)
    return state._replace(answers=answers, off=heads)


def answer(asked: Asked, text: str, off: tuple[tuple[int, int], ...]) -> Answer:
    """Return what a model does with a text without some heads. The last answers are kept."""
    known, key = asked.answers, (text, frozenset(off))
    if key not in known:
        if known:  # an explorer shows this while it waits
            without = say("The model reads without {heads} ...", heads=written_heads(off))
            print(without if off else say("The model reads ..."))
        known[key] = _ask(asked, text, off)
    known[key] = known.pop(key)  # the last one asked for stands last
    for old in [*known][:-KEPT]:
        del known[old]
    return known[key]


def _ask(asked: Asked, text: str, off: tuple[tuple[int, int], ...]) -> Answer:
    model, tokenizer = asked.model, asked.tokenizer
    ids, tokens = asked.encode(text)
    places = torch.tensor(ids, device=_device(model))
    try:
        for head in off:
            head_columns(model, head)
    except TypeError as error:
        raise ValueError(
            say("No head of this model can be switched off: {error}", error=error)
        ) from error
    with _evaluated(model), cut_heads(model, off):
        weights = model.attention_weights(places)
        losses = cross_entropy(model(places)[:-1].float(), places[1:], reduction="none")
        ends = end_ids(tokenizer)
        count = min(NEW, getattr(model, "context_length", len(ids) + NEW) - len(ids))
        written = likeliest_ids(model, places, count)
        new = [*takewhile(lambda chosen: chosen not in ends, written)]
    whole, read = tokenizer.decode(ids + new), read_weights(weights, tokens)
    return Answer(text, read, losses.cpu(), whole[len(tokenizer.decode(ids)) :])


@contextmanager
def _evaluated(model: nn.Module) -> Iterator[None]:
    """Compute as in evaluation, without gradients; each module goes back to how it was."""
    was = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in was.items():
            module.training = training


def _device(model: nn.Module) -> torch.device:
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
