"""How well can the next word be predicted by counting? Words, pairs and triples.

Used by ``09_transformer_block``, to say how good a trained model is.
"""

import math

import torch

from chapter3_helpers.tasks.next_word import Text

ADDED = (3, 10, 30, 100, 300)  # how many words more a row of counts may get


def counting_losses(text: Text) -> dict[str, float]:
    """Return how surprised four predictors that need no network are by the held-out text.

    ``no idea`` finds every word equally likely, and ``word counts`` as likely as it is frequent.
    ``pair counts`` finds a word as likely as it followed the last word in the training text, and
    ``triple counts`` as likely as it followed the last two.

    A pair that was never seen would have probability 0, and a single one in the held-out text would
    make the loss infinite. So every row of counts gets k words more, spread as the shorter counts
    say: those of single words for pairs, those of pairs for triples. Several k are tried, and the
    one that does best on the *held-out* text counts. That favours the counting a little.

    Args:
        text: what is counted, and what is held out.

    Returns:
        The mean of minus the logarithm of the probability of each next word, by name.

    >>> ids = torch.tensor([0, 1, 2] * 40)
    >>> losses = counting_losses(Text(("a", "b", "c"), ids, ids))
    >>> round(losses["no idea"], 4), round(losses["word counts"], 4), losses["pair counts"] < 0.1
    (1.0986, 1.0986, True)
    """
    size, seen, new = len(text.vocabulary), text.training, text.held_out
    frequency = torch.bincount(seen, minlength=size) / len(seen)  # (size,)
    of_words = frequency[new].clamp(min=1e-6)  # (N,): the probability of each word held out
    of_pairs = _best(_counts(seen, new, size, 2), of_words[1:])  # (N - 1,)
    of_triples = _best(_counts(seen, new, size, 3), of_pairs[1:])  # (N - 2,)
    return {
        "no idea": math.log(size),
        "word counts": -of_words.log().mean().item(),
        "pair counts": -of_pairs.log().mean().item(),
        "triple counts": -of_triples.log().mean().item(),
    }


def _counts(
    seen: torch.Tensor, new: torch.Tensor, size: int, length: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return how often each stretch of the new text was seen, and how often all but its end."""
    powers = size ** torch.arange(length)
    old_stretches = seen.unfold(0, length, 1) @ powers.flip(0)  # one number for each stretch
    stretches = new.unfold(0, length, 1) @ powers.flip(0)
    return _frequency(old_stretches, stretches), _frequency(
        old_stretches // size, stretches // size
    )


def _frequency(old: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
    """Return how often each asked number is among the old ones."""
    values, counts = old.unique(return_counts=True)
    places = torch.searchsorted(values, asked).clamp(max=len(values) - 1)
    return torch.where(values[places] == asked, counts[places], 0)


def _best(counts: tuple[torch.Tensor, torch.Tensor], shorter: torch.Tensor) -> torch.Tensor:
    """Mix counts with the probabilities that shorter stretches give, as well as it can be done."""
    stretch, start = counts
    mixed = [(stretch + k * shorter) / (start + k) for k in ADDED]
    return max(mixed, key=lambda chances: chances.log().mean().item())
