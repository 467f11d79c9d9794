"""Who has the lamp now? A question that needs the order of what came before.

A story has lines such as *Ann takes the lamp*, one token each, and ends in a question, *lamp?* The
answer is the person who took it last. Attention finds the lines with the lamp by their content, but
only their positions say which line is the last. Stories are short in training. Longer ones then
show how well a way to mark positions carries over.

Taught in ``08_positions``.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.positions import LearnedPositions
from chapter3_helpers.softmax import softmax
from chapter3_helpers.tasks.training import minimise

PEOPLE = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn")
THINGS = ("lamp", "cup", "map", "ring", "book", "coin")
D_IN = len(PEOPLE) + len(THINGS) + 1  # a token: who, what, and whether it asks, as one-hot numbers
D = 32  # numbers per line, query, key and value
LONGEST = 520  # tokens that the learned table has a vector for


class StoryReader(nn.Module):
    """One attention head that reads a story and says who has the thing in question.

    Args:
        scheme: how the reader learns where a line stands: a function of the reader and the embedded
            lines x (..., T, d). It returns the question's scores (..., T) and the lines from which
            the values are made (..., T, d).

    >>> reader = StoryReader(none)
    >>> stories, _, _ = draw_stories(5, lines=3, generator=torch.Generator().manual_seed(0))
    >>> reader(stories).shape
    torch.Size([5, 6])
    """

    def __init__(self, scheme: "Scheme"):
        super().__init__()
        self.scheme = scheme
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

    def scores(self, x: torch.Tensor) -> torch.Tensor:
        """Return the question's scores with all lines, (..., T), for x (..., T, d)."""
        return score(self.W_query(x), self.W_key(x))


Scheme = Callable[[StoryReader, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


def score(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Return the scores of the last query with all keys, (..., T), for both (..., T, d)."""
    return (queries[..., -1:, :] @ keys.transpose(-2, -1)).squeeze(-2) / keys.shape[-1] ** 0.5


def none(reader: StoryReader, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Say nothing about where a line stands."""
    return reader.scores(x), x


def decode(story: torch.Tensor) -> tuple[str, ...]:
    """Return a label for every token of a story (T, 13).

    >>> stories, _, _ = draw_stories(1, lines=2, generator=torch.Generator().manual_seed(0))
    >>> decode(stories[0])
    ('Cleo coin', 'Dan lamp', 'lamp?')
    """
    who = story[:, : len(PEOPLE)].argmax(dim=-1).tolist()
    what = story[:, len(PEOPLE) : -1].argmax(dim=-1).tolist()
    lines = [f"{PEOPLE[i]} {THINGS[j]}" for i, j in zip(who, what, strict=True)]
    return (*lines[:-1], f"{THINGS[what[-1]]}?")


def draw_stories(
    stories: int, lines: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Draw stories with this many lines; each asks for a thing that is in it.

    Returns:
        Stories (stories, lines + 1, 13); who took the thing last, (stories,); and in which line,
        (stories,).
    """
    who = torch.randint(len(PEOPLE), (stories, lines), generator=generator)
    what = torch.randint(len(THINGS), (stories, lines), generator=generator)
    line = torch.randint(lines, (stories, 1), generator=generator)
    asked = what.gather(1, line)  # (stories, 1)
    took_it = what == asked  # (stories, lines)
    last = torch.where(took_it, torch.arange(lines), -1).amax(dim=1)
    return _stories(who, what, asked[:, 0]), who.gather(1, last[:, None])[:, 0], last


def train(reader: StoryReader, batches: int = 300, **options: Any) -> list[float]:
    """Train a reader to say who took a thing last: in a batch, 64 new stories of 2 to 16 lines."""

    def draw_loss(generator: torch.Generator) -> torch.Tensor:
        lines = int(torch.randint(2, 17, (), generator=generator))
        x, people, _ = draw_stories(64, lines, generator)
        return functional.cross_entropy(reader(x), people)

    title = f"positions: {reader.scheme.__name__}"
    return minimise(reader, draw_loss, batches, 0.01, title, **options)


@torch.no_grad()
def share_right(reader: nn.Module, lines: int, stories: int = 500) -> float:
    """Return the share of new stories with this many lines that a reader answers correctly."""
    x, people, _ = draw_stories(stories, lines, torch.Generator().manual_seed(99))
    return (reader(x).argmax(dim=-1) == people).float().mean().item()


def _stories(who: torch.Tensor, what: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
    """Put lines (stories, lines) and questions (stories,) together, (stories, lines + 1, 13)."""
    stories, lines = who.shape
    x = torch.zeros(stories, lines + 1, D_IN)
    x[:, :-1, : len(PEOPLE)] = functional.one_hot(who, len(PEOPLE)).float()
    x[:, :-1, len(PEOPLE) : -1] = functional.one_hot(what, len(THINGS)).float()
    x[:, -1, len(PEOPLE) : -1] = functional.one_hot(asked, len(THINGS)).float()
    x[:, -1, -1] = 1.0
    return x
