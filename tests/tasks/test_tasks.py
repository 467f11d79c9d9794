"""One table of tasks: how a model is made and trained, and the bounds of what it learns.

Bounds hold for the seeds 0 to 5, with room to spare.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import pytest
import torch
from torch import nn

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.positions import linear_bias
from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder
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
from chapter3_helpers.tasks.training import Trained, trained
from chapter3_helpers.trainable_qkv import SelfAttention_v2
from chapter3_helpers.transformer_block import MinimalLanguageModel

SPLIT = pronouns.split_sentences()
TEXT = torch.tensor([0, 1, 2, 0, 3, 4] * 30)  # what follows a 0 depends on the token before it
LN2 = math.log(2)


class Task(NamedTuple):
    title: str  # of the bar
    make: Callable[[], nn.Module]
    train: Callable[..., list[float]]
    report: Callable[[nn.Module], tuple[float, ...]]
    bounds: list[tuple[float, float]]  # of each number in the report
    kept: Callable[[], Trained] | None = None  # as notebooks and explorers get it


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


def letters(model):
    return tuple(translators.accuracy_by_length(model, (2, 3)).tolist())


def learn_short_words(model, batches=200, **options):
    return translators.train(model, batches, lengths=(2, 3), **options)


def stories(model):
    return last_holder.share_right(model, 16), last_holder.share_right(model, 64)


def first_holder(model):
    return (last_holder.share_right(model, 16, first=True),)


def new_pairs(model):
    return pronouns.report(model, SPLIT.new_pairs)


def known_pairs(model):
    return pronouns.report(model, SPLIT.new)


def known_letters(model):
    return (phrases.share_right(model),)


ALL, NONE = (0.97, 1), (0, 0)
TASKS = {
    "one state": Task(
        *("EncoderDecoder", partial(EncoderDecoder, 16), learn_short_words),
        *(letters, [(0.35, 1), (0.2, 1)]),  # by chance 1/26
    ),
    "looking back": Task(
        *("BahdanauDecoder", partial(BahdanauDecoder, 16), learn_short_words),
        *(letters, [(0.35, 1), (0.2, 1)]),  # by chance 1/26
    ),
    "pronouns": Task(
        *("pronouns", partial(SelfAttention_v2, 38, 3), learn_pronouns),
        *(new_pairs, [ALL, (0.95, 1), (0.9, 1)], pronouns.trained_reader),
    ),
    "plain scores": Task(  # of 12 words, the adjective itself gets e / (e + 11), its noun less
        *("pronouns", partial(pronouns.PlainAttention, 38, 3), learn_pronouns),
        *(known_pairs, [(0.55, 0.7), NONE, (1 / (math.e + 11) - 1e-4, 1 / (math.e + 11) + 1e-4)]),
    ),
    "only the past": Task(
        *("next word", leaky_mask.LeakyLanguageModel, leaky_mask.train),
        *(leaky_mask.report, [(LN2 - 0.02, LN2 + 0.04), (LN2 - 0.02, LN2 + 0.04), ALL, ALL]),
    ),
    "one word ahead": Task(  # on the past alone it is worse than guessing, whose loss is ln 13
        *("next word", partial(leaky_mask.LeakyLanguageModel, 1), leaky_mask.train),
        *(leaky_mask.report, [(0, 0.25), (math.log(13) + 1, 99), (0, 0.75), (0, 0.6)]),
    ),
    "without dropout": Task(
        *("animals", partial(SelfAttention_v2, 28, 12), riddles.train),
        *(riddles.report, [(0.95, 1), (0.95, 1), (0, 0.35)]),
    ),
    "with dropout": Task(
        *("animals", partial(CausalAttention, 28, 12, 6, dropout=0.5), riddles.train),
        *(riddles.report, [(0.8, 1), (0.75, 1), (0.5, 1)]),
    ),
    "one head": Task(
        *("who and whom", partial(reader, 1), who_whom.train),
        *(who_whom.report, [(0, 0.2), (0.7, 1)], partial(who_whom.trained_reader, 1)),
    ),
    "two heads": Task(
        *("who and whom", partial(reader, 2), who_whom.train),
        *(who_whom.report, [(0.9, 1), (0, 0.05)], partial(who_whom.trained_reader, 2)),
    ),
    "no positions": Task(
        *("positions: none", partial(last_holder.StoryReader, last_holder.none)),
        *(last_holder.train, stories, [(0.2, 0.65), (0.1, 0.65)]),
    ),
    "penalty": Task(
        *("positions: penalty", partial(last_holder.StoryReader, penalty)),
        *(last_holder.train, stories, [(0.95, 1), (0.9, 1)]),
    ),
    "penalty, first holder": Task(  # a penalty on the distance does not find who was first
        *("positions: penalty", partial(last_holder.StoryReader, penalty)),
        *(partial(last_holder.train, first=True), first_holder, [(0.2, 0.6)]),
    ),
    "next word": Task(
        *("next token", partial(MinimalLanguageModel, 5, 8, 4, 2), learn_text),
        *(late_loss, [(0, 0.1)]),
    ),
    "one layer": Task(
        *("repeated phrases", partial(phrases.LetterReader, 1), phrases.train),
        *(known_letters, [(0.2, 0.4)], partial(phrases.trained_reader, num_layers=1)),
    ),
    "two layers": Task(
        *("repeated phrases", partial(phrases.LetterReader, 2), phrases.train),
        *(known_letters, [(0.98, 1)], phrases.trained_reader),
    ),
}


@cache
def learned(name):
    """Return a model of the table as it is after its training, in evaluation mode."""
    task = TASKS[name]
    kept = task.kept() if task.kept else trained(task.make, task.train)
    return kept.model.eval()


@pytest.mark.parametrize("name", TASKS)
def test_what_is_learned_lies_within_its_bounds(name):
    report = TASKS[name].report(learned(name))
    for number, (low, high) in zip(report, TASKS[name].bounds, strict=True):
        assert low <= number <= high, report


# dropout draws from torch's own generator
@pytest.mark.parametrize("name", [name for name in TASKS if name != "with dropout"])
def test_the_same_seeds_train_the_same_model(name):
    task, runs = TASKS[name], []
    for seed in (0, 0, 1):
        torch.manual_seed(5)
        model = task.make()
        torch.manual_seed(len(runs))  # draws by others make no difference
        losses = task.train(model, batches=3, seed=seed, progress=False)
        runs.append((losses, model.state_dict()))
    assert runs[0][0] == runs[1][0] != runs[2][0]
    torch.testing.assert_close(dict(runs[0][1]), dict(runs[1][1]), rtol=0, atol=0)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_training_can_be_watched_under_its_title(task, capsys):
    seen = []
    assert len(task.train(task.make(), batches=2, watch=seen.append)) == 2
    assert seen == [0, 1, 2]
    shown = capsys.readouterr().out.split("\r")[-1]
    assert shown.startswith(f"{task.title}: 100%")
    assert "2/2 batches" in shown
