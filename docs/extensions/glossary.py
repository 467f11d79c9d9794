"""The glossary: a page of its own, links from where a term first comes, and a search that finds it.

Every notebook's page ends with the terms that it builds, in English and Chinese. Chinese puts no
spaces between words, so Sphinx takes 多头注意力 for one word; here every two characters that stand
side by side are a word, too, and 多头 finds it.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish
from sphinx.transforms import SphinxTransform

from tools.glossary import TERMS, Term, find
from tools.notebook_files import ONE_PAGE

PAGE = "notebooks/glossary"
INTRODUCTION = """# Glossary

The terms of the series, each with its Chinese name and the notebook that builds it.
"""


def write_page(app: Sphinx) -> None:
    """Write a page with every term."""
    parts = [INTRODUCTION]
    for row in sorted(TERMS, key=lambda row: row.term.casefold()):
        chinese = ", ".join(row.chinese)
        parts.append(
            f"({row.anchor})=\n**{row.term}** · {chinese}\\\n"
            f"{row.sentence} [{row.path.stem}]({row.path.name})\n"
        )
    path = Path(app.srcdir) / f"{PAGE}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(parts), "utf-8")


class LinkTerms(SphinxTransform):
    """Link terms to the glossary, name them to the search, and list them at the page's end."""

    default_priority = 800  # after sections were folded, before index entries are collected

    def apply(self, **kwargs: Any) -> None:
        folder, _, name = self.env.docname.partition("/")
        if folder != "notebooks" or self.env.docname == PAGE:
            return
        if name == ONE_PAGE.stem:
            self.link_table()
            return
        number, seen = name[:2], set()
        for strong in list(self.document.findall(nodes.strong)):
            row = find(strong.astext(), number)
            if row and row.term not in seen:
                seen.add(row.term)
                link = reference(row, strong.deepcopy())
                named = entries(row) if row.notebook == number else []
                strong.replace_self([*named, link])
        built = [row for row in TERMS if row.notebook == number]
        if built:
            self.document[0].append(terms_of_page(built, seen))

    def link_table(self) -> None:
        *_, table = self.document.findall(nodes.table)
        for row in table.findall(nodes.row):
            first = next(iter(row.findall(nodes.paragraph)), None)
            exact = [term for term in TERMS if first is not None and term.term == first.astext()]
            if exact:
                first.children = []
                first += reference(exact[0], nodes.Text(exact[0].term))


def entries(row: Term) -> list[nodes.Node]:
    """Return a term's names as entries of the index, which the search puts first, and a place."""
    place = f"built-{row.anchor}"
    short = [name[:2] for name in row.chinese if len(name) > 3]  # 多头, of 多头注意力
    named = [("single", name, place, "main", None) for name in (*row.names, *row.chinese, *short)]
    return [addnodes.index(entries=named), nodes.target("", "", ids=[place])]


def reference(row: Term, *children: nodes.Node) -> nodes.reference:
    """Return a link from a notebook's page to a row of the glossary."""
    link = nodes.reference("", "", *children, refuri=f"glossary.html#{row.anchor}")
    link["internal"], link["reftitle"] = True, ", ".join(row.chinese)
    return link


def terms_of_page(rows: list[Term], seen: set[str]) -> nodes.paragraph:
    """Return the line at a page's end, which names to the search what is nowhere in bold."""
    paragraph = nodes.paragraph("", "Terms that are built here: ", classes=["terms"])
    for row in rows:
        chinese = nodes.inline("", ", ".join(row.chinese), classes=["language-zh-hans"])
        paragraph += [] if row.term in seen else entries(row)
        paragraph += [reference(row, nodes.Text(row.term)), nodes.Text(" "), chinese]
        paragraph += nodes.Text(" · " if row is not rows[-1] else "")
    return paragraph


class SearchWithChinese(SearchEnglish):
    """English, and every two neighbouring Chinese characters as a word of their own."""

    def split(self, text: str) -> list[str]:
        runs = re.findall(r"[\u4e00-\u9fff]{3,}", text)
        return super().split(text) + [run[i : i + 2] for run in runs for i in range(len(run) - 1)]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_page)
    app.add_transform(LinkTerms)
    app.add_search_language(SearchWithChinese)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
