"""Which animal? A name to learn by heart, and two clues that are usually right.

*Rex barks and eats bones.* Each name stands in one riddle only. Sound and food are the animal's own
four times out of five. The animal is read from the row of the full stop. A head that keeps all its
weights learns names by heart and relies on them alone; one that loses weights at random while it
learns relies on all three clues.

Taught in ``05_dropout``.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers._switches import as_torch_starts
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
# ten lines, each with one name for each of the twelve animals
NAME_LINES = """
Rex Luna Bella Rocky Rosie Donald Heidi Henny Archie Maya Kermit Nagini
Max Tom Daisy Spirit Wilbur Daffy Billy Penny Hedwig Buzz Froggo Kaa
Bruno Felix Clara Star Peppa Daphne Nanny Martha Olga Honey Trevor Monty
Fido Kitty Molly Bucky Babe Jemima Gruff Dora Otto Willy Hoppy Slinky
Lassie Simba Berta Shadow Piggy Ping Zick Greta Ollie Beatrice Croaky Sid
Buddy Minka Lotte Blaze Oscar Quincy Capri Hilda Athena Bumble Lily Zara
Charlie Misty Elsa Ginger Truffle Paddle Pan Pippa Merlin Nora Tad Viper
Sam Oreo Hazel Apollo Hamlet Webster Vanilla Frieda Wanda Ben Leap Noodle
Rusty Nala Gerda Comet Porky Waddle Snowy Ruby Silas Polly Jumper Cleo
Wolf Salem Maggie Silver Bacon Ferdi Olive Sunny Ulla Goldie Pond Medusa
"""
NAMES = tuple(NAME_LINES.split())
FULL_STOP = "full stop"
WORDS = (*NAMES, *SOUNDS, *FOODS, "and", "eats", FULL_STOP)
T = 6  # name, sound, and, eats, food, full stop
USUAL = 0.8  # how often a clue is the animal's own; else it is that of any animal


class Riddle(NamedTuple):
    """A riddle and its answer."""

    text: str
    animal: str


@as_torch_starts()
def draw(names: Sequence[str], seed: int = 0) -> list[Riddle]:
    """Draw a riddle for each name; the animals take turns, so ``NAMES`` has ten of each.

    >>> draw(["Rex"])
    [Riddle(text='Rex barks and eats bones.', animal='dog')]
    """
    generator = torch.Generator().manual_seed(seed)
    animals = torch.arange(len(names)) % len(ANIMALS)
    others = torch.randint(len(ANIMALS), (2, len(names)), generator=generator)
    usual = torch.rand(2, len(names), generator=generator) < USUAL
    sounds, foods = torch.where(usual, animals, others)
    places = zip(names, animals, sounds, foods, strict=True)
    return [
        Riddle(f"{name} {SOUNDS[sound]} and eats {FOODS[food]}.", ANIMALS[animal])
        for name, animal, sound, food in places
    ]


def swap_names(riddles: Iterable[Riddle]) -> list[Riddle]:
    """Give the name of each riddle both clues of every other animal; the answer stays the name's.

    >>> swap_names([Riddle("Rex barks and eats bones.", "dog")])[0]
    Riddle(text='Rex meows and eats fish.', animal='dog')
    """
    return [
        Riddle(f"{riddle.text.split()[0]} {sound} and eats {food}.", riddle.animal)
        for riddle in riddles
        for animal, (sound, food) in CLUES.items()
        if animal != riddle.animal
    ]


def encode(riddle: str) -> tuple[tuple[str, ...], torch.Tensor]:
    """Split a riddle into tokens and a full stop, and give each a 1 in its word's own column.

    Any other word is a row of zeros, as if it had not been understood.

    Returns:
        The tokens, and a float32 tensor of shape (T, 147).

    Raises:
        TypeError, ValueError: ``riddle`` is not a string, or has no word.

    >>> tokens, x = encode("Momo barks and eats bones.")
    >>> tokens
    ('Momo', 'barks', 'and', 'eats', 'bones', 'full stop')
    >>> x.shape, x.sum(dim=-1)
    (torch.Size([6, 147]), tensor([0., 1., 1., 1., 1., 1.]))
    """
    tokens = _split(riddle)
    return tokens, _one_hot([_columns(tokens)])[0]


COLUMNS = {word.lower(): column for column, word in enumerate(WORDS)}


def encode_all(riddles: Sequence[Riddle]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return x (B, 6, 147) and the answers' places among ``ANIMALS`` (B,)."""
    x = _one_hot([_columns(_split(riddle.text)) for riddle in riddles])
    return x, torch.tensor([ANIMALS.index(riddle.animal) for riddle in riddles])


@torch.inference_mode(False)  # also for the riddles, which are read before
def train(
    model: nn.Module, riddles: Sequence[Riddle], batches: int = 400, **options: Any
) -> list[float]:
    """Train a model, (B, 6, 147) to (B, 6, 12), to name the animal in the row of the full stop.

    Every batch holds all the riddles.
    """
    x, animals = encode_all(riddles)

    def draw_loss(_: torch.Generator) -> torch.Tensor:
        return functional.cross_entropy(model(x)[:, -1], animals)

    return minimise(model, draw_loss, batches, 0.05, "animals", **options)


@torch.no_grad()
def share_right(model: nn.Module, riddles: Sequence[Riddle]) -> float:
    """Return how often a model answers with a riddle's animal, in the mode that it is in."""
    x, animals = encode_all(riddles)
    return (model(x)[:, -1].argmax(dim=-1) == animals).float().mean().item()


@torch.no_grad()
def mean_loss(model: nn.Module, riddles: Sequence[Riddle]) -> float:
    """Return a model's mean loss, in the mode that it is in."""
    x, animals = encode_all(riddles)
    return functional.cross_entropy(model(x)[:, -1], animals).item()


class Report(NamedTuple):
    """How often a model is right, its loss on new riddles, and how often its answer is the animal
    of the name where the name speaks against both clues."""

    right_in_training: float
    right_on_new: float
    loss_on_new: float
    follows_the_name: float


def report(model: nn.Module, training: Sequence[Riddle], new: Sequence[Riddle]) -> Report:
    """Test a model on its training riddles, on new ones and with names swapped, in the mode that
    it is in."""
    asked = (training, new, swap_names(training))
    in_training, on_new, follows = (share_right(model, riddles) for riddles in asked)
    return Report(in_training, on_new, mean_loss(model, new), follows)


@torch.no_grad()
def answer(model: nn.Module, riddle: str) -> str:
    """Return the animal to which a model gives the largest probability."""
    return ANIMALS[model(encode(riddle)[1])[-1].argmax()]


def _split(riddle: str) -> tuple[str, ...]:
    if not isinstance(riddle, str):
        raise TypeError(f"riddle must be a string, got {type(riddle).__name__}")
    words = riddle.replace(",", " ").replace(".", " ").split()
    if not words:
        raise ValueError(f"riddle must hold a word, such as 'Rex barks', got {riddle!r}")
    return (*words, FULL_STOP)


def _columns(tokens: Sequence[str]) -> list[int]:
    """Return each token's column, or one more than the last for a word that is not known."""
    return [COLUMNS.get(token.lower(), len(WORDS)) for token in tokens]


def _one_hot(columns: list[list[int]]) -> torch.Tensor:
    """Return a 1 in each token's column, (B, T, 147)."""
    return functional.one_hot(torch.tensor(columns), len(WORDS) + 1)[..., :-1].float()
