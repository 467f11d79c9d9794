"""Which German pronoun does *it* become? Sentences, and what one attention head learns from them.

*The dog left the milk in the glass because it was sour.* For *it*, German says *er*, *sie* or *es*:
here *sie*, since the milk is sour, and milk is feminine. The adjective tells which kind of noun is
meant, and the gender of that noun decides.

The head's key of a noun can say its kind, and its value the gender. It returns three numbers per
token, the logits of *er*, *sie* and *es*. The training says which pronoun is right, never where to
look.

Taught in ``03_trainable_qkv``, and carried on in later notebooks.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers._language import say, to_say
from chapter3_helpers.tasks.training import Trained, minimise, trained
from chapter3_helpers.trainable_qkv import SelfAttention_v2

PRONOUNS = ("er", "sie", "es")
NOUNS = {  # two of each kind are masculine in German, two feminine, two neuter
    "animal": ("bird", "dog", "goat", "cat", "horse", "pig"),
    "drink": ("tea", "juice", "soup", "milk", "beer", "water"),
    "vessel": ("jug", "bucket", "bowl", "cup", "barrel", "glass"),
}
ADJECTIVES = {  # what can be said of each kind, and here of no other
    "animal": ("hungry", "thirsty", "sleepy", "shy"),
    "drink": ("sour", "salty", "sweet", "bitter"),
    "vessel": ("cracked", "chipped", "leaky", "broken"),
}
ONLY = {  # what is said where there is no noun of the adjective's kind
    "animal": to_say("Here only an animal can be {adjective}. The sentence needs {nouns}."),
    "drink": to_say("Here only a drink can be {adjective}. The sentence needs {nouns}."),
    "vessel": to_say("Here only a vessel can be {adjective}. The sentence needs {nouns}."),
}
VERBS = ("left", "found", "saw")
PRONOUN_OF = {noun: PRONOUNS[i // 2] for nouns in NOUNS.values() for i, noun in enumerate(nouns)}
KIND_OF = {adjective: kind for kind in ADJECTIVES for adjective in ADJECTIVES[kind]}
WORDS = (*PRONOUN_OF, *KIND_OF, *VERBS, "the", "in", "because", "it", "was")
# *Sour milk*, *salty soup* and 16 other pairs are kept from training. In each kind two adjectives
# lose one noun of every gender, so that none of them betrays a gender.
NEW_PAIRS = {
    (ADJECTIVES[kind][1 - i % 2], noun) for kind in NOUNS for i, noun in enumerate(NOUNS[kind])
}


class Split(NamedTuple):
    """All 7776 sentences: those to train with, others, and those with a pair of ``NEW_PAIRS``."""

    training: list[str]
    new: list[str]
    new_pairs: list[str]


class Answer(NamedTuple):
    """Where the adjective and its noun stand, counted from 0, and the pronoun."""

    adjective: int
    noun: int
    pronoun: str


def split_sentences() -> Split:
    """Draw 1000 sentences to train with; none of them has a pair of ``NEW_PAIRS``.

    >>> split = split_sentences()
    >>> len(split.training), len(split.new), len(split.new_pairs)
    (1000, 4832, 1944)
    """
    known_pairs, new_pairs = [], []
    for verb, *nouns in itertools.product(VERBS, *NOUNS.values()):
        animal, drink, vessel = nouns
        for noun, adjectives in zip(nouns, ADJECTIVES.values(), strict=True):
            for adjective in adjectives:
                sentences = new_pairs if (adjective, noun) in NEW_PAIRS else known_pairs
                statement = f"the {animal} {verb} the {drink} in the {vessel}"
                sentences.append(f"{statement} because it was {adjective}")
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(len(known_pairs), generator=generator, device="cpu").tolist()
    shuffled = [known_pairs[i] for i in order]
    return Split(shuffled[:1000], shuffled[1000:], new_pairs)


def reason_first(sentence: str) -> str:
    """Move the reason to the front; then every noun lies in the adjective's future.

    >>> reason_first("the dog left the milk in the glass because it was sour")
    'because it was sour the dog left the milk in the glass'
    """
    statement, because, reason = sentence.partition("because")
    return f"{because}{reason} {statement}".strip()


def known_words() -> str:
    """Return the 38 words in words, kind by kind."""
    return say(
        "animals: {animals}; drinks: {drinks}; vessels: {vessels}; adjectives: {adjectives}; "
        "verbs: {verbs}; and {others}.",
        animals=", ".join(NOUNS["animal"]),
        drinks=", ".join(NOUNS["drink"]),
        vessels=", ".join(NOUNS["vessel"]),
        adjectives=", ".join(KIND_OF),
        verbs=", ".join(VERBS),
        others=", ".join(WORDS[-5:]),
    )


def split_words(sentence: str) -> tuple[str, ...]:
    """Split a sentence at spaces, commas and full stops."""
    return tuple(sentence.replace(",", " ").replace(".", " ").split())


def encode(sentence: str) -> tuple[tuple[str, ...], torch.Tensor]:
    """Split a sentence into tokens; give each a 1 in its word's own column and 0 elsewhere.

    Args:
        sentence: any of the 38 ``WORDS``; capitals, commas and full stops make no difference.

    Returns:
        The tokens, and a float32 tensor of shape (T, 38).

    Raises:
        TypeError: ``sentence`` is not a string.
        ValueError: a word is not one of ``WORDS``, or there is none.

    >>> tokens, x = encode("The milk was sour.")
    >>> tokens, x.shape
    (('the', 'milk', 'was', 'sour'), torch.Size([4, 38]))
    """
    if not isinstance(sentence, str):
        raise TypeError(f"sentence must be a string, got {type(sentence).__name__}")
    tokens = split_words(sentence.lower())
    unknown = dict.fromkeys(token for token in tokens if token not in WORDS)
    if unknown or not tokens:
        knows = to_say("The reader knows {count} words, and not {unknown}. It knows {words}")
        if not unknown:
            knows = to_say(
                "The reader knows {count} words, and the sentence has none. It knows {words}"
            )
        of = {"count": len(WORDS), "unknown": say(" or ").join(map(repr, unknown))}
        raise ValueError(say(knows, words=known_words(), **of))
    ids = torch.tensor([WORDS.index(token) for token in tokens])
    return tokens, functional.one_hot(ids, len(WORDS)).float()


def find_answer(tokens: tuple[str, ...]) -> Answer:
    """Find the adjective, the first noun that it can be said of, and that noun's pronoun.

    Raises:
        ValueError: there is not exactly one adjective, or no such noun.

    >>> find_answer(encode("The dog left the milk in the glass because it was sour.")[0])
    Answer(adjective=11, noun=4, pronoun='sie')
    """
    adjectives = [i for i, token in enumerate(tokens) if token in KIND_OF]
    if len(adjectives) != 1:
        needs = to_say("The sentence needs one adjective of {adjectives}; got {found}.")
        if not adjectives:
            needs = to_say("The sentence needs one adjective of {adjectives}; got none.")
        found = say(" and ").join(tokens[i] for i in adjectives)
        raise ValueError(say(needs, adjectives=", ".join(KIND_OF), found=found))
    adjective = tokens[adjectives[0]]
    kind = KIND_OF[adjective]
    nouns = [i for i, token in enumerate(tokens) if token in NOUNS[kind]]
    if not nouns:
        some = say(" or ").join(NOUNS[kind])
        raise ValueError(say(ONLY[kind], adjective=repr(adjective), nouns=some))
    return Answer(adjectives[0], nouns[0], PRONOUN_OF[tokens[nouns[0]]])


@torch.inference_mode(False)  # also for the sentences, which are read before
def train(
    model: nn.Module, sentences: Sequence[str], batches: int = 500, **options: Any
) -> list[float]:
    """Train a model, (B, T, 38) to (B, T, 3), to give the right pronoun in the adjective's row.

    The sentences are equally long and have one adjective each; a batch has 32 of them.

    >>> _ = torch.manual_seed(0)
    >>> model, sentences = SelfAttention_v2(38, 3), ["the milk was sour", "the tea was sour"]
    >>> _ = train(model, sentences, batches=50, progress=False)
    >>> [translate_it(model, sentence) for sentence in sentences]
    ['sie', 'er']
    """
    x, adjectives, _, pronouns = _encode_all(sentences)

    def draw_loss(generator: torch.Generator) -> torch.Tensor:
        drawn = torch.randint(len(sentences), (32,), generator=generator)
        logits = _rows(model(x[drawn]), adjectives[drawn])  # (B, T, 3) -> (B, 3)
        return functional.cross_entropy(logits, pronouns[drawn])

    return minimise(model, draw_loss, batches, 0.1, "pronouns", **options)


class Report(NamedTuple):
    """How often the pronoun is right, and where the adjective's row of weights looks."""

    pronoun_right: float
    noun_found: float  # how often the largest weight is on the right noun
    weight_on_noun: float  # the mean of the weight that is there


