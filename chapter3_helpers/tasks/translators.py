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

from chapter3_helpers._checks.numbers import check_size, check_sizes
from chapter3_helpers.recurrent import ALPHABET, tokenize
from chapter3_helpers.tasks.loop import generator_from, minimise
from chapter3_helpers.tasks.trained import Trained, trained

TRAINED_LENGTHS = (4, 10)  # the shortest and the longest word of the training
BATCH_SIZE = 32
LEARNING_RATE = 0.007  # the largest: it rises at first and falls to zero at the end


def translation(letters: torch.Tensor) -> torch.Tensor:
    """Return the right translation of words (B, T): the same letters, backwards.

    Raises:
        TypeError, ValueError: ``letters`` is not a tensor (B, T) of integers from 0 to 25.

    >>> translation(tokenize("cab"))
    tensor([[1, 0, 2]])
    """
    return letters.flip(-1)


def random_words(count: int, length: int, seed: int | torch.Generator = 0) -> torch.Tensor:
    """Draw words of random letters, (count, length); ``seed`` may be a running generator.

    Raises:
        TypeError, ValueError: a size is not an integer of at least 1, or ``seed`` no integer.

    >>> random_words(200, 7).shape
    torch.Size([200, 7])
    """
    generator = seed if isinstance(seed, torch.Generator) else generator_from(seed)
    size = tuple(check_sizes(count=count, length=length))
    return torch.randint(len(ALPHABET), size, generator=generator)


@torch.no_grad()
def translate(model: nn.Module, word: str) -> str:
    """Let a model translate a word: at every step it writes the letter with the largest logit.

    Raises:
        TypeError, ValueError: as ``tokenize``.

    >>> from chapter3_helpers.recurrent import EncoderDecoder
    >>> len(translate(EncoderDecoder(), "untrained"))  # as many letters as it reads
    9
    """
    chosen = model(tokenize(word)).argmax(dim=-1)[0]
    return "".join(ALPHABET[letter] for letter in chosen.tolist()).upper()


def train(
    model: nn.Module,
    batches: int = 1000,
    lengths: tuple[int, int] = TRAINED_LENGTHS,
    **options: Any,
) -> list[float]:
    """Train a model in place on random words; the words of one batch are equally long.

    Args:
        model: maps letters (B, T) to logits (B, T, 26).
        batches: how many steps, of 32 words each.
        lengths: the shortest and the longest word.
        options: ``seed``, ``progress`` and ``watch``, as in ``loop.minimise``.

    Returns:
        The loss of every batch.

    Raises:
        TypeError, ValueError: as ``minimise``; or ``lengths`` is no tuple of two sizes of at least
            1, the longer one last.

    >>> from chapter3_helpers.recurrent import EncoderDecoder
    >>> _ = torch.manual_seed(0)
    >>> losses = train(EncoderDecoder(), batches=20, lengths=(2, 2), progress=False)
    >>> losses[-1] < losses[0]
    True
    """
    if not (isinstance(lengths, tuple) and len(lengths) == 2):
        raise TypeError(f"lengths must be a tuple (shortest, longest), got {lengths!r}")
    shortest = check_size("shortest", lengths[0])
    longest = check_size("longest", lengths[1], minimum=shortest)

    def draw_loss(generator: torch.Generator) -> torch.Tensor:
        length = int(torch.randint(shortest, longest + 1, (), generator=generator))
        letters = random_words(BATCH_SIZE, length, generator)
        logits = model(letters)  # (B, T, 26)
        return functional.cross_entropy(logits.flatten(0, 1), translation(letters).flatten())

    title = type(model).__name__
    return minimise(model, draw_loss, batches, LEARNING_RATE, title, max_norm=1.0, **options)


@torch.no_grad()
def accuracy_by_length(model: nn.Module, lengths: Iterable[int]) -> torch.Tensor:
    """Return the share of letters that a model gets right, one number per word length.

    Every length is tried on 200 new random words, the same for every model.

    Raises:
        TypeError, ValueError: a length is not an integer of at least 1.

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
    """Train an ``EncoderDecoder``, a ``BahdanauDecoder`` or a class of the reader's, once.

    The first call takes some seconds and shows a bar.

    Args:
        kind: the class.
        d: the width of its state.
        seed: of its first numbers.
    """
    return trained(kind, train, d, seed=seed)
