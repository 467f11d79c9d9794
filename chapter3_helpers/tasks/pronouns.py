"""Which pronoun? The sentences of ``pronoun_sentences``, learned by one attention head.

The adjective finds its noun by the noun's kind and takes over the noun's gender: the key of a noun
says its kind, the value its gender. The head returns three numbers per token, the logits of *er*,
*sie* and *es*. The training says which pronoun is right, never where to look.

Taught in ``03_trainable_qkv``, and carried on in later notebooks.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.dot_products import simple_self_attention
from chapter3_helpers.tasks.pronoun_sentences import (
    PRONOUNS,
    WORDS,
    encode,
    find_answer,
    split_sentences,
)
from chapter3_helpers.tasks.training import Trained, minimise, trained
from chapter3_helpers.trainable_qkv import SelfAttention_v2


class PlainAttention(nn.Module):
    """Attention with plain dot products as its scores: only the values are learned.

    >>> tokens, x = encode("the milk was sour")
    >>> PlainAttention(38, 3)(x).shape
    torch.Size([4, 3])
    """

    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d_in) to context vectors (..., T, d_out)."""
        return self.attention_weights(x) @ self.W_value(x)

    def attention_weights(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights (..., T, T)."""
        return simple_self_attention(x)[1]


def train(
    model: nn.Module, sentences: Sequence[str], batches: int = 500, **options: Any
) -> list[float]:
    """Train a model, (B, T, 38) to (B, T, 3), to give the right pronoun in the adjective's row.

    The sentences are equally long and have one adjective each; a batch has 32 of them. ``options``
    are those of ``minimise``, and so is the result.

    >>> from chapter3_helpers.trainable_qkv import SelfAttention_v2
    >>> _ = torch.manual_seed(0)
    >>> model, sentences = SelfAttention_v2(38, 3), ["the milk was sour", "the tea was sour"]
    >>> _ = train(model, sentences, batches=50, progress=False)
    >>> [translate_it(model, sentence) for sentence in sentences]
    ['sie', 'er']
    """
    x, adjectives, _, pronouns = _encode_all(sentences)

    def draw_loss(generator: torch.Generator) -> torch.Tensor:
        drawn = torch.randint(len(sentences), (32,), generator=generator)
        logits = _rows(model(x[drawn]), adjectives[drawn])  # (B, T, 3) -> (B, 3)
        return functional.cross_entropy(logits, pronouns[drawn])

    return minimise(model, draw_loss, batches, 0.1, "pronouns", **options)


class Report(NamedTuple):
    """How often the pronoun is right, and where the adjective's row of weights looks."""

    pronoun_right: float
    noun_found: float  # how often the largest weight is on the right noun
    weight_on_noun: float  # the mean of the weight that is there


@torch.no_grad()
def report(model: nn.Module, sentences: Sequence[str]) -> Report:
    """Try a model on sentences of equal length, in the mode that it is in, training or not."""
    x, adjectives, nouns, pronouns = _encode_all(sentences)
    logits = _rows(model(x), adjectives)  # (N, 3)
    weights = model.attention_weights(x)  # (N, T, T), or with heads (N, H, T, T)
    weights = weights.mean(dim=1) if weights.dim() == 4 else weights
    weights = _rows(weights, adjectives)  # (N, T)
    return Report(
        (logits.argmax(dim=-1) == pronouns).float().mean().item(),
        (weights.argmax(dim=-1) == nouns).float().mean().item(),
        _rows(weights, nouns).mean().item(),
    )


@torch.no_grad()
def translate_it(model: nn.Module, sentence: str) -> str:
    """Let a model choose *er*, *sie* or *es* for a sentence."""
    tokens, x = encode(sentence)
    logits = model(x)[find_answer(tokens).adjective]  # (3,)
    return PRONOUNS[logits.argmax()]


def trained_reader() -> Trained:
    """Train the reader of notebook 03, once, and keep it before and after each of its 500 batches.

    >>> translate_it(trained_reader().model, "The milk was sour")
    'sie'
    """
    return trained(SelfAttention_v2, _train_as_in_03, len(WORDS), len(PRONOUNS), every=1)


def _train_as_in_03(reader: nn.Module, **options: Any) -> list[float]:
    return train(reader, split_sentences().training, **options)


def _encode_all(sentences: Sequence[str]) -> tuple[torch.Tensor, ...]:
    """Return x (N, T, 38), and places of adjectives, places of nouns, and pronouns, (N,) each."""
    tokens, x = zip(*map(encode, sentences), strict=True)
    answers = [
        (answer.adjective, answer.noun, PRONOUNS.index(answer.pronoun))
        for answer in map(find_answer, tokens)
    ]
    return torch.stack(x), *torch.tensor(answers).T


def _rows(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return values[i, places[i]] for every i."""
    return values[torch.arange(len(places)), places]
