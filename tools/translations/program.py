"""What the package says in another language: found in its code, written in the form of gettext.

``python -m tools.translations.program zh_CN`` writes the file that ``chapter3_helpers`` reads.
"""

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path

import polib
from babel.messages.extract import extract_from_dir

import chapter3_helpers
from chapter3_helpers import exercises
from chapter3_helpers._language import FOLDER
from tools.translations.catalogues import LOCALE, Messages, speaker

PACKAGE = Path(chapter3_helpers.__file__).parent
NAME = "program"
SAID = {"say": None, "to_say": None, "say_drawn": None}  # their first argument is a text


def misconceptions() -> Iterator[str]:
    """Yield what the exercises say of wrong answers."""
    for topic in pkgutil.iter_modules(exercises.__path__, f"{exercises.__name__}."):
        for exercise in vars(importlib.import_module(topic.name)).values():
            if isinstance(exercise, exercises.Exercise):
                yield from exercise.misconceptions


def messages() -> Messages:
    """Return every text that the package says."""
    found = extract_from_dir(
        PACKAGE,
        [("**.py", "python")],
        keywords=SAID,
        directory_filter=lambda folder: True,  # by itself it leaves out those with an underscore
    )
    return dict.fromkeys([*(text for _, _, text, _, _ in found), *misconceptions()], "")


def languages() -> list[str]:
    """Return the languages that there are: those with catalogues, and what is made from them."""
    return sorted({folder.parent.name for folder in LOCALE.glob("*/LC_MESSAGES")} | {"zh_TW"})


def write(language: str) -> None:
    """Write what the package says in a language to where it looks for it."""
    if language not in languages():
        sys.exit(f"There is no translation {language}. There are {', '.join(languages())}.")
    say = speaker(language, NAME)
    catalogue = polib.POFile()
    catalogue.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
    for text in messages():
        if say(text) != text:
            catalogue.append(polib.POEntry(msgid=text, msgstr=say(text)))
    file = FOLDER / language / "LC_MESSAGES" / "chapter3_helpers.mo"
    file.parent.mkdir(parents=True, exist_ok=True)
    catalogue.save_as_mofile(str(file))


if __name__ == "__main__":
    write(sys.argv[1])
