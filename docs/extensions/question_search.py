"""The questions as a page of the book, and the words by which its search leads to the answers.

A section that answers a question has the question, and the words of those who asked it, as entries
of the index. Sphinx's search takes these as they are typed, signs such as ``W^O`` included, puts
them before everything else, and leads to the section itself.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from pages import slug, with_links
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from tools.questions_page import PAGE, rows


class IndexWords(SphinxTransform):
    """Enter what readers asked into the index, at the sections that answer it."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        name = Path(self.env.docname).name
        asked: dict[str, list[str]] = {}
        for row in rows():
            if row["answer"] and row["answer"]["notebook"] == name:
                texts = asked.setdefault(slug(row["answer"]["heading"]), [])
                texts += [row["question"], *row["words"]]
        for section in self.document.findall(nodes.section):
            texts = dict.fromkeys(asked.get(slug(section[0].astext()), ()))
            entries = [("single", text, section["ids"][0], "main", None) for text in texts]
            section.insert(1, addnodes.index(entries=entries))


def write_page(app: Sphinx) -> None:
    """Write the page with links as the book has them."""
    target = Path(app.srcdir) / "notebooks" / PAGE.name
    target.parent.mkdir(exist_ok=True)
    target.write_text(with_links(PAGE.read_text("utf-8")), "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_page)
    app.add_transform(IndexWords)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
