"""The glossary: what each term is called, what it is, and which notebook builds it.

``make questions`` writes the page, ``notebooks/glossary.md``, from ``docs/glossary.json``.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tools.notebook_files import NOTEBOOKS, numbered_paths
from tools.translations.blocks import replace

FILE = NOTEBOOKS.parent / "docs" / "glossary.json"
PAGE = NOTEBOOKS / "glossary.md"
TITLE = """# Glossary

The terms of the series, each with its Chinese name and the notebook that builds it.
"""
NAVIGATION = """
[map](00_why_attention.ipynb#The-map-of-the-series) · [one page](one_page.ipynb)
"""
PATHS = {path.stem[:2]: path for path in numbered_paths()}


@dataclass(frozen=True)
class Term:
    """A row: the English term, Chinese ones, a sentence, the number of the notebook."""

    term: str
    chinese: list[str]
    notebook: str
    sentence: str
    forms: list[str] = field(default_factory=list)  # how else the notebooks write it

    @property
    def anchor(self) -> str:
        return "term-" + "".join(c if c.isalnum() else "-" for c in self.term.lower())

    @property
    def path(self) -> Path:
        return PATHS[self.notebook]

    @property
    def names(self) -> list[str]:
        return [self.term, *self.forms]

    def in_chinese(self, say: Callable[[str], str] = str) -> str:
        """Return its Chinese names, each once: two may be one in the words of Taiwan."""
        return "、".join(dict.fromkeys(map(say, self.chinese)))


TERMS = [Term(**row) for row in json.loads(FILE.read_text("utf-8"))]


def find(text: str, notebook: str) -> Term | None:
    """Return the term that a bold text in a notebook is: one that is built there, or the first.

    In a translation the text is a Chinese name.
    """
    wanted = " ".join(text.split()).casefold()
    rows = [row for row in TERMS if wanted in map(str.casefold, [*row.names, row.chinese[0]])]
    return min(rows, key=lambda row: row.notebook != notebook, default=None)


def page(say: Callable[[str], str] = str) -> str:
    """Return the page with its table. (The book's has an anchor for each term in its place.)

    ``say`` gives a text in another language.
    """
    names = [say(name) for name in ("English", "what it is", "Chinese", "notebook")]
    lines = [replace(TITLE + NAVIGATION, say), f"| {' | '.join(names)} |", "|---|---|---|---|"]
    for row in sorted(TERMS, key=lambda row: row.term.casefold()):
        link = f"[{row.notebook}]({row.path.name})"
        lines.append(f"| {row.term} | {say(row.sentence)} | {row.in_chinese(say)} | {link} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
