"""What explorers start from: a sentence, a seed, a row to be read in large."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

import torch

from chapter3_helpers._figures.writing import short
from chapter3_helpers._language import in_a_row, say, to_say
from chapter3_helpers.explorers.core.controls import Clicked
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Matrix, Panel
from chapter3_helpers.explorers.core.style import largest, listed, quoted
from chapter3_helpers.recurrent import ALPHABET
from chapter3_helpers.sentence import TOKENS, embed_text, example_inputs, split_tokens

# How an explorer reads its text: a function of the settings that it names, which may refuse it.
Reads = Callable[..., Sequence[Any]]

MOST_TOKENS = 24
OUTSIDE = {  # what is said of letters that are too many, or none
    "word": to_say("This word has {count} letters; type 1 to {longest}."),
    "phrase": to_say("This phrase has {count} letters; type 1 to {longest}."),
    "prompt": to_say("This prompt has {count} letters; type 1 to {longest}."),
}


def read_sentence(text: str, d_in: int = 3) -> tuple[tuple[str, ...], torch.Tensor]:
    """Return the tokens of a sentence and their embeddings (T, d_in).

    The running example keeps the embeddings (6, 3) that the notebooks give it.

    Raises:
        ValueError: there is no word in it, or there are more tokens than can be drawn.
    """
    if d_in == 3 and text.split() == list(TOKENS):
        return TOKENS, example_inputs()
    read_tokens(text)
    return embed_text(text, d_in)


def read_tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of a sentence.

    Raises:
        ValueError: there is no word in it, or there are more tokens than can be drawn.
    """
    tokens = split_tokens(text)
    if not tokens:
        raise ValueError(say("Type at least one word."))
    if len(tokens) > MOST_TOKENS:
        raise ValueError(
            say(
                "This sentence has {count} tokens; up to {most} can be drawn here.",
                count=len(tokens),
                most=MOST_TOKENS,
            )
        )
    return tokens


def read_letters(text: str, what: str, longest: int, alphabet: str = ALPHABET) -> str:
    """Return a word or a phrase in small letters.

    Args:
        what: it is called: one of ``OUTSIDE``.
        longest: how many letters it may have.
        alphabet: the letters that it may have.

    Raises:
        ValueError: it is empty or too long, or holds something else.
    """
    letters = text.lower()
    strange = next((letter for letter in letters if letter not in alphabet), None)
    if strange is not None:
        few = say("{letters} alone", letters=in_a_row([*alphabet]))
        some = say("a to z") if alphabet == ALPHABET else few
        it = say("a space") if strange.isspace() else quoted(strange)
        raise ValueError(
            say("Type the letters {letters}, not {strange}.", letters=some, strange=it)
        )
    if not 0 < len(letters) <= longest:
        raise ValueError(say(OUTSIDE[what], count=len(letters), longest=longest))
    return letters


def options_of(read: Reads, make: Callable[[Sequence[Any]], Sequence[Any]]) -> Callable[..., Any]:
    """Return the options that ``make`` finds in what was read, as a function of those settings
    that ``read`` names; None while it refuses them, since the explorer says what is wrong."""

    @wraps(read)  # what it reads says which settings it needs
    def options(**settings: Any) -> Sequence[Any] | None:
        try:
            return make(read(**settings))
        except ValueError:
            return None

    return options


def up_to(read: Reads) -> Callable[..., Sequence[int] | None]:
    """Return the options of a slider over how much of a text has been read, from 1 to all."""
    return options_of(read, lambda tokens: range(1, len(tokens) + 1))


def token_options(tokens: Sequence[str]) -> list[tuple[str, int]]:
    """Return a choice for every token: its number and itself."""
    return [(f"{i} {short(token)}", i) for i, token in enumerate(tokens)]


CLICK_CELL = {"q": "query", "k": "key"}  # what a click on a weight sets


def clicked_query_and_key(read: Reads) -> tuple[Clicked, Clicked]:
    """Return the query and the key of the weight that was clicked, whose arithmetic is shown.

    Args:
        read: what returns the tokens, or anything that is as long.
    """
    numbers = options_of(read, lambda tokens: [*range(len(tokens))] or [0])
    said = "The number of the {} whose weight was clicked, if any"
    return (
        Clicked("query", "query", None, said.format("query"), options=numbers),
        Clicked("key", "key", None, said.format("key"), options=numbers),
    )


def clicked_cell(
    query: int | None, key: int | None, weights: Any
) -> tuple[int, int] | tuple[None, None]:
    """Return the query and the key whose weight was clicked, None for both before that.

    With only a key clicked, use the last query; with only a query, its largest weight.

    Args:
        query, key: what was clicked.
        weights: array or tensor (queries, keys).
    """
    if query is None and key is None:
        return None, None
    last = len(weights) - 1
    query = last if query is None else min(query, last)
    return query, int(weights[query].argmax()) if key is None else min(key, len(weights[query]) - 1)


def looks(asker: str, weights: Any, tokens: Sequence[str]) -> str:
    """Say which token has the largest weight (T,); several where their weights are written alike.

    >>> looks("sour", [0.2, 0.6, 0.2], ["the", "milk", "was"])
    '“sour” looks most at “milk” (0.60)'
    >>> looks("was", [0.375, 0.25, 0.375], ["the", "milk", "the"])
    '“was” looks most at “0 the” and “2 the” (0.38 each)'
    >>> looks("was", [0.25] * 4, "abcd"), looks("the", [1.0], ["the"])
    ('“was” looks at all 4 tokens equally (0.25 each)', '“the” looks at itself alone (1.00)')
    """
    equal, most = largest(weights, tokens)
    said = to_say("“{asker}” looks most at {tokens} ({weight})")
    if len(tokens) == 1:
        said = to_say("“{asker}” looks at itself alone ({weight})")
    elif len(equal) == len(tokens):
        said = to_say("“{asker}” looks at all {count} tokens equally ({weight} each)")
    elif len(equal) > 1:
        said = to_say("“{asker}” looks most at {tokens} ({weight} each)")
    names = listed(map(quoted, equal))
    return say(said, asker=asker, tokens=names, count=len(tokens), weight=most)


def weights_and_path(
    matrix: Matrix, row: int | None, column: int | None, *vectors: Any, **path: Any
) -> list[Panel]:
    """Return weights (T, T), to be clicked, and the arithmetic of the one that was.

    Args:
        matrix: the weights, with what is hidden.
        row, column: what ``clicked_cell`` returns.
        vectors: queries, keys and perhaps values of their head.
        path: what else ``NumberPath`` needs.
    """
    click = matrix.click or CLICK_CELL
    clickable = replace(matrix, marked_row=row, marked_column=column, click=click)
    if row is None:
        return [clickable]
    hidden, tokens = matrix.hidden, matrix.rows
    return [clickable, NumberPath(tokens, row, column, *vectors, hidden=hidden, **path)]


def divisors(d_out: int) -> list[int]:
    """Return how many heads can share so many numbers."""
    return [heads for heads in range(1, d_out + 1) if d_out % heads == 0]
