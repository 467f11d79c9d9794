"""What holds for the training of every task: its seed and its bar."""

from functools import partial

import pytest
import torch
from torch import nn

from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder
from chapter3_helpers.tasks import (
    last_holder,
    leaky_mask,
    next_word,
    phrases,
    pronoun_sentences,
    pronouns,
    riddles,
    translators,
    who_whom,
)
from chapter3_helpers.trainable_qkv import SelfAttention_v2
from chapter3_helpers.transformer_block import MinimalLanguageModel

SENTENCES = pronoun_sentences.split_sentences().training[:50]
TEXT = torch.arange(100) % 5


def reader():
    return who_whom.WhoWhomReader(MultiHeadAttentionWrapper(20, 16, 4, 0.0, num_heads=2))


def with_data(train, data):
    return lambda model, *arguments, **options: train(model, data, *arguments, **options)


# how a model is made, how it is trained, and what the bar says
TASKS = {
    "one state": (partial(EncoderDecoder, 6), translators.train, "EncoderDecoder"),
    "looking back": (partial(BahdanauDecoder, 6), translators.train, "BahdanauDecoder"),
    "pronouns": (
        partial(SelfAttention_v2, 38, 3),
        with_data(pronouns.train, SENTENCES),
        "pronouns",
    ),
    "leaky mask": (leaky_mask.LeakyLanguageModel, leaky_mask.train, "next word"),
    "riddles": (partial(SelfAttention_v2, 28, 12), riddles.train, "animals"),
    "who and whom": (reader, who_whom.train, "who and whom"),
    "last holder": (
        partial(last_holder.StoryReader, "rotary"),
        last_holder.train,
        "positions: rotary",
    ),
    "next word": (
        partial(MinimalLanguageModel, 5, 8, 4, 2),
        with_data(next_word.train, TEXT),
        "next token",
    ),
    "phrases": (partial(phrases.LetterReader, 1), phrases.train, "repeated phrases"),
}
every_task = pytest.mark.parametrize(("make", "train", "title"), TASKS.values(), ids=TASKS)


class Elsewhere(nn.Module):
    """A model on a device that this machine need not have."""

    context_length = 4

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(1, device="meta"))

    def forward(self, x):
        raise LookupError(f"x on {x.device}")


@every_task
def test_the_same_seeds_train_the_same_model_and_any_integer_is_a_seed(make, train, title):
    runs = []
    for seed in (0, 0, -(10**30)):
        torch.manual_seed(5)
        model = make()
        torch.manual_seed(len(runs))  # what others draw meanwhile makes no difference
        losses = train(model, batches=3, seed=seed, progress=False)
        runs.append((losses, model.state_dict()))
    assert runs[0][0] == runs[1][0] != runs[2][0]
    torch.testing.assert_close(dict(runs[0][1]), dict(runs[1][1]), rtol=0, atol=0)


@every_task
def test_a_training_can_be_watched_and_its_bar_left_out(make, train, title, capsys):
    seen = []
    assert len(train(make(), batches=2, watch=seen.append)) == 2
    assert seen == [0, 1, 2]
    shown = capsys.readouterr().out.split("\r")[-1]
    assert shown.startswith(f"{title}: 100%")
    assert "2/2 batches" in shown
    train(make(), batches=2, progress=False)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("read", [next_word.train, next_word.mean_loss])
def test_a_text_goes_where_the_model_is(read):
    with pytest.raises(LookupError, match="x on meta"):
        read(Elsewhere(), TEXT)
