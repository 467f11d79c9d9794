"""A toy language in which only the order of letters changes, and how models learn it.

A word is translated by writing it backwards, in capitals: ``cat`` becomes ``TAC``. Both models of
``recurrent`` learn to do that with short words in some seconds.

Taught in ``00_why_attention``.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.recurrent import ALPHABET, tokenize
from chapter3_helpers.tasks.training import Trained, minimise, trained


def translation(letters: torch.Tensor) -> torch.Tensor:
    """Return the right translation of words (B, T): the same letters, backwards.

    >>> translation(tokenize("cab"))
    tensor([[1, 0, 2]])
    """
    return letters.flip(-1)


@as_torch_starts()
def random_words(count: int, length: int, seed: int | torch.Generator = 0) -> torch.Tensor:
    """Draw words of random letters, (count, length); ``seed`` may be a running generator.

    >>> random_words(200, 7).shape
    torch.Size([200, 7])
    """
    generator = seed if isinstance(seed, torch.Generator) else torch.Generator().manual_seed(seed)
    return torch.randint(len(ALPHABET), (count, length), generator=generator)


@torch.no_grad()
def translate(model: nn.Module, word: str) -> str:
    """Let a model translate a word: at every step it writes the letter with the largest logit.

    >>> from chapter3_helpers.recurrent import EncoderDecoder
    >>> len(translate(EncoderDecoder(), "untrained"))  # as many letters as it reads
    9
    """
    chosen = model(tokenize(word)).argmax(dim=-1)[0]
    return "".join(ALPHABET[letter] for letter in chosen.tolist()).upper()


def train(
    model: nn.Module, batches: int = 1000, lengths: tuple[int, int] = (4, 10), **options: Any
) -> list[float]:
    """Train a model, letters (B, T) to logits (B, T, 26), on random words.

    Every batch has 32 words of one length, between the two ``lengths``.

    >>> from chapter3_helpers.recurrent import EncoderDecoder
    >>> _ = torch.manual_seed(0)
    >>> losses = train(EncoderDecoder(), batches=20, lengths=(2, 2), progress=False)
    >>> losses[-1] < losses[0]
    True
    """
    shortest, longest = lengths

    def draw_loss(generator: torch.Generator) -> torch.Tensor:
        length = int(torch.randint(shortest, longest + 1, (), generator=generator))
        letters = random_words(32, length, generator)
        logits = model(letters)  # (B, T, 26)
        return functional.cross_entropy(logits.flatten(0, 1), translation(letters).flatten())

    title = type(model).__name__
    return minimise(model, draw_loss, batches, 0.007, title, max_norm=1.0, **options)


@torch.no_grad()
def accuracy_by_length(model: nn.Module, lengths: Iterable[int]) -> torch.Tensor:
    """Return the share of letters that a model gets right, one number per word length.

    Every length is tried on 200 new random words, the same for every model.

    >>> from chapter3_helpers.recurrent import EncoderDecoder
    >>> accuracy_by_length(EncoderDecoder(), lengths=range(4, 11)).shape
    torch.Size([7])
    """
    shares = []
    for length in lengths:
        letters = random_words(200, length, seed=1)
        right = model(letters).argmax(dim=-1) == translation(letters)
        shares.append(right.float().mean().item())
    return torch.tensor(shares)


def trained_translator(kind: type[nn.Module], d: int = 64, seed: int = 123) -> Trained:
    """Train an ``EncoderDecoder``, a ``BahdanauDecoder`` or your own class, once.

    ``d`` is the width of its state. The first call takes some seconds and shows a bar.
    """
    return trained(kind, train, d, seed=seed)
