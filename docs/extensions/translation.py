"""The book in another language, ``TRANSLATION=zh_CN``: its words, and the way to other ones.

Notebooks, questions, symptoms, glossary and the first page are translated; the rest is English. A
heading keeps its English address, so that links and the switch find it in both languages.
"""

import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from tools.translations.blocks import replace
from tools.translations.catalogues import Say, speaker

LANGUAGE = os.environ.get("TRANSLATION", "")
NAMES = {"": "English", "zh_CN": "简体中文", "zh_TW": "繁體中文"}
NAMED = re.compile(r"<!-- named (\S+) -->")


def speak(name: str) -> Say:
    """Return what says the texts of a catalogue in the book's language."""
    return speaker(LANGUAGE, name) if LANGUAGE else str


def with_names(source: str, english: str, say: Say, slug: Say) -> str:
    """Mark each translated heading with the address that it has in English."""
    for heading in re.findall(r"^#+ (.+)$", english, re.MULTILINE):
        if say(heading) != heading:
            mark = f"\n\n<!-- named {slug(heading)} -->\n"
            line = re.compile(rf"^#+ {re.escape(say(heading))}$", re.MULTILINE)
            source = line.sub(lambda found, mark=mark: found[0] + mark, source, count=1)
    return source


class NameSections(SphinxTransform):
    """Give marked headings their addresses, for the browser and for MyST's links."""

    default_priority = 490  # before sections are folded

    def apply(self, **kwargs: Any) -> None:
        for mark in list(self.document.findall(nodes.raw)):
            if not (found := NAMED.fullmatch(mark.astext().strip())):
                continue
            section = mark.parent
            while not isinstance(section, nodes.section):
                section = section.parent
            section["ids"].insert(0, found[1])
            slugs = self.env.metadata[self.env.docname]["myst_slugs"]
            slugs[found[1]] = (mark.line, found[1], section[0].astext())
            mark.parent.remove(mark)


def translate_first_page(app: Sphinx, name: str, source: list[str]) -> None:
    if name == "index":
        source[0] = replace(source[0], speak("book"))


def say_which_are_english(app: Sphinx, page: nodes.document) -> None:
    """Tell a browser and a screen reader which pages of a translated book are English."""
    name = page.settings.env.docname
    if LANGUAGE and name != "index" and not name.startswith("notebooks/"):
        for section in page.findall(nodes.section):
            section["classes"].append("language-en")


def add_switch(app: Sphinx, name: str, template: str, context: dict[str, Any], *_: Any) -> None:
    """Lead from each page to the same page in the languages that have been built."""
    root = "../" * name.count("/")
    for language, called in NAMES.items():
        to = f"../{language}" if LANGUAGE else language
        if language != LANGUAGE and (not language or Path(app.outdir, to, "index.html").exists()):
            button = {"type": "link", "url": f"{root}{to}/{name}.html", "text": called}
            button |= {"tooltip": called, "label": f"language-{language or 'en'}"}
            context["header_buttons"].append(button)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(NameSections)
    app.connect("source-read", translate_first_page)
    app.connect("doctree-read", say_which_are_english)
    app.connect("html-page-context", add_switch, priority=502)  # once the theme has its own
    return {"parallel_read_safe": True, "parallel_write_safe": True}
