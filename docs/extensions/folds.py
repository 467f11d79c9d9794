"""What is folded in a notebook is folded in the book: sections, code and outputs.

A section becomes a heading and a ``<details>``. Code and outputs are folded by MyST-NB; here they
get words that say what they hold.
"""

from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator
from translation import speak

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
    words = speak("book")("Open this closer look")
    self.body.append(f'<details class="folded"><summary>{words}</summary>')


def depart(self: HTML5Translator, node: details) -> None:
    self.body.append("</details>")


def visit_hidden(self: HTML5Translator, node: HideCodeCellNode) -> None:
    (place,) = node["classes"]
    what = "the code" if place == "above-input" else "what came out"
    show, hide = speak("book")(f"Show {what}"), speak("book")(f"Hide {what}")
    self.body.append(
        f'<details class="admonition hide {place}"><summary>'
        f'<p class="collapsed admonition-title">{show}</p>'
        f'<p class="expanded admonition-title">{hide}</p></summary>'
    )


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(details, html=(visit, depart))
    app.add_node(HideCodeCellNode, override=True, html=(visit_hidden, depart))
    app.add_transform(FoldSections)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
