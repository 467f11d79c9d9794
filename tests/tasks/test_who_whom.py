"""Who and whom: two look-ups at once, which two heads learn and one of the same width does not.

Bounds hold for the seeds 0 to 9, with room to spare.
"""

import copy

import pytest
import torch
from torch import nn

from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.tasks.who_whom import (
    D_IN,
    T,
    WhoWhomReader,
    answer,
    encode,
    report,
    train,
    trained_reader,
)


def make(num_heads, seed=0):
    torch.manual_seed(seed)
    return WhoWhomReader(MultiHeadAttentionWrapper(D_IN, 32 // num_heads, T, 0.0, num_heads))


@pytest.fixture(scope="module")
def trained():
    learned = {heads: trained_reader(heads) for heads in (1, 2)}
    return {n: kept.model for n, kept in learned.items()}, {n: k.losses for n, k in learned.items()}


def test_two_heads_find_both_names_and_one_mixes_them(trained):
    readers, losses = trained
    one, two = report(readers[1]), report(readers[2])
    assert sum(losses[1][-20:]) / 20 > 1.0
    assert sum(losses[2][-20:]) / 20 < 0.2
    assert one.both_right < 0.2
    assert one.same_name_twice > 0.7
    assert two.both_right > 0.9
    assert two.same_name_twice < 0.05


def test_the_rows_of_the_full_stop_say_why(trained):
    readers, _ = trained
    _, x = encode("Ann thanked Bob")
    (mixed,) = readers[1].attention.attention_weights(x)[:, -1]  # (4,)
    assert 0.3 < mixed[0] < 0.6
    assert 0.3 < mixed[2] < 0.6
    rows = readers[2].attention.attention_weights(x)[:, -1]  # (2, 4): a head each
    assert sorted(rows.argmax(dim=-1).tolist()) == [0, 2]
    assert rows.max(dim=-1).values.min() > 0.9


def test_a_reader_takes_any_words(trained):
    readers, _ = trained
    assert answer(readers[2], "Ann thanked Bob.") == ("Ann", "Bob")
    assert answer(readers[2], "Bob thanked Ann") == ("Bob", "Ann")
    assert answer(readers[2], "猫爱狗。") == ("猫", "狗")
    assert answer(readers[2], "Grandma hugged Zoe! ") == ("Grandma", "Zoe")
    assert len(set(answer(readers[1], "Ann thanked Bob"))) == 1


def test_without_one_of_its_heads_a_reader_keeps_one_answer(trained):
    """Notebook 07 asks "Ann thanked Bob" with the columns of one head set to zero."""
    kept = []
    for head in range(2):
        deaf = copy.deepcopy(trained[0][2])
        with torch.no_grad():
            deaf.read_out.weight[:, 16 * head : 16 * (head + 1)] = 0
        who, whom = answer(deaf, "Ann thanked Bob")
        kept.append((who == "Ann", whom == "Bob"))
    assert sorted(kept) == [(False, True), (True, False)]


def test_every_batch_has_words_of_its_own_and_two_different_ones_in_a_sentence():
    seen = []

    class Listener(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = make(1)

        def forward(self, x):
            seen.append(x)
            return self.inner(x)

    train(Listener(), batches=3, progress=False)
    assert [tuple(x.shape) for x in seen] == [(64, 4, 20)] * 3
    words = torch.cat([x[:, :3, :16] for x in seen])  # (192, 3, 16)
    who, verbs, whom = words.unbind(dim=1)
    assert torch.cat([who, verbs]).unique(dim=0).shape[0] == 2 * 192
    assert (who != whom).any(dim=-1).all()
    assert words.mean().abs() < 0.1
    assert words.std() == pytest.approx(1, abs=0.1)


def test_a_report_counts_what_it_says():
    """Readers that copy the words out of the sentence, right or twice the same."""

    class Copies(nn.Module):
        def __init__(self, *places):
            super().__init__()
            self.places = list(places)

        def forward(self, x):
            return x[:, self.places, :16]

    assert report(Copies(0, 2)) == (1, 0)
    assert report(Copies(2, 0)) == (0, 0)
    assert report(Copies(0, 0)) == (0, 1)
    assert answer(Copies(2, 1), "Ann thanked Bob") == ("Bob", "thanked")
