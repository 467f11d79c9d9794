"""The tasks: how a model is made and trained, and the bounds of what it learns.

Bounds hold for the seeds 0 to 5, with room to spare.
"""

import contextlib
import math
import operator
from functools import cache, partial

import pytest
import torch

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.dropout import cpu_dropout_generator, dropout_mask
from chapter3_helpers.lexicon import embed_by_features
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.positions import linear_bias
from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder
from chapter3_helpers.sentence import embed_text
from chapter3_helpers.tasks import (
    last_holder,
    leaky_mask,
    next_word,
    phrases,
    pronouns,
    riddles,
    translators,
    who_whom,
)
from chapter3_helpers.tasks.last_holder import StoryReader, none
from chapter3_helpers.tasks.training import trained
from chapter3_helpers.trainable_qkv import SelfAttention_v2
from chapter3_helpers.transformer_block import MinimalLanguageModel
from tests.switches import SWITCHES

SPLIT = pronouns.split_sentences()
RIDDLES = riddles.draw(riddles.NAMES)
TEXT = torch.tensor([0, 1, 2, 0, 3, 4] * 30)  # what follows a 0 depends on the token before it


def numbered(seed=3):
    return torch.Generator().manual_seed(seed)


DRAWN = {
    "embed_text": lambda: embed_text("Ann 鱼", 7)[1],
    "embed_by_features": lambda: embed_by_features("The cat saw a gnu")[1],
    "native dropout": lambda: dropout_mask((5, 7), 0.5, 1),
    "mkl dropout": lambda: dropout_mask((5, 7), 0.5, 1, "mkl"),
    "this CPU's dropout": cpu_dropout_generator,
    "pronouns": pronouns.split_sentences,
    "riddles": lambda: riddles.draw(riddles.NAMES),
    "words": lambda: translators.random_words(3, 5),
    "sentences": lambda: leaky_mask.random_sentences(3, 5, numbered()),
    "phrases": lambda: phrases.draw_texts(3, numbered())[0],
    "who and whom": lambda: who_whom.encode("感谢 thanked Bob")[1],
}


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_what_a_seed_draws_is_the_same_and_on_the_cpu_whatever_a_reader_has_switched(draw, switch):
    expected = draw()
    with SWITCHES[switch]():
        drawn = draw()
    assert getattr(drawn, "dtype", None) == getattr(expected, "dtype", None)
    same = torch.equal if isinstance(expected, torch.Tensor) else operator.eq
    assert same(drawn, expected)


