"""The repeated phrases of ``09_transformer_block``: two layers find what came before."""

import torch

from chapter3_helpers.tasks.phrases import (
    LENGTH,
    LetterReader,
    continued,
    draw_texts,
    encode,
    layer_weights,
    share_right,
    trained_reader,
)
from tests.taught_code import first_difference
from tests.test_taught_code import cell_of


def test_a_text_is_one_phrase_of_different_letters_over_and_over():
    texts, lengths = draw_texts(300, torch.Generator().manual_seed(1))
    assert texts.shape == (300, 24)
    assert lengths.unique().tolist() == [4, 5, 6, 7, 8, 9, 10, 11]
    for text, length in zip(texts.tolist(), lengths.tolist(), strict=True):
        assert len(set(text[:length])) == length
        assert all(text[i] == text[i % length] for i in range(24))
    assert texts[:, 0].unique().tolist() == list(range(26))


def test_the_notebooks_class_is_this_one():
    assert first_difference(cell_of("09_transformer_block", "LetterReader"), LetterReader) is None


def test_no_letter_sees_a_later_one():
    torch.manual_seed(0)
    reader, ids = LetterReader(num_layers=2), encode("holidayholi")
    other = ids.clone()
    other[6] = 0 if ids[6] else 1
    changed = (reader(ids) != reader(other)).any(dim=-1)
    assert changed.tolist() == [i >= 6 for i in range(11)]


def test_the_weights_are_those_that_the_layers_used():
    torch.manual_seed(0)
    for residual in (True, False):
        reader, ids = LetterReader(2, residual), encode("abcab")
        x = reader.positions(reader.embedding(ids))
        expected = []
        for norm, layer in zip(reader.norms, reader.layers, strict=True):
            expected.append(layer.attention_weights(norm(x)))
            found = expected[-1] @ layer.W_value(norm(x))
            x = x + found if residual else found
        torch.testing.assert_close(layer_weights(reader, ids), torch.stack(expected))
        torch.testing.assert_close(reader(ids), reader.output(x))


def test_only_letters_that_can_be_known_count():
    class Oracle(torch.nn.Module):
        """Knows the letter after the last earlier place, and says a where there is none."""

        def forward(self, ids):
            logits = torch.zeros(*ids.shape, 26)
            for row, text in enumerate(ids.tolist()):
                for i, letter in enumerate(text):
                    place = "".join(map(chr, text[:i])).rfind(chr(letter))
                    logits[row, i, text[place + 1] if place >= 0 else 0] = 1
            return logits

    assert share_right(Oracle(), texts=50) == 1


def test_two_layers_continue_what_one_cannot():
    one, two = (trained_reader(num_layers=layers).model for layers in (1, 2))
    nothing_added = trained_reader(num_layers=2, residual=False).model
    assert share_right(two) > 0.98
    assert share_right(one) < 0.4
    assert share_right(nothing_added) < 0.7
    assert continued(two, "holidayholi") == "dayholid"
    assert continued(two, "abcxyzab", letters=3) == "cxy"
    before, after = layer_weights(two, encode("holidayholi"))
    assert before.diagonal(-1)[1:].mean() > 0.25
    for second_round in range(7, 11):  # h o l i once more: each looks behind its earlier place
        assert after[second_round].argmax() == second_round - 6


def test_a_long_text_is_read_from_behind():
    torch.manual_seed(0)
    reader = LetterReader(1)
    assert len(continued(reader, "abcd" * 6, letters=3)) == 3
    assert continued(reader, "z" + "abcd" * 6, 1) == continued(reader, "abcd" * 6, 1)
    assert LENGTH == 24
