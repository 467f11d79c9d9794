"""Who has the key now? A question that needs the order of what came before.

A story has lines such as *Ann takes the key*, one token each, and ends in a question, *key?* The
answer is the person who took it last (or first, if that is asked for). Attention finds the lines
with the key by their content, but only their positions say which line is the last. Stories are
short in training. Longer ones then show how well a way to place tokens carries on.

Taught in ``08_positions``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.positions import (
    LearnedPositions,
    apply_rotary,
    linear_bias,
    rotary_frequencies,
)
from chapter3_helpers.softmax import softmax
from chapter3_helpers.tasks.loop import generator_from, minimise

PEOPLE = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn")
THINGS = ("key", "lamp", "map", "ring", "book", "coin")
D_IN = len(PEOPLE) + len(THINGS) + 1  # a token: who, what, and whether it asks, as one-hot numbers
D = 32  # numbers per line, query, key and value
LONGEST = 520  # tokens that the learned table has a vector for
LINES = 16  # the longest stories in training
BATCH_SIZE = 64
LEARNING_RATE = 0.01  # the largest: it rises at first and falls to zero at the end


class StoryReader(nn.Module):
    """One attention head that reads a story and says who has the thing that is asked for.

    Args:
        scheme: how it is told where a line stands: one of ``SCHEMES``, or a function of the reader
            and the embedded lines x (..., T, d) that returns the question's scores (..., T) and
            what the values are made of (..., T, d).

    Raises:
        ValueError: ``scheme`` is no function and none of ``SCHEMES``.

    >>> reader = StoryReader("rotary")
    >>> lines, story = encode([("Ann", "key"), ("Bob", "key")], asked="key")
    >>> reader(story).shape, reader.attention_weights(story).shape
    (torch.Size([6]), torch.Size([3]))
    """

    def __init__(self, scheme: "str | Scheme"):
        super().__init__()
        if not callable(scheme) and scheme not in SCHEMES:
            raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}")
        self.scheme = scheme if callable(scheme) else SCHEMES[scheme]
        self.embed = nn.Linear(D_IN, D, bias=False)
        self.W_query = nn.Linear(D, D, bias=False)
        self.W_key = nn.Linear(D, D, bias=False)
        self.W_value = nn.Linear(D, D, bias=False)
        self.read_out = nn.Linear(D, len(PEOPLE))
        self.table = LearnedPositions(LONGEST, D)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map stories (..., T, 13) to a logit for every person, (..., 6)."""
        scores, placed = self.scheme(self, self.embed(x))  # (..., T), (..., T, d)
        context = softmax(scores).unsqueeze(-2) @ self.W_value(placed)  # (..., 1, d)
        return self.read_out(context.squeeze(-2))

    def attention_weights(self, x: torch.Tensor) -> torch.Tensor:
        """Return the question's row of weights, (..., T)."""
        return softmax(self.scheme(self, self.embed(x))[0])

    def scores(self, x: torch.Tensor) -> torch.Tensor:
        """Return the question's scores with all lines, (..., T), for x (..., T, d)."""
        return score(self.W_query(x), self.W_key(x))


