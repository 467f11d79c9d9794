"""What there is to translate: the messages of every catalogue, from notebooks, data and pages."""

from collections.abc import Callable

from nbformat import NotebookNode

from tools import front_door, glossary, questions_page, symptoms_page
from tools.notebook_files import NOTEBOOKS, notebook_paths, read
from tools.recordings import BOOK_WORDS as RECORDED_WORDS
from tools.translations import program
from tools.translations.blocks import blocks
from tools.translations.catalogues import CHINESE_NAMES, Messages, Say

BOOK_WORDS = (  # what docs/extensions put on pages
    "Open this closer look",
    "Show the code",
    "Hide the code",
    "Show what came out",
    "Hide what came out",
    "Terms that are built here:",
    "Notebook",
    "The notebook itself, to run and change in JupyterLab",
    "No section has any of these words.",
)
FRONT_PAGE = NOTEBOOKS.parent / "docs" / "index.md"


def of_notebook(notebook: NotebookNode) -> Messages:
    messages: Messages = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for place, text in enumerate(blocks(cell.source), 1):
                messages.setdefault(text, f"{cell.id} {place}")
    return messages


def said_by(make: Callable[[Say], str]) -> Messages:
    """Return what a page that is made from data says, but not what is Chinese already."""
    messages: Messages = {}

    def say(text: str) -> str:
        if text not in CHINESE_NAMES:
            messages[text] = ""
        return text

    make(say)
    return messages


def catalogues() -> dict[str, Messages]:
    """Return the messages of each catalogue by its name, in the order of the series."""
    messages = {path.stem: of_notebook(read(path)) for path in notebook_paths()}
    messages["questions"] = said_by(questions_page.page)
    messages["symptoms"] = said_by(symptoms_page.page)
    messages["glossary"] = said_by(glossary.page)
    messages[program.NAME] = program.messages()
    front_page = blocks(FRONT_PAGE.read_text("utf-8"))
    said = [*front_page, *front_door.texts(), *BOOK_WORDS, *RECORDED_WORDS.values()]
    messages["book"] = dict.fromkeys(said, "")
    return messages