@torch.no_grad()
def report(model: nn.Module, sentences: Sequence[str]) -> Report:
    """Try a model on sentences of equal length, in the mode that it is in, training or not."""
    x, adjectives, nouns, _ = _encode_all(sentences)
    weights = model.attention_weights(x)  # (N, T, T), or with heads (N, H, T, T)
    weights = weights.mean(dim=1) if weights.dim() == 4 else weights
    weights = _rows(weights, adjectives)  # (N, T)
    return Report(
        share_right(model, sentences),
        (weights.argmax(dim=-1) == nouns).float().mean().item(),
        _rows(weights, nouns).mean().item(),
    )


@torch.no_grad()
def share_right(model: nn.Module, sentences: Sequence[str]) -> float:
    """Return how often a model, whatever it is made of, gives the right pronoun."""
    x, adjectives, _, pronouns = _encode_all(sentences)
    logits = torch.cat([model(some) for some in x.split(500)])  # (N, T, 3); all at once are large
    logits = _rows(logits, adjectives)  # (N, 3)
    return (logits.argmax(dim=-1) == pronouns).float().mean().item()


@torch.no_grad()
def translate_it(model: nn.Module, sentence: str) -> str:
    """Let a model choose *er*, *sie* or *es* for a sentence."""
    tokens, x = encode(sentence)
    logits = model(x)[find_answer(tokens).adjective]  # (3,)
    return PRONOUNS[logits.argmax()]


def trained_reader() -> Trained:
    """Train the reader of notebook 03, once, and keep it before and after each of its 500 batches.

    >>> translate_it(trained_reader().model, "The milk was sour")
    'sie'
    """
    sizes = len(WORDS), len(PRONOUNS)
    return trained(SelfAttention_v2, _train_as_in_03, *sizes, every=1, progress=False)


def _train_as_in_03(reader: nn.Module, **options: Any) -> list[float]:
    return train(reader, split_sentences().training, **options)


def _encode_all(sentences: Sequence[str]) -> tuple[torch.Tensor, ...]:
    """Return x (N, T, 38), and places of adjectives, places of nouns, and pronouns, (N,) each."""
    tokens, x = zip(*map(encode, sentences), strict=True)
    answers = [
        (answer.adjective, answer.noun, PRONOUNS.index(answer.pronoun))
        for answer in map(find_answer, tokens)
    ]
    return torch.stack(x), *torch.tensor(answers).T


def _rows(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return values[i, places[i]] for every i."""
    return values[torch.arange(len(places)), places]
