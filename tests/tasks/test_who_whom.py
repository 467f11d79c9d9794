"""Who and whom: two look-ups at once, which two heads learn and one of the same width does not."""

import re

import pytest
import torch
from torch import nn

from chapter3_helpers.tasks.who_whom import answer, encode, report, train
from tests.tasks.test_tasks import learned, reader


def test_the_rows_of_the_full_stop_say_why():
    _, x = encode("Ann thanked Bob")
    (mixed,) = learned("one head").attention.attention_weights(x)[:, -1]  # (4,)
    assert 0.3 < mixed[0] < 0.6
    assert 0.3 < mixed[2] < 0.6
    rows = learned("two heads").attention.attention_weights(x)[:, -1]  # (2, 4): a head each
    assert sorted(rows.argmax(dim=-1).tolist()) == [0, 2]
    assert rows.max(dim=-1).values.min() > 0.9


def test_a_reader_takes_any_three_words():
    two = learned("two heads")
    assert answer(two, "Ann thanked Bob.") == ("Ann", "Bob")
    assert answer(two, "Bob thanked Ann") == ("Bob", "Ann")
    assert answer(two, "猫爱狗。") == ("猫", "狗")
    assert answer(two, "Grandma hugged Zoe! ") == ("Grandma", "Zoe")
    assert answer(two, "Xi'an 感谢 Bob") == ("Xi'an", "Bob")
    assert answer(two, "小红 感谢 小明。") == ("小红", "小明")
    for sentence, came in {"": "none", "Ann slept": "2: Ann | slept", "我感谢你": "4: 我"}.items():
        message = re.escape(f"3 words, such as 'Ann thanked Bob', got {came}")
        with pytest.raises(ValueError, match=message):
            answer(two, sentence)
    with pytest.raises(TypeError, match="sentence must be a string, got int"):
        encode(7)


def test_every_batch_has_words_of_its_own_and_two_different_ones_in_a_sentence():
    model, seen = reader(1), []
    model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    train(model, batches=3, progress=False)
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
