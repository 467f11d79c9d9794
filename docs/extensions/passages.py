"""What the book's search looks through: every section, with its lines and what readers call it.

``search.js`` on the page of the search does the rest. A section is also found by the questions that
it answers, in the words of those who asked them, and by the terms that it builds, in Chinese too.
``same_words.json`` holds words of which a reader may type one where a page has another.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from docutils import nodes
from pages import slug
from sphinx import addnodes
from sphinx.application import Sphinx
from translation import speak

from tools.glossary import TERMS, Term
from tools.questions_page import PAGE as QUESTIONS
from tools.questions_page import UNANSWERED, rows
from tools.symptoms_page import PAGE as WHEN_IT_DOES_NOT_WORK
from tools.symptoms_page import symptoms

FILE = "passages.js"
SAME_WORDS = Path(__file__).parents[1] / "same_words.json"
BLOCKS = (nodes.paragraph, nodes.literal_block, nodes.row)
SIGNS = {"approx": "≈", "cdot": "·", "times": "×", "infty": "∞", "le": "≤", "ge": "≥", "dots": "…"}


@dataclass
class Section:
    """A part of a page that a result leads to."""

    page: str  # as in the address
    number: str  # of the page, and its name in the sidebar
    anchor: str
    title: str
    names: list[str] = field(default_factory=list)  # questions and terms
    answers: list[tuple[str, str]] = field(default_factory=list)  # question, answer in short
    lines: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)


sections_of_page: dict[str, list[Section]] = {}  # by page; filled while pages are written


def collect(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Keep the sections of a page."""
    say = speak("questions")
    asked: dict[str, list[str]] = {}
    answers: dict[str, list[tuple[str, str]]] = {}
    for row in rows():
        if row["answer"] and docname == f"notebooks/{row['answer']['notebook']}":
            names = asked.setdefault(slug(row["answer"]["heading"]), [])
            names += [*dict.fromkeys([say(row["question"]), row["question"]]), *row["words"]]
            short = re.sub(r"[`*$]", "", say(row["in_short"]))
            answered = answers.setdefault(slug(row["answer"]["heading"]), [])
            answered.append((" ".join([say(row["question"]), *row["words"]]), short))
    if docname.endswith(WHEN_IT_DOES_NOT_WORK.stem):
        asked = {slug(symptom["symptom"]): symptom["words"] for symptom in symptoms()}
    sections: dict[int, Section] = {}
    built = {term.anchor: term for term in TERMS if docname.endswith(term.path.stem)}
    for block in doctree.findall(lambda node: isinstance(node, BLOCKS)):
        place = home(block)
        in_table = any(isinstance(node, nodes.row) for node in above(block))
        if place is None or in_table or "terms" in block["classes"]:
            continue
        if id(place) not in sections:
            whole = place.parent is doctree and isinstance(place, nodes.section)
            title = re.sub(r"^\d\d ", "", title_of(place)) if whole else title_of(place)
            anchor = "" if whole else anchor_of(place)
            address = slug(title) if slug(title) in asked else anchor_of(place)  # of the English
            named, short = (known.get(address, []) for known in (asked, answers))
            where = docname, label(app, docname), anchor, title
            sections[id(place)] = Section(*where, [*named], [*short])
        section = sections[id(place)]
        for link in block.findall(nodes.reference):
            term = built.pop(link.get("refuri", "").removeprefix("glossary.html#"), None)
            section.names += [*term.names, *term.chinese] if term else []
        code = isinstance(block, nodes.literal_block)
        (section.code if code else section.lines).append(words_of(block))
    kept = [*sections.values()]
    for term in built.values() if kept else ():  # in bold nowhere: the first that names it often
        times = [times_named(term, section) for section in kept]
        section = next(s for s, n in zip(kept, times, strict=True) if n >= max(times) / 2)
        section.names += [*term.names, *term.chinese]
    if docname.endswith(QUESTIONS.stem):  # the sections that answer are found themselves
        kept = [section for section in kept if section.title == UNANSWERED]
    sections_of_page[docname] = kept


def times_named(term: Term, section: Section) -> int:
    """Return how often a section has one of a term's names."""
    text = " ".join(section.lines).casefold()
    return sum(text.count(name.casefold()) for name in term.names)


def above(node: nodes.Node) -> Iterator[nodes.Node]:
    """Yield what contains a node, from the inside out."""
    while node.parent is not None:
        node = node.parent
        yield node


def home(block: nodes.Element) -> nodes.Element | None:
    """Return what a result leads to: a row of the glossary, a function's entry or a section."""
    if isinstance(block, nodes.paragraph) and block["ids"]:
        return block
    return next((node for node in above(block) if is_place(node)), None)


def is_place(node: nodes.Node) -> bool:
    """Return whether a node has an address; attributes that share a line have none."""
    entry = isinstance(node, addnodes.desc) and "fullname" in node[0]
    return entry or isinstance(node, nodes.section)


def title_of(place: nodes.Element) -> str:
    if isinstance(place, addnodes.desc):
        return place[0]["fullname"]
    return next(
        place.findall(nodes.title if isinstance(place, nodes.section) else nodes.strong)
    ).astext()


def anchor_of(place: nodes.Element) -> str:
    return (place[0] if isinstance(place, addnodes.desc) else place)["ids"][0]


def words_of(block: nodes.Element) -> str:
    """Return the text of a block; a command of TeX becomes its sign, or its plain name."""
    if isinstance(block, nodes.literal_block):
        return block.astext()
    block = block.deepcopy()
    for raw in [*block.findall(nodes.raw)]:  # such as the end of a line
        raw.replace_self(nodes.Text(" "))
    cells = block.findall(nodes.entry) if isinstance(block, nodes.row) else [block]
    text = " · ".join(filter(None, (cell.astext() for cell in cells)))
    return " ".join(re.sub(r"\\(\w+)", lambda word: SIGNS.get(word[1], word[1]), text).split())


def label(app: Sphinx, docname: str) -> str:
    """Return what the sidebar calls a page: ``04 Masking``."""
    for toctree in app.env.get_doctree(app.config.root_doc).findall(addnodes.toctree):
        for title, name in toctree["entries"]:
            if name == docname and title:
                return title
    return app.env.titles[docname].astext()


def add_scripts(app: Sphinx, page: str, *_: Any) -> None:
    if page == "search":
        for name in (FILE, "search.js"):
            app.add_js_file(name, loading_method="defer")


def write(app: Sphinx, error: Exception | None) -> None:
    """Write all sections as a script, which a page that was opened from a file can load."""
    if error is None:
        sections = [
            asdict(section)
            for page in sorted(sections_of_page)
            for section in sections_of_page[page]
        ]
        data = json.dumps(sections, ensure_ascii=False, separators=(",", ":"))
        same = [*json.loads(SAME_WORDS.read_text("utf-8"))]
        same += [[*term.names, *term.chinese] for term in TERMS]
        names = {
            "c3Same": same,
            "c3NothingFound": speak("book")("No section has any of these words."),
        }
        script = f"const c3Passages = {data};\n" + "".join(
            f"const {name} = {json.dumps(value, ensure_ascii=False)};\n"
            for name, value in names.items()
        )
        Path(app.outdir, "_static", FILE).write_text(script, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", collect)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
