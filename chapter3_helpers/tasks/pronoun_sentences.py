"""Sentences whose *it* asks for a German pronoun: the task that ``pronouns`` learns.

*The dog left the milk in the glass because it was sour.* For *it*, German says *er*, *sie* or *es*:
here *sie*, since the milk is sour, and milk is feminine. The adjective tells which kind of
noun is meant, and the gender of that noun decides.

Taught in ``03_trainable_qkv``, and carried on in later notebooks.
"""

import itertools
from typing import NamedTuple

import torch
from torch.nn import functional

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
    order = torch.randperm(len(known_pairs), generator=torch.Generator().manual_seed(0)).tolist()
    shuffled = [known_pairs[i] for i in order]
    return Split(shuffled[:1000], shuffled[1000:], new_pairs)


def reason_first(sentence: str) -> str:
    """Move the reason to the front; then every noun lies in the adjective's future.

    >>> reason_first("the dog left the milk in the glass because it was sour")
    'because it was sour the dog left the milk in the glass'
    """
    statement, because, reason = sentence.partition("because")
    return f"{because}{reason} {statement}".strip()


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
    tokens = tuple(sentence.lower().replace(",", " ").replace(".", " ").split())
    unknown = ", ".join(repr(token) for token in tokens if token not in WORDS)
    if unknown or not tokens:
        known = ", ".join(WORDS)
        raise ValueError(f"sentence must consist of the words {known}; got {unknown or 'none'}")
    ids = torch.tensor([WORDS.index(token) for token in tokens])
    return tokens, functional.one_hot(ids, len(WORDS)).float()


def find_answer(tokens: tuple[str, ...]) -> Answer:
    """Find the adjective, the first noun that it can be said of, and that noun's pronoun.

    Raises:
        ValueError: there is not exactly one adjective, or no such noun.

    >>> find_answer(encode("The dog left the milk in the glass because it was sour.")[0])
    Answer(adjective=11, noun=4, pronoun='sie')
    """
    came = f"got {' '.join(tokens)!r}"
    adjectives = [i for i, token in enumerate(tokens) if token in KIND_OF]
    if len(adjectives) != 1:
        raise ValueError(f"sentence must hold one adjective of {', '.join(KIND_OF)}; {came}")
    kind = KIND_OF[tokens[adjectives[0]]]
    nouns = [i for i, token in enumerate(tokens) if token in NOUNS[kind]]
    if not nouns:
        raise ValueError(
            f"sentence must hold the noun that is meant, {' or '.join(NOUNS[kind])}; {came}"
        )
    return Answer(adjectives[0], nouns[0], PRONOUN_OF[tokens[nouns[0]]])
