"""A language that differs from its source in nothing but the order.

A word stands for a sentence, and its letters for the words of that sentence. It is translated by
writing it backwards, in capitals: ``cat`` becomes ``TAC``. In tensors a letter is a number from
0 to 25.

Taught in ``00_why_attention``.
"""

import string

import torch

from chapter3_helpers._checks.numbers import check_size, check_sizes
from chapter3_helpers._checks.tensors import check_ids

ALPHABET = string.ascii_lowercase


def tokenize(word: str) -> torch.Tensor:
    """Turn a word into a batch of one, (1, T): the number of every letter, capital or not.

    Raises:
        TypeError: ``word`` is not a string.
        ValueError: ``word`` is empty, or holds anything but the letters a to z.

    >>> tokenize("cab")
    tensor([[2, 0, 1]])
    """
    if not isinstance(word, str):
        raise TypeError(f"word must be a string, got {type(word).__name__}")
    strangers = sorted(set(word.lower()) - set(ALPHABET))
    if strangers or not word:
        what = f"{', '.join(map(repr, strangers))} in {word!r}" if word else "an empty string"
        raise ValueError(f"word must consist of the letters a to z, got {what}")
    return torch.tensor([[ALPHABET.index(letter) for letter in word.lower()]])


def translation(letters: torch.Tensor) -> torch.Tensor:
    """Return the right translation of words (B, T): the same letters, backwards.

    Raises:
        TypeError, ValueError: ``letters`` is not a tensor (B, T) of integers from 0 to 25.

    >>> translation(tokenize("cab"))
    tensor([[1, 0, 2]])
    """
    check_letters(letters)
    return letters.flip(-1)


def random_words(count: int, length: int, seed: int | torch.Generator = 0) -> torch.Tensor:
    """Draw words of random letters, (count, length); ``seed`` may be a running generator.

    Raises:
        TypeError, ValueError: a size is not an integer of at least 1, or ``seed`` is below 0.

    >>> random_words(200, 7).shape
    torch.Size([200, 7])
    """
    count, length = check_sizes(count=count, length=length)
    if not isinstance(seed, torch.Generator):
        seed = torch.Generator().manual_seed(check_size("seed", seed, minimum=0))
    return torch.randint(len(ALPHABET), (count, length), generator=seed)


def check_letters(letters: torch.Tensor) -> None:
    """Refuse anything but numbers of letters, (B, T)."""
    check_ids("letters", letters, len(ALPHABET), dims=(2,), form="(B, T)")
