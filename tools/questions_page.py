"""The page of questions, ``notebooks/questions.md``, made from ``docs/question_data.json``.

``make questions`` writes it. JupyterLab shows it as it stands, ``docs/extensions/pages.py`` makes a
page of the book of it, and ``passages.py`` there gives the questions to the search.
"""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from tools.notebook_files import NOTEBOOKS, explorer_calls, notebook_paths, read
from tools.translations.blocks import replace

DATA = NOTEBOOKS.parent / "docs" / "question_data.json"
PAGE = NOTEBOOKS / "questions.md"
UNANSWERED = "Not answered here"
INTRODUCTION = """# Questions that readers ask

[map](00_why_attention.ipynb#The-map-of-the-series) ·
[when it does not work](when_it_does_not_work.md)

People who learned attention from other material asked these questions in public. Each question
leads to the section that answers it here; where that is a closer look, open it there. Below it
stand a short answer, words to search for, an exercise or an explorer for a class, and numbers that
lead to where it was asked. (JupyterLab shows the top of a notebook that was not open yet. A second
click goes to the section.)
"""


def rows() -> list[dict[str, Any]]:
    """Return the questions, in the order of the page."""
    return json.loads(DATA.read_text("utf-8"))["questions"]


def anchor(heading: str) -> str:
    """Return the anchor that JupyterLab gives a heading."""
    return re.sub(r"[*`$]", "", heading).strip().replace(" ", "-")


@cache
def sections(name: str) -> dict[str, str]:
    """Return for each heading of a notebook where it stands: ``"path"`` or ``"fold"``."""
    places = {}
    for cell in read(NOTEBOOKS / f"{name}.ipynb").cells:
        if cell.cell_type != "markdown":
            continue
        folded = cell.metadata.get("jp-MarkdownHeadingCollapsed")
        for heading in re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE):
            places[heading] = "fold" if folded or heading.startswith("Exercise ") else "path"
    return places


@cache
def in_class() -> dict[str, tuple[str, str, str, str]]:
    """Return for each exercise, ``"02c"``, and explorer what it is, its number and its place."""
    places: dict[str, tuple[str, str, str, str]] = {}
    for path in notebook_paths():
        heading, notebook = "", read(path)
        for cell, call in zip(notebook.cells, explorer_calls(notebook), strict=True):
            if cell.cell_type == "markdown":
                heading = (re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE) or [heading])[-1]
                if exercise := re.match(r"Exercise (\w+):", heading):
                    places[exercise[1]] = ("exercise", exercise[1], path.stem, heading)
            elif call:
                place = ("the explorer of", path.stem[:2], path.stem, heading)
                places.setdefault(call.function, place)
    return places


def address(place: str) -> str:
    """Return the address of a place: ``owner/project#7`` is an issue on GitHub."""
    project, _, number = place.partition("#")
    return f"https://github.com/{project}/issues/{number}" if number else f"https://{place}"


def link(text: str, notebook: str, heading: str) -> str:
    """Return a link to a heading, or the text where brackets in the heading forbid one."""
    target = f"{notebook}.ipynb#{anchor(heading)}"
    return text if re.search(r"[()]", heading) else f"[{text}]({target})"


def entry(row: dict[str, Any], say: Callable[[str], str]) -> str:
    """Return what the page says of a question."""
    parts = [", ".join(f"`{word}`" for word in row["words"])]
    if name := row["in_class"]:
        kind, number, notebook, heading = in_class()[name]
        parts.append(link(f"{say(kind)} {number}", notebook, heading))
    asked = (f"[{i}]({address(place)})" for i, place in enumerate(row["asked_in"], 1))
    parts.append(" ".join(asked))
    question = say(row["question"])
    if row["answer"]:
        question = link(question, **row["answer"])
    return f"- {question}\\\n  {say(row['in_short'])}\\\n  {'. '.join(parts)}."


def page(say: Callable[[str], str] = str) -> str:
    """Return the page, by topic in the order of the data; unanswered questions come last.

    ``say`` gives a text in another language.
    """
    topics: dict[str, list] = {}
    for row in sorted(rows(), key=lambda row: -len(row["asked_in"])):
        topics.setdefault(row["topic"] if row["answer"] else UNANSWERED, []).append(row)
    order = [*dict.fromkeys(row["topic"] for row in rows()), UNANSWERED]
    text = [replace(INTRODUCTION, say)]
    for topic in order:
        if topic in topics:
            text.append(
                f"## {say(topic)}\n\n" + "\n".join(entry(row, say) for row in topics[topic]) + "\n"
            )
    return "\n".join(text)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
