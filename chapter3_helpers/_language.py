"""The program's own words in the reader's language: verdicts, explorers, names of axes.

``TRANSLATION`` in the environment names the language, as in ``make lab TRANSLATION=zh_CN``, which
writes its catalogue in gettext's form. Without them all is English. Names of code, tensors and
errors stay English in every language.
"""

import gettext
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "locale"
LANGUAGE = os.environ.get("TRANSLATION", "")
_CATALOGUE = gettext.translation("chapter3_helpers", FOLDER, [LANGUAGE or "en"], fallback=True)


def say(text: str, /, **parts: Any) -> str:
    """Return a text in the reader's language, with its parts put in where it names them.

    >>> say("{read} of {all} tokens read", read=2, all=6)
    '2 of 6 tokens read'
    """
    said = _CATALOGUE.gettext(text) if text else ""
    return said.format(**parts) if parts else said


def in_a_row(names: Sequence[str], say: Callable[..., str] = say) -> str:
    """Return all names as they stand in a sentence, joined by what ``say`` says.

    >>> in_a_row(["a"]), in_a_row(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *before, last = names
    return say("{names} and {last}", names=say(", ").join(before), last=last) if before else last


def sentences(*said: str) -> str:
    """Put whole sentences after one another, as the reader's language does: Chinese has no blanks.

    >>> sentences("Three are hidden.", "", "Two are seen.")
    'Three are hidden. Two are seen.'
    """
    return ("" if LANGUAGE.startswith("zh") else " ").join(filter(None, said))


def to_say(text: str) -> str:
    """Mark a text for the catalogue and return it as it is: it is said later, with ``say``."""
    return text
