"""The repeated phrases of ``10_induction_heads``: two layers find what came before."""

import pytest
import torch

from chapter3_helpers.induction_heads import LetterReader
from chapter3_helpers.tasks.phrases import (
    continued,
    draw_texts,
    encode,
    layer_weights,
    share_right,
    trained_reader,
)
from tests.tasks.test_tasks import learned


def test_a_text_is_one_phrase_of_different_letters_over_and_over():
    texts, lengths = draw_texts(300, torch.Generator().manual_seed(1))
    assert texts.shape == (300, 24)
    assert lengths.unique().tolist() == [4, 5, 6, 7, 8, 9, 10, 11]
    for text, length in zip(texts.tolist(), lengths.tolist(), strict=True):
        assert len(set(text[:length])) == length
        assert all(text[i] == text[i % length] for i in range(24))
    assert texts[:, 0].unique().tolist() == list(range(26))


@pytest.mark.parametrize("residual", [True, False])
def test_the_weights_are_those_that_the_layers_used_and_see_no_later_letter(residual):
    torch.manual_seed(0)
    reader, ids = LetterReader(2, residual), encode("abcab")
    x = reader.positions(reader.embedding(ids))
    expected = []
    for norm, layer in zip(reader.norms, reader.layers, strict=True):
        expected.append(layer.attention_weights(norm(x)))
        found = expected[-1] @ layer.W_value(norm(x))
        x = x + found if residual else found
    weights = layer_weights(reader, ids)
    torch.testing.assert_close(weights, torch.stack(expected))
    torch.testing.assert_close(reader(ids), reader.output(x))
    assert weights.equal(weights.tril())


def test_only_letters_that_can_be_known_count():
    class Oracle(torch.nn.Module):
        """Knows the letter after the last earlier place, and says a where that is too early."""

        def __init__(self, earliest=0):
            super().__init__()
            self.earliest = earliest

        def forward(self, ids):
            logits = torch.zeros(*ids.shape, 26)
            for row, text in enumerate(ids.tolist()):
                for i, letter in enumerate(text):
                    place = "".join(map(chr, text[:i])).rfind(chr(letter))
                    logits[row, i, text[place + 1] if place >= self.earliest else 0] = 1
            return logits

    assert share_right(Oracle(), texts=50) == 1
    assert share_right(Oracle(earliest=1), texts=50) < 1, "the second letter of a round counts"


def test_two_layers_look_behind_the_earlier_place_of_a_letter():
    two = learned("two layers")
    assert continued(two, "holidayholi") == "dayholid"
    assert continued(two, "abcxyzab", letters=3) == "cxy"
    before, after = layer_weights(two, encode("holidayholi"))
    assert before.diagonal(-1)[1:].mean() > 0.25
    for second_round in range(7, 11):  # h o l i once more
        assert after[second_round].argmax() == second_round - 6


def test_the_head_that_looks_behind_a_copy_comes_while_the_reader_trains():
    states, losses = trained_reader()
    assert list(states) == list(range(0, len(losses) + 1, 20))
    text = encode("holidayholiday")
    early, late = (
        layer_weights(states[batches], text)[1].diagonal(-6)[1:].mean() for batches in (60, 200)
    )
    assert early < 0.4
    assert late > 0.8


def test_of_a_long_text_the_last_24_letters_are_read():
    torch.manual_seed(0)
    reader = LetterReader(1)
    assert len(continued(reader, "abcd" * 6, letters=3)) == 3
    assert continued(reader, "z" + "abcd" * 6, 1) == continued(reader, "abcd" * 6, 1)


def test_letters_that_are_none_are_refused():
    with pytest.raises(ValueError, match="letters a to z, got '1'"):
        encode("abc1")