Scheme = Callable[[StoryReader, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


def score(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Return the scores of the last query with all keys, (..., T), for both (..., T, d)."""
    return (queries[..., -1:, :] @ keys.transpose(-2, -1)).squeeze(-2) / keys.shape[-1] ** 0.5


def none(reader: StoryReader, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Say nothing of where a line stands."""
    return reader.scores(x), x


def learned(reader: StoryReader, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Add a learned vector to every line."""
    x = reader.table(x)
    return reader.scores(x), x


def with_sinusoids(reader: StoryReader, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Add to every line where the hands of some clocks point."""
    x = x + sinusoids(*x.shape[-2:])
    return reader.scores(x), x


def penalty(reader: StoryReader, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Take from every score the distance to the line."""
    return reader.scores(x) + linear_bias(x.shape[-2])[-1], x


def rotary(reader: StoryReader, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Turn the query and every key by where they stand."""
    turns = rotary_frequencies(x.shape[-1], x.shape[-2])
    queries, keys = reader.W_query(x), reader.W_key(x)
    return score(apply_rotary(queries, turns), apply_rotary(keys, turns)), x


SCHEMES: dict[str, Scheme] = {
    "none": none,
    "learned": learned,
    "sinusoids": with_sinusoids,
    "linear bias": penalty,
    "rotary": rotary,
}


def sinusoids(T: int, d: int) -> torch.Tensor:
    """Return a vector (d,) for each of T positions: cosine and sine of every clock hand.

    >>> sinusoids(2, 4)
    tensor([[1.0000, 0.0000, 1.0000, 0.0000],
            [0.5403, 0.8415, 0.9999, 0.0100]])
    """
    return torch.view_as_real(rotary_frequencies(d, T)).flatten(start_dim=1)


def encode(lines: Sequence[tuple[str, str]], asked: str) -> tuple[tuple[str, ...], torch.Tensor]:
    """Turn pairs of a person and a thing, and the thing asked for, into the tokens of a story.

    Returns:
        A label for every token, and a float32 tensor of shape (lines + 1, 13).

    Raises:
        ValueError: a name is none of ``PEOPLE``, or a thing none of ``THINGS``.

    >>> encode([("Ann", "key"), ("Bob", "lamp")], asked="key")[0]
    ('Ann key', 'Bob lamp', 'key?')
    """
    who = torch.tensor([[_place("person", person, PEOPLE) for person, _ in lines]])
    what = torch.tensor([[_place("thing", thing, THINGS) for _, thing in lines]])
    (story,) = _stories(who, what, torch.tensor([_place("thing", asked, THINGS)]))
    return (*(f"{person} {thing}" for person, thing in lines), f"{asked}?"), story


def decode(story: torch.Tensor) -> tuple[str, ...]:
    """Return the labels of a story (T, 13), as ``encode`` gives them.

    >>> decode(encode([("Ann", "key"), ("Bob", "lamp")], asked="key")[1])
    ('Ann key', 'Bob lamp', 'key?')
    """
    who = story[:, : len(PEOPLE)].argmax(dim=-1).tolist()
    what = story[:, len(PEOPLE) : -1].argmax(dim=-1).tolist()
    lines = [f"{PEOPLE[i]} {THINGS[j]}" for i, j in zip(who, what, strict=True)]
    return (*lines[:-1], f"{THINGS[what[-1]]}?")


def draw_stories(
    stories: int, lines: int, generator: torch.Generator, first: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Draw stories of so many lines that ask for a thing which is in them.

    Returns:
        Stories (stories, lines + 1, 13), and who took it last, or ``first``, in which line,
        (stories,) each.
    """
    who = torch.randint(len(PEOPLE), (stories, lines), generator=generator)
    what = torch.randint(len(THINGS), (stories, lines), generator=generator)
    line = torch.randint(lines, (stories, 1), generator=generator)
    asked = what.gather(1, line)  # (stories, 1)
    took_it = what == asked  # (stories, lines)
    if first:
        found = torch.where(took_it, torch.arange(lines), lines).amin(dim=1)
    else:
        found = torch.where(took_it, torch.arange(lines), -1).amax(dim=1)
    return _stories(who, what, asked[:, 0]), who.gather(1, found[:, None])[:, 0], found


def train(
    reader: nn.Module, batches: int = 500, first: bool = False, **options: Any
) -> list[float]:
    """Train a reader in place on stories of 2 to 16 lines; return the loss of every batch.

    With ``first``, whoever took a thing first is right. ``options`` are ``seed``, ``progress`` and
    ``watch``, as in ``loop.minimise``.
    """

    def draw_loss(generator: torch.Generator) -> torch.Tensor:
        lines = int(torch.randint(2, LINES + 1, (1,), generator=generator))
        x, people, _ = draw_stories(BATCH_SIZE, lines, generator, first)
        return functional.cross_entropy(reader(x), people)

    scheme = getattr(reader, "scheme", type(reader))
    title = f"positions: {scheme.__name__}"
    return minimise(reader, draw_loss, batches, LEARNING_RATE, title, **options)


@torch.no_grad()
def share_right(reader: nn.Module, lines: int, stories: int = 500, first: bool = False) -> float:
    """Return the share of new stories of so many lines that a reader answers correctly."""
    x, people, _ = draw_stories(stories, lines, generator_from(99), first)
    return (reader(x).argmax(dim=-1) == people).float().mean().item()


@torch.no_grad()
def answer(reader: nn.Module, story: torch.Tensor) -> str:
    """Return the person with a reader's largest logit for a story (T, 13)."""
    return PEOPLE[reader(story).argmax()]


def _stories(who: torch.Tensor, what: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
    """Put lines (stories, lines) and questions (stories,) together, (stories, lines + 1, 13)."""
    stories, lines = who.shape
    x = torch.zeros(stories, lines + 1, D_IN)
    x[:, :-1, : len(PEOPLE)] = functional.one_hot(who, len(PEOPLE)).float()
    x[:, :-1, len(PEOPLE) : -1] = functional.one_hot(what, len(THINGS)).float()
    x[:, -1, len(PEOPLE) : -1] = functional.one_hot(asked, len(THINGS)).float()
    x[:, -1, -1] = 1.0
    return x


def _place(kind: str, name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise ValueError(f"a {kind} must be one of {', '.join(names)}, got {name!r}")
    return names.index(name)
