"""Sections that are folded in a notebook are folded in the book: a heading, and a ``<details>``."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

MARK = "<!-- folded -->"


class details(nodes.Element):
    """What is folded under a heading."""


class FoldSections(SphinxTransform):
    """Move what follows a mark, to the end of its section, into ``details``."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        marks = [n for n in self.document.findall(nodes.raw) if n.astext().strip() == MARK]
        for mark in marks:
            section = mark.parent
            while not isinstance(section, nodes.section):
                mark, section = section, section.parent
            start = section.index(mark)
            folded = details()
            folded.extend(section[start + 1 :])
            section[start:] = [folded]


def visit(self: HTML5Translator, node: details) -> None:
    self.body.append('<details class="folded"><summary>Open this closer look</summary>')


def depart(self: HTML5Translator, node: details) -> None:
    self.body.append("</details>")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(details, html=(visit, depart))
    app.add_transform(FoldSections)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
