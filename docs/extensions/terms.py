"""The glossary: a page of its own, and links from where a term first comes.

Every notebook's page ends with the terms that it builds, in English and Chinese.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from translation import speak

from tools.glossary import TERMS, TITLE, Term, find
from tools.translations.blocks import replace

PAGE = "notebooks/glossary"


def write_page(app: Sphinx) -> None:
    """Write a page with every term."""
    parts = [replace(TITLE, speak("glossary"))]
    for row in sorted(TERMS, key=lambda row: row.term.casefold()):
        chinese = row.in_chinese(speak("glossary"))
        parts.append(
            f"({row.anchor})=\n**{row.term}** · {chinese}\\\n"
            f"{speak('glossary')(row.sentence)} [{row.path.stem}]({row.path.name})\n"
        )
    path = Path(app.srcdir) / f"{PAGE}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(parts), "utf-8")


class LinkTerms(SphinxTransform):
    """Link terms to the glossary, and list at the page's end those that it builds."""

    default_priority = 800  # after sections were folded

    def apply(self, **kwargs: Any) -> None:
        folder, _, name = self.env.docname.partition("/")
        if folder != "notebooks" or self.env.docname == PAGE:
            return
        number, seen = name[:2], set()
        for strong in list(self.document.findall(nodes.strong)):
            row = find(strong.astext(), number)
            if row and row.term not in seen:
                seen.add(row.term)
                strong.replace_self(reference(row, strong.deepcopy()))
        built = [row for row in TERMS if row.notebook == number]
        if built:
            self.document[0].append(terms_of_page(built))


def reference(row: Term, *children: nodes.Node) -> nodes.reference:
    """Return a link from a notebook's page to a row of the glossary."""
    link = nodes.reference("", "", *children, refuri=f"glossary.html#{row.anchor}")
    link["internal"], link["reftitle"] = True, row.in_chinese(speak("glossary"))
    return link


def terms_of_page(rows: list[Term]) -> nodes.paragraph:
    """Return the line at a page's end."""
    paragraph = nodes.paragraph(
        "", f"{speak('book')('Terms that are built here:')} ", classes=["terms"]
    )
    for row in rows:
        chinese = nodes.inline("", row.in_chinese(speak("glossary")), classes=["language-zh-hans"])
        paragraph += [reference(row, nodes.Text(row.term)), nodes.Text(" "), chinese]
        paragraph += nodes.Text(" · " if row is not rows[-1] else "")
    return paragraph


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_page)
    app.add_transform(LinkTerms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
