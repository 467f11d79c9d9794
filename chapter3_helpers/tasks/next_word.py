"""How does a model learn to predict the next word? The loss, the training, and a text.

Thanks to the causal mask, one pass trains every position.

Source: lecture notes on self-attention, section 5. Taught in ``09_transformer_block``.
"""

import ast
import importlib.util
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers._checks.tensors import check_ids
from chapter3_helpers.sentence import split_tokens
from chapter3_helpers.tasks.loop import device_of, minimise

BATCH_SIZE = 32
LEARNING_RATE = 0.01  # the largest: it rises at first and falls to zero at the end


def next_token_losses(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """Return how surprised a model is by every token but the first.

    One pass over ids[..., :-1] predicts them all: thanks to the mask, no prediction has seen the
    token that it is compared with.

    Args:
        model: maps ids (..., T) to logits (..., T, vocab_size), such that no row depends on
            later ids.
        ids: a piece of text (T + 1,), or several (B, T + 1).

    Returns:
        Minus the logarithm of the probability that each next token was given: (..., T).

    Raises:
        TypeError, ValueError: what the model refuses; or ``ids`` is not a tensor of such a shape,
            or holds a token for which the model has no logit.

    >>> from chapter3_helpers.transformer_block import MinimalLanguageModel
    >>> _ = torch.manual_seed(123)
    >>> model = MinimalLanguageModel(vocab_size=11, d=6, context_length=5, num_heads=2)
    >>> next_token_losses(model, torch.tensor([7, 0, 10])).shape
    torch.Size([2])

    Source: lecture notes, section 5.
    """
    logits = model(ids[..., :-1])  # (..., T, vocab_size)
    check_ids("ids", ids, vocab_size=logits.shape[-1])  # the last one, which no model has read
    targets = ids[..., 1:].long()  # (..., T)
    losses = functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return losses.view_as(targets)


@torch.no_grad()
def mean_loss(model: nn.Module, ids: torch.Tensor) -> float:
    """Return how surprised a model is by a text, per word, in pieces as long as its context.

    Args:
        model: as for ``train``.
        ids: the text (N,), longer than the context.

    Raises:
        TypeError, ValueError: as ``train``.

    >>> from chapter3_helpers.transformer_block import MinimalLanguageModel
    >>> _ = torch.manual_seed(123)
    >>> model = MinimalLanguageModel(vocab_size=3, d=8, context_length=4, num_heads=2)
    >>> mean_loss(model, torch.tensor([0, 1, 2] * 20)) > 0.9  # log 3 is 1.1
    True
    """
    length = _check_text(model, ids) + 1
    pieces = ids[: len(ids) // length * length].view(-1, length)  # (pieces, T + 1)
    return next_token_losses(model, pieces.to(device_of(model))).mean().item()


def _check_text(model: nn.Module, ids: torch.Tensor) -> int:
    """Refuse a text that a model cannot be tried on; return the model's context length."""
    device_of(model)
    T = getattr(model, "context_length", None)
    if T is None:  # a class that a reader wrote: as many tokens as it has positions
        table = getattr(getattr(model, "positions", None), "weight", None)
        if table is None:
            raise TypeError(
                "model must be a module with a context_length or a table of positions, "
                f"got {type(model).__name__}"
            )
        T = len(table)
    if not isinstance(ids, torch.Tensor):
        raise TypeError(f"ids must be a torch.Tensor, got {type(ids).__name__}")
    if ids.dim() != 1:
        raise ValueError(f"ids must have shape (N,), got {tuple(ids.shape)}")
    if len(ids) <= T:
        raise ValueError(f"ids must hold more than context_length={T} tokens, got {len(ids)}")
    return T


def train(model: nn.Module, ids: torch.Tensor, batches: int = 600, **options: Any) -> list[float]:
    """Train a model in place to predict the next token of a text.

    Every batch has 32 pieces of the text, as long as the model's context.

    Args:
        model: a ``MinimalLanguageModel``, or another module that maps ids to logits and has a
            ``context_length``.
        ids: the text (N,), longer than the context.
        batches: how many steps there are.
        options: ``seed`` (of the places where pieces start), ``progress`` and ``watch``, as in
            ``loop.minimise``.

    Returns:
        The loss of every batch: the mean over all its predictions.

    Raises:
        TypeError, ValueError: ``model`` or ``ids`` is not of that kind; or as ``minimise``.

    >>> from chapter3_helpers.transformer_block import MinimalLanguageModel
    >>> _ = torch.manual_seed(123)
    >>> model = MinimalLanguageModel(vocab_size=3, d=8, context_length=4, num_heads=2)
    >>> losses = train(model, torch.tensor([0, 1, 2] * 20), batches=60, progress=False)
    >>> losses[-1] < 0.2 < losses[0]
    True

    Source: lecture notes, section 5.
    """
    T = _check_text(model, ids)

    def draw_loss(generator: torch.Generator) -> torch.Tensor:
        starts = torch.randint(len(ids) - T, (BATCH_SIZE, 1), generator=generator)
        pieces = ids[starts + torch.arange(T + 1)]  # (B, 1) + (T + 1,) -> (B, T + 1)
        return next_token_losses(model, pieces.to(device_of(model))).mean()

    return minimise(model, draw_loss, batches, LEARNING_RATE, "next token", **options)


# Modules of plain Python with long docstrings; 3.11 and all later versions have them.
LIBRARY: tuple[str, ...] = (
    *("_pydecimal", "_pyio", "argparse", "ast", "calendar", "collections", "dataclasses"),
    *("difflib", "doctest", "enum", "fractions", "functools", "heapq", "inspect", "json"),
    *("logging", "mailbox", "pdb", "random", "shutil", "smtplib", "socket", "ssl", "statistics"),
    *("subprocess", "tarfile", "tempfile", "textwrap", "threading", "traceback", "typing"),
    *("unittest.case", "unittest.mock", "urllib.request", "uuid", "zipfile"),
)


@cache
def docstring_words() -> tuple[str, ...]:
    """Read the docstrings of Python's own modules: a real text that every reader has.

    Modules are read, not imported.

    Returns:
        All words and punctuation marks in order, in lower case.

    >>> len(docstring_words()) > 100_000
    True
    """
    docstrings: list[str] = []
    for name in LIBRARY:
        source = importlib.util.find_spec(name).loader.get_source(name)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                docstrings.append(ast.get_docstring(node) or "")
    return split_tokens("\n".join(docstrings).lower())


class Text(NamedTuple):
    """A text as numbers: the words that have one, the part for training, the part held out."""

    vocabulary: tuple[str, ...]
    training: torch.Tensor
    held_out: torch.Tensor

    def read(self, sentence: str) -> torch.Tensor:
        """Return the ids (T,) of a sentence; a word that has no number of its own counts as 0."""
        number = {word: i for i, word in enumerate(self.vocabulary)}
        return torch.tensor([number.get(word, 0) for word in split_tokens(sentence.lower())])


@cache
def docstring_text() -> Text:
    """Number the words of Python's docstrings, the most frequent first, and hold a tenth out.

    There are 500 numbers; 0 is that of all rarer words.

    >>> text = docstring_text()
    >>> text.vocabulary[0], len(text.vocabulary), len(text.training) > 8 * len(text.held_out)
    ('<rare>', 500, True)
    """
    words = docstring_words()
    frequent = Counter(words).most_common(499)
    vocabulary = ("<rare>", *(word for word, _ in frequent))
    number = {word: i for i, word in enumerate(vocabulary)}
    ids = torch.tensor([number.get(word, 0) for word in words])
    stretches = ids[: len(ids) // 1000 * 1000].view(-1, 1000)
    held_out = torch.arange(len(stretches)) % 10 == 9  # every tenth stretch of 1000 words
    return Text(vocabulary, stretches[~held_out].flatten(), stretches[held_out].flatten())
