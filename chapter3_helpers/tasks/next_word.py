"""How does a model learn to predict the next word? The loss, the training, and a text.

Thanks to the causal mask, one pass trains every position.

Source: lecture notes on self-attention, section 5. Taught in ``09_transformer_block``.
"""

import ast
import importlib.util
import math
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.sentence import split_tokens
from chapter3_helpers.tasks.training import minimise


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

    >>> from chapter3_helpers.transformer_block import MinimalLanguageModel
    >>> _ = torch.manual_seed(123)
    >>> model = MinimalLanguageModel(vocab_size=11, d=6, context_length=5, num_heads=2)
    >>> next_token_losses(model, torch.tensor([7, 0, 10])).shape
    torch.Size([2])

    Source: lecture notes, section 5.
    """
    logits = model(ids[..., :-1])  # (..., T, vocab_size)
    targets = ids[..., 1:].long()  # (..., T)
    losses = functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return losses.view_as(targets)


def train(model: nn.Module, ids: torch.Tensor, batches: int = 600, **options: Any) -> list[float]:
    """Train a model in place to predict the next token of a text; return the loss of every batch.

    Every batch has 32 pieces of the text, as long as the model's context.

    Args:
        model: maps ids to logits, and has a ``context_length`` or a table of positions.
        ids: the text (N,), longer than the context.
        batches: how many steps there are.

    Raises:
        ValueError: the text is too short.

    >>> from chapter3_helpers.transformer_block import MinimalLanguageModel
    >>> _ = torch.manual_seed(123)
    >>> model = MinimalLanguageModel(vocab_size=3, d=8, context_length=4, num_heads=2)
    >>> losses = train(model, torch.tensor([0, 1, 2] * 20), batches=60, progress=False)
    >>> losses[-1] < 0.2 < losses[0]
    True

    Source: lecture notes, section 5.
    """
    T = _context_length(model, ids)
    device = next(model.parameters()).device

    def draw_loss(generator: torch.Generator) -> torch.Tensor:
        starts = torch.randint(len(ids) - T, (32, 1), generator=generator)
        pieces = ids[starts + torch.arange(T + 1)]  # (B, 1) + (T + 1,) -> (B, T + 1)
        return next_token_losses(model, pieces.to(device)).mean()

    return minimise(model, draw_loss, batches, 0.01, "next token", **options)


@torch.no_grad()
def mean_loss(model: nn.Module, ids: torch.Tensor) -> float:
    """Return how surprised a model is by a text, per word, in pieces as long as its context.

    Args:
        model: as for ``train``.
        ids: the text (N,), longer than the context.

    Raises:
        ValueError: the text is too short.

    >>> from chapter3_helpers.transformer_block import MinimalLanguageModel
    >>> _ = torch.manual_seed(123)
    >>> model = MinimalLanguageModel(vocab_size=3, d=8, context_length=4, num_heads=2)
    >>> mean_loss(model, torch.tensor([0, 1, 2] * 20)) > 0.9  # log 3 is 1.1
    True
    """
    length = _context_length(model, ids) + 1
    pieces = ids[: len(ids) // length * length].view(-1, length)  # (pieces, T + 1)
    return next_token_losses(model, pieces.to(next(model.parameters()).device)).mean().item()


def _context_length(model: nn.Module, ids: torch.Tensor) -> int:
    """Return how many tokens a model reads at once; refuse a text that is not longer."""
    T = model.context_length if hasattr(model, "context_length") else len(model.positions.weight)
    if len(ids) <= T:
        raise ValueError(f"ids must hold more than context_length={T} tokens, got {len(ids)}")
    return T


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
        return _numbers(split_tokens(sentence.lower()), self.vocabulary)


@cache
@as_torch_starts()
def docstring_text() -> Text:
    """Number the words of Python's docstrings, the most frequent first, and hold a tenth out.

    There are 500 numbers; 0 is that of all rarer words.

    >>> text = docstring_text()
    >>> text.vocabulary[0], len(text.vocabulary), len(text.training) > 8 * len(text.held_out)
    ('<rare>', 500, True)
    """
    words = docstring_words()
    vocabulary = ("<rare>", *(word for word, _ in Counter(words).most_common(499)))
    ids = _numbers(words, vocabulary)
    stretches = ids[: len(ids) // 1000 * 1000].view(-1, 1000)
    held_out = torch.arange(len(stretches)) % 10 == 9  # every tenth stretch of 1000 words
    return Text(vocabulary, stretches[~held_out].flatten(), stretches[held_out].flatten())


def _numbers(words: tuple[str, ...], vocabulary: tuple[str, ...]) -> torch.Tensor:
    number = {word: i for i, word in enumerate(vocabulary)}
    return torch.tensor([number.get(word, 0) for word in words])


def counting_losses(text: Text) -> dict[str, float]:
    """Return how surprised four predictors that need no network are by the held-out text.

    ``no idea`` gives every word the same probability, and ``word counts`` a word's share of the
    training text. ``pair counts`` asks how often a word followed the last word in that text, and
    ``triple counts`` how often it followed the last two.

    A pair that was never seen would have probability 0 and make the loss infinite. So every row of
    counts gets k words more, spread as the shorter counts say. Several k are tried, and the one
    that does best on the *held-out* text counts. That favours the counting a little.

    >>> ids = torch.tensor([0, 1, 2] * 40)
    >>> losses = counting_losses(Text(("a", "b", "c"), ids, ids))
    >>> round(losses["no idea"], 4), round(losses["word counts"], 4), losses["pair counts"] < 0.1
    (1.0986, 1.0986, True)
    """
    size, seen, new = len(text.vocabulary), text.training.tolist(), text.held_out.tolist()
    frequency = torch.bincount(text.training, minlength=size) / len(seen)  # (size,)
    chances = frequency[text.held_out].clamp(min=1e-6)  # (N,): of each word held out
    losses = {"no idea": math.log(size), "word counts": -chances.log().mean().item()}
    for length, name in ((2, "pair counts"), (3, "triple counts")):
        stretches = list(zip(*(seen[i:] for i in range(length)), strict=False))
        often, begun = Counter(stretches), Counter(stretch[:-1] for stretch in stretches)
        asked = list(zip(*(new[i:] for i in range(length)), strict=False))
        found = torch.tensor([often[stretch] for stretch in asked])  # (N - length + 1,)
        of = torch.tensor([begun[stretch[:-1]] for stretch in asked])
        mixed = [(found + k * chances[1:]) / (of + k) for k in (3, 10, 30, 100, 300)]
        chances = max(mixed, key=lambda chances: chances.log().mean().item())
        losses[name] = -chances.log().mean().item()
    return losses
