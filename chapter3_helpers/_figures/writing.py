"""Numbers and names as text, and which of many are shown; needs NumPy alone."""

import unicodedata
from collections.abc import Sequence

import numpy as np

from chapter3_helpers._language import say

LONGEST_LABEL = 14  # letters beside cells
LONGEST_NAME = 40  # letters above a block, or in a description
LONGEST_NUMBER = 16
JOINER = "\u200d"  # binds emoji together, and draws nothing
HIDDEN = say("hidden")


def number(value: float, decimals: int, longest: int = LONGEST_NUMBER) -> str:
    """Write a number, one that would be too long with a power of ten; no zero has a sign.

    >>> number(-0.001, decimals=2), number(1e300, decimals=2)
    ('0.00', '1.0e+300')
    """
    text = f"{value:z.{decimals}f}"
    return text if len(text) <= longest else f"{value:.{decimals // 2}e}"


def written(
    matrix: np.ndarray,
    hide: np.ndarray,
    decimals: int,
    hidden: str = HIDDEN,
    longest: int = LONGEST_NUMBER,
) -> list[list[str]]:
    """Write every number of a matrix, as ``number`` does.

    >>> written(np.array([[-0.001, 1.0]]), np.array([[False, True]]), decimals=2)
    [['0.00', 'hidden']]
    """
    return [
        [
            hidden if gone else number(value, decimals, longest)
            for value, gone in zip(*row, strict=True)
        ]
        for row in zip(matrix.tolist(), hide.tolist(), strict=True)
    ]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Write a table as lines: the first column begins on the left, all others end on the right.

    >>> aligned([["", "a", "b"], ["row", "10", "2"]])
    ['     a b', 'row 10 2']
    """
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [" ".join([row[0].ljust(first), *map(str.rjust, row[1:], others)]) for row in rows]


def visible(text: str, longest: int | None = None) -> str:
    """Return a text on one line, in which everything can be seen, cut where it is too long.

    >>> visible("two\\nlines"), visible("very long", longest=6)
    ('two\\\\nlines', 'very …')
    """
    text = "".join(
        repr(character)[1:-1] if character != JOINER and _unseen(character) else character
        for character in str(text)
    )
    return text if longest is None else short(text, longest)


def _unseen(character: str) -> bool:
    """Return whether a character draws nothing, or begins a line."""
    category = unicodedata.category(character)
    return category[0] == "C" or category in ("Zl", "Zp")


def short(text: str, longest: int = LONGEST_LABEL) -> str:
    """Cut a text that is too long to stand beside cells.

    >>> short("uncharacteristically"), short("journey")
    ('uncharacteris…', 'journey')
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def some_of(count: int, marked: int | None = None, most: int = 16) -> list[int | None]:
    """Return which of so many rows or columns to show: the first and the last, and the marked one.

    None stands for a gap.

    >>> some_of(20)
    [0, 1, 2, 3, 4, 5, 6, 7, None, 13, 14, 15, 16, 17, 18, 19]
    >>> some_of(20, marked=9)
    [0, 1, 2, 3, 4, 5, 6, None, 9, None, 14, 15, 16, 17, 18, 19]
    """
    if count <= most:
        return list(range(count))
    first, last = most // 2, count - (most - 1) // 2
    if marked is None or marked < first or marked >= last:
        return [*range(first), None, *range(last, count)]
    return [*range(first - 1), None, marked, None, *range(last + 1, count)]


def excerpt(texts: Sequence[str], most: int) -> list[str]:
    """Return the first and the last of texts that are too many, and between them how many others.

    >>> excerpt("abcdefg", most=5)
    ['a', 'b', '… 3 others …', 'f', 'g']
    """
    gap = say("… {count} others …", count=f"{len(texts) - most + 1:,}")
    return [gap if n is None else texts[n] for n in some_of(len(texts), most=most)]
