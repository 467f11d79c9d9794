"""Counting words, pairs and triples, held against tables that are counted out."""

import math

import pytest
import torch

from chapter3_helpers.tasks.counts import ADDED, counting_losses
from chapter3_helpers.tasks.next_word import Text

VOCAB = 5


def draw_text(seed=0):
    generator = torch.Generator().manual_seed(seed)
    seen, new = (torch.randint(VOCAB, (n,), generator=generator) for n in (400, 90))
    return Text(tuple("abcde"), seen.sort().values[torch.arange(400) % 7 * 57 % 400], new)


def test_pairs_and_triples_by_tables():
    """Every count in a table of its own, as nobody would with a real vocabulary."""
    text = draw_text()
    seen, new = text.training.tolist(), text.held_out.tolist()
    frequency = [max(seen.count(word) / len(seen), 1e-6) for word in range(VOCAB)]

    def mix(words, k, shorter):
        n = len(words)
        stretch = sum(seen[i : i + n] == words for i in range(len(seen) - n + 1))
        start = sum(seen[i : i + n - 1] == words[:-1] for i in range(len(seen) - n + 1))
        return (stretch + k * shorter) / (start + k)

    losses, shorter = counting_losses(text), [frequency[word] for word in new]
    assert losses["word counts"] == pytest.approx(-sum(map(math.log, shorter)) / len(new), abs=1e-4)
    for name, n in (("pair counts", 2), ("triple counts", 3)):
        mixtures = [
            [mix(new[i : i + n], k, shorter[i + n - 1]) for i in range(len(new) - n + 1)]
            for k in ADDED
        ]
        best = max(mixtures, key=lambda chances: sum(map(math.log, chances)))
        assert losses[name] == pytest.approx(-sum(map(math.log, best)) / len(best), abs=1e-4)
        shorter = [0.0] * (n - 1) + best


def test_a_word_that_was_never_seen_is_a_large_loss_and_no_error():
    text = Text(("a", "b", "c"), torch.tensor([0, 1] * 30), torch.tensor([0, 2, 1, 2, 0]))
    losses = counting_losses(text)
    assert all(math.isfinite(loss) for loss in losses.values())
    assert losses["word counts"] > 3
