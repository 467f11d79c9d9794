"""Catalogues in gettext's form: what each block is called in another language.

``locale/zh_CN/LC_MESSAGES/`` has one for each notebook, and one for each page that is made from
data. Each text is there once, with the cell's id and the place in it where it first stands as its
context. What is fuzzy is shown in English.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path

import polib

from tools.glossary import TERMS
from tools.notebook_files import NOTEBOOKS
from tools.translations.traditional import traditional

LOCALE = NOTEBOOKS.parent / "locale"
ALIKE = 0.6  # a changed block has at least this much in common with the former one
HEADER = {
    "MIME-Version": "1.0",
    "Content-Type": "text/plain; charset=UTF-8",
    "Content-Transfer-Encoding": "8bit",
}
CHINESE_NAMES = {name for row in TERMS for name in row.chinese}

Messages = dict[str, str]  # text -> its context
Say = Callable[[str], str]  # gives a text in another language


def path(language: str, name: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / f"{name}.po"


def read(language: str, name: str) -> polib.POFile:
    file = path(language, name)
    return polib.pofile(str(file) if file.exists() else "", wrapwidth=0, encoding="utf-8")


def shown(entries: Iterable[polib.POEntry]) -> dict[str, str]:
    """Return what is said for each text that has a translation of its present words."""
    return {entry.msgid: entry.msgstr for entry in entries if entry.translated()}


@cache
def speaker(language: str, name: str) -> Say:
    """Return what says a text of a catalogue, in English where there is no translation.

    ``zh_TW`` has no catalogues of its own: it is ``zh_CN`` in traditional letters, and so are the
    Chinese names of terms.
    """
    if language == "zh_TW":
        translations = shown(read("zh_CN", name)) | {text: text for text in CHINESE_NAMES}
        return cache(
            lambda text: traditional(translations[text], text) if text in translations else text
        )
    translations = shown(read(language, name))
    return lambda text: translations.get(text, text)


def update(
    old: polib.POFile, messages: Messages, known: dict[str, str], language: str
) -> polib.POFile:
    """Return a catalogue of the messages with what an old one says.

    What is new is taken from ``known`` if it is there word for word. What has changed keeps its
    translation, marked fuzzy, with the former text beside it. What is gone stays as obsolete.
    """
    new = polib.POFile(wrapwidth=0)
    new.metadata = {"Language": language, **HEADER}
    gone = {entry.msgid: entry for entry in old if entry.msgstr and entry.msgid not in messages}
    kept = {entry.msgid: entry for entry in old if entry.msgstr and entry.msgid in messages}
    for text, context in messages.items():
        entry = polib.POEntry(msgctxt=context or None, msgid=text, msgstr=known.get(text, ""))
        if text in kept:
            before = kept[text]
            entry.msgstr, entry.tcomment, entry.flags = before.msgstr, before.tcomment, before.flags
            entry.previous_msgid = before.previous_msgid if before.fuzzy else None
        elif not entry.msgstr and (alike := get_close_matches(text, gone, 1, ALIKE)):
            before = gone.pop(alike[0])
            entry.msgstr, entry.tcomment, entry.flags = before.msgstr, before.tcomment, ["fuzzy"]
            entry.previous_msgid = before.previous_msgid or before.msgid
        new.append(entry)
    for entry in gone.values():
        entry.obsolete = True
        new.append(entry)
    return new


def coverage(catalogue: polib.POFile) -> dict[str, int]:
    """Count the words of a catalogue's English, those shown translated, and what waits."""
    words = {entry: len(entry.msgid.split()) for entry in catalogue if not entry.obsolete}
    return {
        "words": sum(words.values()),
        "shown": sum(number for entry, number in words.items() if entry.translated()),
        "changed": sum(entry.fuzzy for entry in words),
        "new": sum(not entry.msgstr for entry in words),
    }
