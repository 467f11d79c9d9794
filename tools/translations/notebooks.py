"""``python -m tools.translations.notebooks zh_CN`` writes the series in another language.

``notebooks/zh_CN/`` gets the same notebooks, cells and outputs; their Markdown comes from the
catalogues, and so do the program's words, once a cell has run. A file that its reader has changed
since it was written stays as it is.
"""

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import nbformat

from tools import glossary, questions_page, symptoms_page
from tools.notebook_files import NOTEBOOKS, notebook_paths, read
from tools.questions_page import anchor
from tools.translations import program
from tools.translations.blocks import replace
from tools.translations.catalogues import Say, speaker

WRITTEN = ".written.json"  # of each file a hash of what was written
LINK = re.compile(r"\]\((?P<notebook>\w+\.ipynb)?#(?P<anchor>[^)\s]+)\)")

Speak = Callable[[str], Say]  # gives what says the texts of a catalogue


@cache
def headings(name: str) -> dict[str, tuple[str, str]]:
    """Return for each anchor of a notebook its heading, and the id of the cell that has it."""
    places = {}
    for cell in read(NOTEBOOKS / f"{name}.ipynb").cells:
        if cell.cell_type == "markdown":
            for heading in re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE):
                places[anchor(heading)] = heading, cell.id
    return places


def with_cell_ids(source: str, speak: Speak, here: str = "") -> str:
    """Point links to translated headings at their cells, since JupyterLab finds only headings whose
    letters a browser leaves as they are."""

    def lead(link: re.Match) -> str:
        name = Path(link["notebook"] or here).stem
        heading, cell = headings(name)[link["anchor"]]
        if speak(name)(heading) == heading:
            return link[0]
        return f"]({name}.ipynb#cell-id={cell})"

    return LINK.sub(lead, source)


def translated(source: nbformat.NotebookNode, name: str, speak: Speak) -> nbformat.NotebookNode:
    """Return a notebook with its Markdown in another language; its links are the English ones."""
    notebook = nbformat.from_dict(source)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = replace(cell.source, speak(name))
    return notebook


def pages(speak: Speak) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every file."""
    for path in notebook_paths():
        notebook = translated(read(path), path.stem, speak)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = with_cell_ids(cell.source, speak, path.name)
        yield path.name, nbformat.writes(notebook) + "\n"
    made = {"questions": questions_page, "symptoms": symptoms_page, "glossary": glossary}
    for name, page in made.items():
        yield page.PAGE.name, with_cell_ids(page.page(speak(name)), speak)


def write(folder: Path, speak: Speak) -> list[str]:
    """Write every file into a folder; return the names of those that their reader has changed."""
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / WRITTEN
    written = json.loads(record.read_text("utf-8")) if record.exists() else {}
    changed = []
    for name, text in pages(speak):
        file = folder / name
        if file.exists() and fingerprint(file.read_bytes()) != written.get(name):
            changed.append(name)
            continue
        file.write_text(text, "utf-8", newline="\n")
        written[name] = fingerprint(text.encode())
    record.write_text(json.dumps(written, indent=1), "utf-8")
    return changed


def fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    language = sys.argv[1]
    program.write(language)
    folder = NOTEBOOKS / language
    for name in write(folder, lambda name: speaker(language, name)):
        print(f"{folder / name} is yours: left as it is. Delete it to get the present one.")
