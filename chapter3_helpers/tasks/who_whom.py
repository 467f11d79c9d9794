"""Who did it, and to whom? Two look-ups at once, for one head or for two.

*Ann thanked Bob.* Both questions are answered from the row of the full stop. One head has one row
of weights there and mixes the two names; two heads of half the width have a row for each. Every
batch has new random words, so the reader cannot learn them by heart: it has to find and copy them.
The names of the tests are new to the reader, too.

Taught in ``06_multihead_wrapper``, and carried on in ``07_fused_multihead``.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers._language import say, to_say
from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.sentence import embed_text, split_tokens
from chapter3_helpers.tasks.training import Trained, minimise, trained

NAMES = (
    *("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal", "Ida", "Jon", "Kim", "Leo", "Mia"),
    *("Ned", "Oda", "Pia", "Quin", "Roy", "Sue", "Tom", "Una", "Vic", "Wes", "Xena", "Yan", "Zoe"),
)
T = 4  # who, verb, whom, full stop
D_WORD = 16  # numbers that stand for a word
D_IN = D_WORD + T  # a token: its word, and its place as one-hot numbers
WIDTH = 32  # numbers per context vector, of all heads together


class WhoWhomReader(nn.Module):
    """Attention, and a linear layer that makes two words of the context vector of the full stop.

    Args:
        attention: maps (B, 4, 20) to (B, 4, 32).

    >>> reader = WhoWhomReader(MultiHeadAttentionWrapper(D_IN, 16, T, dropout=0.0, num_heads=2))
    >>> tokens, x = encode("Ann thanked Bob")
    >>> reader(x.unsqueeze(0)).shape  # who and whom, 16 numbers each
    torch.Size([1, 2, 16])
    """

    def __init__(self, attention: nn.Module):
        super().__init__()
        self.attention = attention
        self.read_out = nn.Linear(WIDTH, 2 * D_WORD)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map sentences (B, 4, 20) to the words that answer who and whom, (B, 2, 16)."""
        return self.read_out(self.attention(x)[:, -1]).unflatten(-1, (2, D_WORD))


def encode(sentence: str) -> tuple[tuple[str, ...], torch.Tensor]:
    """Turn three words, such as *Ann thanked Bob*, and a full stop into tokens.

    Any words will do, since a reader knows none; equal words get equal numbers. What stands
    between two spaces is a word; without spaces, each character of a script such as Chinese is.

    Returns:
        The four tokens, and a float32 tensor of shape (4, 20).

    Raises:
        TypeError, ValueError: ``sentence`` is not a string of three words.

    >>> tokens, x = encode("Ann thanked Bob")
    >>> tokens, x.shape
    (('Ann', 'thanked', 'Bob', '.'), torch.Size([4, 20]))
    """
    if not isinstance(sentence, str):
        raise TypeError(f"sentence must be a string, got {type(sentence).__name__}")
    typed = sentence.rstrip(" .!?。！？")
    spaced = ["".join(split_tokens(word)) for word in typed.split()]
    words = spaced if len(spaced) == 3 and all(spaced) else split_tokens(typed)
    if len(words) != 3:
        must = to_say("sentence must be 3 words, such as 'Ann thanked Bob', got {count}: {words}")
        if not words:
            must = to_say("sentence must be 3 words, such as 'Ann thanked Bob', got none")
        raise ValueError(say(must, count=len(words), words=" | ".join(words)))
    return (*words, "."), _sentences(*word_vectors(words))


def word_vectors(words: Sequence[str]) -> torch.Tensor:
    """Return 16 numbers for every word, (words, 16): random, but always the same for a word."""
    return _centre(torch.stack([_word_vector(word) for word in words]))


@as_torch_starts()
def _word_vector(word: str) -> torch.Tensor:
    """Return 16 numbers in [0, 1). Those of 感谢 are made of the numbers of its two characters."""
    characters = embed_text(word, D_WORD)[1]  # (C, 16); a word such as Ann counts as one
    return (torch.arange(1.0, len(characters) + 1) @ characters) % 1


def train(reader: nn.Module, batches: int = 400, **options: Any) -> list[float]:
    """Train a reader, (B, 4, 20) to (B, 2, 16), to find who and whom among 64 new words a batch.

    Any of these words may be the answer.
    """

    def draw_loss(generator: torch.Generator) -> torch.Tensor:
        words, verbs = _centre(torch.rand(2, 64, D_WORD, generator=generator))
        who = torch.arange(64)
        whom = (who + torch.randint(1, 64, who.shape, generator=generator)) % 64
        x = _sentences(words[who], verbs, words[whom])
        logits = reader(x) @ words.T  # (B, 2, 16) @ (16, words)
        targets = torch.stack([who, whom], dim=1)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return minimise(reader, draw_loss, batches, 0.01, "who and whom", **options)


def trained_reader(num_heads: int) -> Trained:
    """Train a reader with heads of a total width of 32, once, and keep it after every ten batches.

    >>> reader = trained_reader(num_heads=2).model
    >>> answer(reader, "Ann thanked Bob")
    ('Ann', 'Bob')
    """
    return trained(_make_reader, train, num_heads, every=10, progress=False)


def _make_reader(num_heads: int) -> WhoWhomReader:
    heads = MultiHeadAttentionWrapper(D_IN, WIDTH // num_heads, T, 0.0, num_heads)
    return WhoWhomReader(heads)


class Report(NamedTuple):
    """Shares of the 650 sentences in which one of ``NAMES`` thanks another."""

    both_right: float
    same_name_twice: float


@torch.no_grad()
def report(reader: nn.Module) -> Report:
    """Test a reader on all ordered pairs of ``NAMES``, none of which its training had."""
    names, (thanked,) = word_vectors(NAMES), word_vectors(["thanked"])
    pairs = torch.tensor(list(itertools.permutations(range(len(NAMES)), 2)))  # (650, 2)
    x = _sentences(names[pairs[:, 0]], thanked, names[pairs[:, 1]])
    answers = _answers(reader, x, names)
    both_right = (answers == pairs).all(dim=-1)
    same_name_twice = answers[:, 0] == answers[:, 1]
    return Report(both_right.float().mean().item(), same_name_twice.float().mean().item())


@torch.no_grad()
def answer(reader: nn.Module, sentence: str) -> tuple[str, str]:
    """Ask who and whom: of ``NAMES`` and the sentence's words, those with the largest logits."""
    tokens, x = encode(sentence)
    candidates = (*NAMES, *tokens)
    who, whom = _answers(reader, x.unsqueeze(0), word_vectors(candidates))[0].tolist()
    return candidates[who], candidates[whom]


def _answers(reader: nn.Module, x: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """Return which of the words (words, 16) answer who and whom in sentences x, (B, 2)."""
    return (reader(x) @ words.T).argmax(dim=-1)  # (B, 2, 16) @ (16, words)


def _sentences(who: torch.Tensor, verb: torch.Tensor, whom: torch.Tensor) -> torch.Tensor:
    """Put words (..., 16) together to sentences (..., 4, 20)."""
    words = torch.broadcast_tensors(who, verb, whom, word_vectors(["."])[0])
    places = torch.eye(T, dtype=who.dtype, device=who.device).expand(*who.shape[:-1], T, T)
    return torch.cat([torch.stack(words, dim=-2), places], dim=-1)


def _centre(uniform: torch.Tensor) -> torch.Tensor:
    """Give numbers drawn from [0, 1) a mean of 0 and a standard deviation of 1."""
    return (uniform - 0.5) * 12**0.5
