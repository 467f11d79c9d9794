"""What becomes of next-word learning when the mask leaks? The loss falls, and nothing is learned.

In the little language here every word has two followers, one as likely as the other. A model that
sees only the past cannot get below a loss of ln 2 = 0.693. A lower loss comes from the future.

Taught in ``04_masking``.
"""

from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.softmax import softmax
from chapter3_helpers.tasks.next_word import next_token_losses
from chapter3_helpers.tasks.training import minimise

FOLLOWERS = {
    **{"the": ("cat", "dog"), "my": ("cat", "dog")},
    **{"cat": ("sees", "chases"), "dog": ("sees", "hears")},
    **{"sees": ("a", "another"), "chases": ("a", "another"), "hears": ("a", "another")},
    **{"a": ("bird", "mouse"), "another": ("bird", "mouse")},
    **{"bird": (".", "and"), "mouse": (".", "and")},
    **{".": ("the", "my"), "and": ("the", "my")},
}
WORDS = tuple(FOLLOWERS)
with as_torch_starts():
    FOLLOWER_IDS = torch.tensor([[WORDS.index(f) for f in FOLLOWERS[word]] for word in WORDS])
D = 32  # numbers per token


class LeakyLanguageModel(nn.Module):
    """One attention head between embeddings and logits, whose mask may hide too little.

    Args:
        looks_ahead: how many later tokens each token can see. 0 is the causal mask, 1 a mask that
            begins one diagonal too far out, 7 no mask at all, since it reads 8 at once.

    >>> LeakyLanguageModel()(torch.tensor([[0, 3, 6]])).shape  # 13 logits per word
    torch.Size([1, 3, 13])
    """

    def __init__(self, looks_ahead: int = 0):
        super().__init__()
        self.looks_ahead = looks_ahead
        self.context_length = 8
        self.word_embedding = nn.Embedding(len(WORDS), D)
        self.place_embedding = nn.Embedding(self.context_length, D)
        self.W_query = nn.Linear(D, D, bias=False)
        self.W_key = nn.Linear(D, D, bias=False)
        self.W_value = nn.Linear(D, D, bias=False)
        for projection in (self.W_query, self.W_key):
            nn.init.normal_(projection.weight, std=0.02)  # every word starts by looking everywhere
        self.output = nn.Linear(D, len(WORDS))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Map ids (..., T) to logits (..., T, 13): in each row those of the next word."""
        return self.output(self.attention_weights(ids) @ self.W_value(self.embed(ids)))

    def attention_weights(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the weights (..., T, T)."""
        x = self.embed(ids)
        scores = self.W_query(x) @ self.W_key(x).transpose(-2, -1)  # (..., T, T)
        hidden = torch.ones_like(scores, dtype=torch.bool).triu(1 + self.looks_ahead)
        return softmax(scores.masked_fill(hidden, -torch.inf) / D**0.5, dim=-1)

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """Add the vectors of words and places, (..., T, d)."""
        return self.word_embedding(ids) + self.place_embedding.weight[: ids.shape[-1]]


@as_torch_starts()
def random_sentences(count: int, length: int, generator: torch.Generator) -> torch.Tensor:
    """Start anywhere and go on with one of the two followers: ids (count, length).

    >>> ids = random_sentences(1, 9, torch.Generator().manual_seed(0))
    >>> " ".join(WORDS[i] for i in ids[0])
    'dog hears another bird and my dog hears another'
    """
    ids = [torch.randint(len(WORDS), (count,), generator=generator)]
    while len(ids) < length:
        coins = torch.randint(2, (count,), generator=generator)
        ids.append(FOLLOWER_IDS[ids[-1], coins])
    return torch.stack(ids, dim=1)


def train(model: nn.Module, batches: int = 500, **options: Any) -> list[float]:
    """Train a model, ids (B, T) to logits (B, T, 13), to predict every next word.

    Every batch has 32 new sentences, one word longer than the model's ``context_length``.
    """

    def draw_loss(generator: torch.Generator) -> torch.Tensor:
        ids = random_sentences(32, model.context_length + 1, generator)
        return next_token_losses(model, ids).mean()

    return minimise(model, draw_loss, batches, 0.01, "next word", **options)


class Report(NamedTuple):
    """The loss that training sees, and three measures in which no future can be seen."""

    loss_with_its_own_mask: float
    loss_on_the_past: float  # of the same words, each predicted before the next one is given
    guesses_possible: float  # how often the likeliest word is one of the two followers
    written_words_possible: float  # the same share, of words that the model drew itself


@torch.no_grad()
def report(model: nn.Module) -> Report:
    """Try a model on 1000 new sentences."""
    ids = random_sentences(1000, model.context_length + 1, torch.Generator().manual_seed(1))
    last_rows = [model(ids[:, :n])[:, -1] for n in range(1, ids.shape[1])]
    logits = torch.stack(last_rows, dim=1)  # (1000, T, 13), no row with a future
    written = _continue(model, ids[:, :1], seed=1)
    return Report(
        next_token_losses(model, ids).mean().item(),
        functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).item(),
        _possible(ids[:, :-1], logits.argmax(dim=-1)),
        _possible(written[:, :-1], written[:, 1:]),
    )


@torch.no_grad()
def write(model: nn.Module, first_word: str = "the") -> str:
    """Let a model continue one of ``WORDS`` as far as it can read, drawing every next word."""
    if first_word not in WORDS:
        raise ValueError(f"first_word must be one of {', '.join(WORDS)}; got {first_word!r}")
    ids = _continue(model, torch.tensor([[WORDS.index(first_word)]]), seed=0)
    return " ".join(WORDS[i] for i in ids[0])


def _continue(model: nn.Module, ids: torch.Tensor, seed: int) -> torch.Tensor:
    """Continue ids (B, T) up to (B, context_length)."""
    generator = torch.Generator().manual_seed(seed)
    while ids.shape[1] < model.context_length:
        probabilities = torch.softmax(model(ids)[:, -1], dim=-1)  # (B, 13)
        drawn = torch.multinomial(probabilities, 1, generator=generator)
        ids = torch.cat([ids, drawn], dim=1)
    return ids


def _possible(ids: torch.Tensor, following: torch.Tensor) -> float:
    """Return how often a word (...) is followed by one of its followers."""
    return (FOLLOWER_IDS[ids] == following.unsqueeze(-1)).any(-1).float().mean().item()
