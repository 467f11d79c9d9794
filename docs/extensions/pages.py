"""Make the book's pages from the stored notebooks, before Sphinx reads them.

A page shows what its notebook shows. Four things differ: an explorer becomes its recording, what is
folded is marked for ``folds``, links to headings get the form that the book has, and the title has
the notebook's number. Where the book is a translation, so is the page.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from folds import MARK
from sphinx.application import Sphinx
from sphinx.util.display import status_iterator
from translation import speak, with_names

from tools import questions_page, recordings, symptoms_page
from tools.notebook_files import explorer_calls, notebook_paths, read
from tools.translations import notebooks
from tools.translations.blocks import replace

FOLDED = {"source_hidden": "hide-input", "outputs_hidden": "hide-output"}  # for MyST-NB
# what a figure shows -> the class by which the dark theme knows what to do with it
IN_THE_DARK = {"ink": "inked", "cells": "cells", None: ""}
TABLE_HEADING = "## The map of the series"
TO_THE_MAP = "#The-map-of-the-series)"


def slug(heading: str) -> str:
    """Return the anchor that the book gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.replace("-", " ").lower()).strip().replace(" ", "-")


def with_links(source: str) -> str:
    """Point links to headings, ``03_x.ipynb#How-so?`` or ``#How-so?``, at the book's anchors."""
    return re.sub(
        r"\]\(((?:\w+\.ipynb)?)#([^)\s]+)\)",
        lambda link: f"]({link[1]}#{slug(link[2])})",
        source,
    )


def without_navigation(source: str) -> str:
    """Leave out the line that leads to the notebooks beside; the book has its own."""
    lines = source.splitlines()
    return "\n".join(line for line in lines if not (TO_THE_MAP in line and " · " in line))


def page(
    source: nbformat.NotebookNode, name: str, folder: Path, recorded: Iterator[dict[str, str]]
) -> nbformat.NotebookNode:
    """Turn a notebook into a page; its recordings, which come in order, go into a folder."""
    notebook = notebooks.translated(source, name, speak)
    for cell, english in zip(notebook.cells, source.cells, strict=True):
        if cell.cell_type == "markdown":
            cell.source = with_names(cell.source, english.source, speak(name), slug)
    if name[:2].isdigit():
        title = notebook.cells[0]
        title.source = title.source.replace("# ", f"# {name[:2]} ", 1)
    for cell, call in zip(notebook.cells, explorer_calls(notebook), strict=True):
        if cell.cell_type == "markdown":
            cell.source = with_links(without_navigation(cell.source))
            if cell.metadata.get("jp-MarkdownHeadingCollapsed"):
                heading, _, rest = cell.source.partition("\n")
                cell.source = f"{heading}\n\n{MARK}\n{rest}"
            continue
        folded = cell.metadata.get("jupyter", {})
        hidden = [FOLDED[part] for part in FOLDED if folded.get(part)]
        cell.metadata.tags = [*cell.metadata.get("tags", []), *hidden]
        if call:
            html = recordings.write(next(recorded), call, name, folder)
            cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": html})]
        for output in cell.outputs:
            picture = output.get("metadata", {}).get("image/png", {})
            if "alt" in picture:
                image = {"alt": " ".join(picture["alt"].split())}
                image["classes"] = IN_THE_DARK[picture.get("shows")]
                cell.metadata["mystnb"] = {"image": image}
    return notebook


def series_table() -> str:
    """Return the table of questions and reading times, as the first notebook has it."""
    first = notebook_paths()[0]
    (source,) = (c.source for c in read(first).cells if c.source.startswith(TABLE_HEADING))
    source = replace(source, speak(first.stem))
    table = "\n".join(line for line in source.splitlines() if line.startswith("|"))
    itself = re.compile(rf"^\| {first.stem[:2]}[^|]*\|", re.MULTILINE)
    table = itself.sub(f"| [{first.stem}]({first.name}) |", table)
    return re.sub(r"\]\((\w+\.ipynb)\)", r"](notebooks/\1)", table)


def write_pages(app: Sphinx) -> None:
    """Write a page for every notebook, its recordings, and the table of all."""
    folder = Path(app.srcdir) / "notebooks"
    recorded = Path(app.srcdir) / "_build" / "recordings"
    for place in (folder, recorded / "recordings", recorded / "notebooks"):
        place.mkdir(parents=True, exist_ok=True)
    recordings.write_shared(recorded)
    paths = notebook_paths()
    for stale in {*folder.glob("*.ipynb")} - {folder / path.name for path in paths}:
        stale.unlink()  # of a notebook that has another name now
    sources = {path.stem: read(path) for path in paths}
    calls = [
        (call, name) for name in sources for call in filter(None, explorer_calls(sources[name]))
    ]
    made = recordings.record_all(calls)
    for name in status_iterator(sources, "recording explorers... ", length=len(paths)):
        notebook = page(sources[name], name, recorded / "recordings", made)
        nbformat.write(notebook, folder / f"{name}.ipynb")
    (folder / "table.txt").write_text(series_table(), "utf-8")
    for name, text in notebooks.pages(speak):
        if name.endswith(".ipynb"):
            (recorded / "notebooks" / name).write_text(text, "utf-8")
    for made, name in ((questions_page, "questions"), (symptoms_page, "symptoms")):
        text = with_names(made.page(speak(name)), made.page(), speak(name), slug)
        (folder / made.PAGE.name).write_text(with_links(text), "utf-8")


def add_button(app: Sphinx, name: str, template: str, context: dict[str, Any], *_: Any) -> None:
    """Give a notebook's page a button for the notebook itself."""
    folder, _, stem = name.partition("/")
    if folder == "notebooks" and (Path(app.srcdir) / "notebooks" / f"{stem}.ipynb").exists():
        context["header_buttons"].append(
            {
                "type": "link",
                "url": context["pathto"](f"_static/notebooks/{stem}.ipynb", 1),
                "text": speak("book")("Notebook"),
                "icon": "fa-solid fa-download",
                "tooltip": speak("book")("The notebook itself, to run and change in JupyterLab"),
                "label": "notebook",
            }
        )


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_pages)
    app.connect("html-page-context", add_button, priority=502)  # once the theme has its own
    return {"parallel_read_safe": True, "parallel_write_safe": True}
