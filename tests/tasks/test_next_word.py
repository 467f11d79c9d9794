"""What ``09_transformer_block`` teaches of prediction: the loss, the training, and the text."""

import math
from collections import Counter

import pytest
import torch

from chapter3_helpers.tasks import next_word
from chapter3_helpers.tasks.next_word import (
    Text,
    counting_losses,
    docstring_text,
    docstring_words,
    mean_loss,
    next_token_losses,
    train,
)
from chapter3_helpers.transformer_block import MinimalLanguageModel

VOCAB, CONTEXT, B, T = 13, 11, 3, 5


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(123)


def make():
    return MinimalLanguageModel(VOCAB, d=22, context_length=CONTEXT, num_heads=2)


def draw_ids(*shape):
    return torch.randint(VOCAB, shape)


def test_one_pass_equals_a_pass_for_every_prefix():
    model, ids = make().double(), draw_ids(B, T + 1)
    losses = next_token_losses(model, ids)
    assert losses.shape == (B, T)
    for b in range(B):
        for t in range(T):
            probabilities = torch.softmax(model(ids[b, : t + 1])[-1], dim=-1)
            assert losses[b, t].item() == pytest.approx(-probabilities[ids[b, t + 1]].log().item())
    assert torch.allclose(next_token_losses(model, ids[0].int()), losses[0])


def test_it_is_the_mean_over_pieces_as_long_as_the_context():
    model, ids = make(), draw_ids(3 * (CONTEXT + 1) + 5)  # the last five fill no piece
    pieces = ids[:-5].view(3, CONTEXT + 1)
    expected = next_token_losses(model, pieces).mean().item()
    assert mean_loss(model, ids) == pytest.approx(expected)


def test_pieces_start_anywhere_and_are_as_long_as_the_context():
    model, seen = MinimalLanguageModel(6, 8, 4, 2), []
    model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    train(model, torch.arange(6), batches=3, progress=False)
    assert [tuple(piece.shape) for piece in seen] == [(32, 4)] * 3
    assert torch.cat(seen).unique(dim=0).tolist() == [[0, 1, 2, 3], [1, 2, 3, 4]]


def test_reads_docstrings_and_nothing_else(tmp_path, monkeypatch):
    (tmp_path / "made_up.py").write_text(
        '"""One FISH."""\nx = "no"\n\n\ndef f():\n    """Two, fish."""\n    # red\n'
        '\n\nclass C:\n    """Blue fish."""\n\n\nraise SystemExit("never imported")\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(next_word, "LIBRARY", ("made_up",))
    words = docstring_words.__wrapped__()  # not cached
    assert sorted(words) == sorted(
        ["one", "fish", ".", "two", ",", "fish", ".", "blue", "fish", "."]
    )


def test_frequent_words_have_numbers_and_every_tenth_stretch_is_held_out():
    with torch.inference_mode():  # where somebody asks for it first, and trains with it afterwards
        text, words = docstring_text.__wrapped__(), docstring_words()
    assert not text.training.is_inference()
    ids = text.read(" ".join(words[:12_000]))
    assert len(text.vocabulary) == len(set(text.vocabulary)) == 500
    counted = Counter(words)
    count = [counted[word] for word in text.vocabulary[1:]]
    assert count == sorted(count, reverse=True)
    assert (ids == 0).sum() == sum(word not in text.vocabulary for word in words[:12_000])
    assert len(text.held_out) == len(words) // 10_000 * 1000
    assert torch.equal(text.training[:9000], ids[:9000])
    assert torch.equal(text.held_out[:1000], ids[9000:10_000])
    assert torch.equal(text.training[9000:11_000], ids[10_000:12_000])


def test_counting_what_can_be_counted_by_hand():
    seen = torch.tensor([0, 1, 0, 2] * 25)  # a b a c ...

    def losses(*held_out):
        found = counting_losses(Text(tuple("abcd"), seen, torch.tensor(held_out)))
        assert found.pop("no idea") == math.log(4)
        return [math.exp(-loss) for loss in found.values()]  # the geometric mean of the chances

    ab, ba = (25 + 3 / 4) / (50 + 3), (25 + 3 / 2) / (25 + 3)  # few words more are the best
    aba = (25 + 3 * ba) / (25 + 3)
    expected = [(0.5 * 0.25 * 0.5) ** (1 / 3), (ab * ba) ** 0.5, aba]
    assert losses(0, 1, 0) == pytest.approx(expected, rel=1e-5)
    bb = 300 / 4 / (25 + 300)  # never seen, so many words more are the best
    assert losses(1, 1, 1) == pytest.approx([0.25, bb, bb], rel=1e-5)
    assert losses(3, 3, 3) == pytest.approx([1e-6] * 3, rel=1e-5), "a large loss, and not infinite"


def test_a_text_is_read_on_the_models_device_and_a_short_one_is_refused():
    class Elsewhere(torch.nn.Linear):  # on a device that this machine need not have
        context_length = 4

        def forward(self, ids):
            raise LookupError(f"ids on {ids.device}")

    model = Elsewhere(1, 1, device="meta")
    for read in (train, mean_loss):
        with pytest.raises(LookupError, match="ids on meta"):
            read(model, torch.arange(9))
        with pytest.raises(ValueError, match="more than context_length=11 tokens, got 11"):
            read(make(), draw_ids(11))