def reader(num_heads):
    heads = MultiHeadAttentionWrapper(20, 32 // num_heads, 4, 0.0, num_heads)
    return who_whom.WhoWhomReader(heads)


def penalty(reader, x):
    return reader.scores(x) + linear_bias(x.shape[-2])[-1], x


def learn_pronouns(model, **options):
    return pronouns.train(model, SPLIT.training, **options)


def learn_text(model, **options):
    return next_word.train(model, TEXT, **options)


def late_loss(model):
    return (next_word.next_token_losses(model, TEXT[:5])[1:].max(),)  # the first 0 is ambiguous


def learn_words(model, batches=200, **options):
    return translators.train(model, batches, lengths=(2, 3), **options)


def learn_riddles(model, **options):
    return riddles.train(model, RIDDLES, **options)


def report_riddles(model):
    return riddles.report(model, RIDDLES, riddles.draw(["Momo"] * 2400, seed=1))


def words(model):
    return tuple(translators.accuracy_by_length(model, (2, 3)).tolist())


def stories(model):
    return last_holder.share_right(model, 16), last_holder.share_right(model, 64)


def new_pairs(model):
    return pronouns.report(model, SPLIT.new_pairs)


def known_letters(model):
    return (phrases.share_right(model),)


TASKS = {  # the title of the bar, how a model is made, how it is trained
    "one state": ("EncoderDecoder", partial(EncoderDecoder, 16), learn_words),
    "looking back": ("BahdanauDecoder", partial(BahdanauDecoder, 16), learn_words),
    "pronouns": ("pronouns", partial(SelfAttention_v2, 38, 3), learn_pronouns),
    "only the past": ("next word", leaky_mask.LeakyLanguageModel, leaky_mask.train),
    "one word ahead": ("next word", partial(leaky_mask.LeakyLanguageModel, 1), leaky_mask.train),
    "no dropout": ("animals", partial(SelfAttention_v2, 147, 12), learn_riddles),
    "dropout": ("animals", partial(CausalAttention, 147, 12, 6, 0.5), learn_riddles),
    "one head": ("who and whom", partial(reader, 1), who_whom.train),
    "two heads": ("who and whom", partial(reader, 2), who_whom.train),
    "no positions": ("positions: none", partial(StoryReader, none), last_holder.train),
    "penalty": ("positions: penalty", partial(StoryReader, penalty), last_holder.train),
    "next word": ("next token", partial(MinimalLanguageModel, 5, 8, 4, 2), learn_text),
    "one layer": ("repeated phrases", partial(phrases.LetterReader, 1), phrases.train),
    "two layers": ("repeated phrases", partial(phrases.LetterReader, 2), phrases.train),
}
KEPT = {  # as notebooks and explorers get these models
    "pronouns": pronouns.trained_reader,
    "one head": partial(who_whom.trained_reader, 1),
    "two heads": partial(who_whom.trained_reader, 2),
    "one layer": partial(phrases.trained_reader, num_layers=1),
    "two layers": phrases.trained_reader,
}
PAST = (math.log(2) - 0.02, math.log(2) + 0.04)  # each word has two followers
GUESS = math.log(13)  # there are 13 words
LEARNED = {  # a report, and the bounds of each of its numbers
    "one state": (words, (0.35, 1), (0.2, 1)),  # by chance 1/26
    "looking back": (words, (0.35, 1), (0.2, 1)),
    "pronouns": (new_pairs, (0.97, 1), (0.95, 1), (0.9, 1)),
    "only the past": (leaky_mask.report, PAST, PAST, (0.97, 1), (0.97, 1)),
    "one word ahead": (leaky_mask.report, (0, 0.25), (GUESS + 1, 99), (0, 0.75), (0, 0.6)),
    "no dropout": (report_riddles, (1, 1), (0.65, 0.85), (1.2, 1.7), (0.65, 1)),
    "dropout": (report_riddles, (1, 1), (0.78, 0.85), (0.41, 0.75), (0, 0.35)),
    "one head": (who_whom.report, (0, 0.2), (0.7, 1)),
    "two heads": (who_whom.report, (0.9, 1), (0, 0.05)),
    "no positions": (stories, (0.2, 0.65), (0.1, 0.65)),
    "penalty": (stories, (0.95, 1), (0.9, 1)),
    "next word": (late_loss, (0, 0.1)),
    "one layer": (known_letters, (0.2, 0.4)),
    "two layers": (known_letters, (0.98, 1)),
}


@cache
def learned(name):
    """Return a model of the table as it is after its training, in evaluation mode."""
    _, make, train = TASKS[name]
    kept = KEPT[name]() if name in KEPT else trained(make, train)
    return kept.model.eval()


@pytest.mark.parametrize("name", TASKS)
def test_what_is_learned_lies_within_its_bounds(name):
    report, *bounds = LEARNED[name]
    numbers = report(learned(name))
    for number, (low, high) in zip(numbers, bounds, strict=True):
        assert low <= number <= high, numbers


# dropout draws from torch's own generator, and every batch of riddles holds all of them
@pytest.mark.parametrize("name", [name for name in TASKS if name not in ("no dropout", "dropout")])
def test_the_same_seeds_train_the_same_model(name):
    (_, make, train), runs = TASKS[name], []
    for seed in (0, 0, 1):
        torch.manual_seed(5)
        model = make()
        torch.manual_seed(len(runs))  # draws by others make no difference
        losses = train(model, batches=3, seed=seed, progress=False)
        runs.append((losses, model.state_dict()))
    assert runs[0][0] == runs[1][0] != runs[2][0]
    torch.testing.assert_close(dict(runs[0][1]), dict(runs[1][1]), rtol=0, atol=0)


@pytest.mark.parametrize(("title", "make", "train"), TASKS.values(), ids=TASKS)
def test_a_training_can_be_watched_under_its_title(title, make, train, capsys):
    seen = []
    assert len(train(make(), batches=2, watch=seen.append)) == 2
    assert seen == [0, 1, 2]
    shown = capsys.readouterr().out.split("\r")[-1]
    assert shown.startswith(f"{title}: 100%")
    assert "2/2 batches" in shown


@pytest.mark.parametrize("switch", ["no gradients", "inference mode"])
@pytest.mark.parametrize("name", TASKS)
def test_every_task_trains_a_readers_model_without_gradients_being_asked_for(name, switch):
    (_, make, train), losses = TASKS[name], []
    for switched in (contextlib.nullcontext, SWITCHES[switch]):
        torch.manual_seed(7)
        model = make()
        with switched():
            losses.append(train(model, batches=2, progress=False))
    assert losses[0] == losses[1]
    assert all(parameter.requires_grad for parameter in model.parameters())
