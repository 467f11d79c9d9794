"""Which animal? Two clues, one of them better: what a head learns with dropout and without.

*It barks and eats bones.* The sound gives the animal away every time, the food four times out of
five. The animal is read from the row of the full stop. A head that keeps all its weights learns to
look only at the sound, and has to guess where the sound is missing. A head that loses weights at
random while it learns looks at both clues.

Taught in ``05_dropout``.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.tasks.training import minimise

CLUES = {  # what it sounds like, what it usually eats
    "dog": ("barks", "bones"),
    "cat": ("meows", "fish"),
    "cow": ("moos", "grass"),
    "horse": ("neighs", "hay"),
    "pig": ("grunts", "acorns"),
    "duck": ("quacks", "bread"),
    "goat": ("bleats", "leaves"),
    "hen": ("clucks", "worms"),
    "owl": ("hoots", "mice"),
    "bee": ("buzzes", "nectar"),
    "frog": ("croaks", "flies"),
    "snake": ("hisses", "eggs"),
}
ANIMALS = tuple(CLUES)
SOUNDS, FOODS = zip(*CLUES.values(), strict=True)
WORDS = (*SOUNDS, *FOODS, "it", "and", "eats", ".")
T = 6  # it, sound, and, eats, food, full stop
USUAL_FOOD = 0.8  # how often the food is the animal's own; else it is that of any animal


def encode(riddle: str) -> tuple[tuple[str, ...], torch.Tensor]:
    """Split a riddle into tokens and a full stop, and give each a 1 in its word's own column.

    Any other word is a row of zeros, as if it had not been understood.

    Returns:
        The tokens, and a float32 tensor of shape (T, 28).

    Raises:
        TypeError, ValueError: ``riddle`` is not a string, or has no word.

    >>> tokens, x = encode("It sneezes and eats bones.")
    >>> tokens
    ('it', 'sneezes', 'and', 'eats', 'bones', '.')
    >>> x.shape, x.sum(dim=-1)
    (torch.Size([6, 28]), tensor([1., 0., 1., 1., 1., 1.]))
    """
    if not isinstance(riddle, str):
        raise TypeError(f"riddle must be a string, got {type(riddle).__name__}")
    words = riddle.lower().replace(",", " ").replace(".", " ").split()
    if not words:
        raise ValueError(f"riddle must hold a word, such as 'It barks', got {riddle!r}")
    tokens = (*words, ".")
    x = torch.zeros(len(tokens), len(WORDS))
    for row, token in enumerate(tokens):
        if token in WORDS:
            x[row, WORDS.index(token)] = 1
    return tokens, x


def train(model: nn.Module, batches: int = 400, **options: Any) -> list[float]:
    """Train a model, (B, 6, 28) to (B, 6, 12), to name the animal in the row of the full stop.

    Every batch has 32 new riddles. ``options`` are those of ``minimise``, and so is the result.
    """
    riddles = [_encode_all(f"it {sound} and eats {food}" for food in FOODS) for sound in SOUNDS]
    by_clues = torch.stack(riddles)  # (sounds, foods, 6, 28)

    def draw_loss(generator: torch.Generator) -> torch.Tensor:
        animals, others = torch.randint(len(ANIMALS), (2, 32), generator=generator)
        usual = torch.rand(32, generator=generator) < USUAL_FOOD
        x = by_clues[animals, torch.where(usual, animals, others)]  # (B, 6, 28)
        return functional.cross_entropy(model(x)[:, -1], animals)

    return minimise(model, draw_loss, batches, 0.05, "animals", **options)


class Report(NamedTuple):
    """The probability that a model gives to the right animal: its mean over the twelve."""

    both_clues: float
    sound_alone: float
    food_alone: float


@torch.no_grad()
def report(model: nn.Module) -> Report:
    """Try a model with both clues and with one left out, in the mode that it is in.

    In training mode dropout differs from pass to pass, so the mean is taken over 100 passes.
    """
    asked = (
        [f"it {sound} and eats {food}" for sound, food in CLUES.values()],
        [f"it {sound} and eats something" for sound in SOUNDS],
        [f"it sneezes and eats {food}" for food in FOODS],
    )
    means = []
    for riddles in asked:
        x = _encode_all(riddles)  # (12, 6, 28)
        shares = model(x.repeat(100, 1, 1))[:, -1].softmax(dim=-1)  # (1200, 12)
        right = shares.unflatten(0, (100, len(ANIMALS))).diagonal(dim1=-2, dim2=-1)
        means.append(right.mean().item())
    return Report(*means)


def _encode_all(riddles: Iterable[str]) -> torch.Tensor:
    return torch.stack([encode(riddle)[1] for riddle in riddles])


@torch.no_grad()
def probabilities(model: nn.Module, riddle: str) -> dict[str, float]:
    """Return the probability that a model gives to each animal, the likeliest first."""
    shares = model(encode(riddle)[1])[-1].softmax(dim=-1)  # (12,)
    order = shares.argsort(descending=True).tolist()
    return {ANIMALS[i]: shares[i].item() for i in order}
