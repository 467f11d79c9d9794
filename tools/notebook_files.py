"""The notebooks as data: where they are, what their cells hold, what they printed."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from chapter3_helpers import explorers
from chapter3_helpers.explorers.core.widget import Explorer

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
ONE_PAGE = NOTEBOOKS / "one_page.ipynb"
# What JupyterLab writes here when it opens a notebook; where something else stands, it asks to save
# what nobody has changed. The version of Python is left out, as `make lab` has it.
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}
DEFINES = "defines"  # the tag of a cell that an explorer needs, and that prints nothing
SLOW = "slow"  # that of a cell that takes long and says nothing about an edit of a class
# Metadata of a cell that ends in an explorer: "recorded" names the controls that the book records,
# where its first ones are not those that matter; "stored" keeps the recording with the project.
EXPLORER = "explorer"
ANSWER = re.compile(r"<summary>Answer</summary>.*?```python\n(.*?)```", re.DOTALL)


def notebook_paths() -> list[Path]:
    return sorted(NOTEBOOKS.glob("*.ipynb"))


def numbered_paths() -> list[Path]:
    """Return the lessons: all notebooks but the page to come back to.

    That page teaches nothing new. So it has no module, exercises, neighbours or folds of its own,
    and rules about these hold for the lessons alone.
    """
    return [path for path in notebook_paths() if path != ONE_PAGE]


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell: nbformat.NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def closed_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the cells whose output is closed until they are run."""
    return [c for c in code_cells(notebook) if c.metadata.get("jupyter", {}).get("outputs_hidden")]


def lines_of(cell: nbformat.NotebookNode) -> list[str]:
    """Return the lines of what a cell shows; those of a picture are its description."""
    texts = [out.get("text") or out.data["text/plain"] for out in cell.get("outputs", [])]
    return [line for text in texts for line in text.splitlines() if line.strip()]


def exercises_with_answers(notebook: nbformat.NotebookNode) -> list[tuple[str, str]]:
    """Return the source of every exercise's stub, with the code of the answer below it."""
    pairs: list[tuple[str, str]] = []
    stub = None
    for cell in notebook.cells:
        if "exercise" in tags(cell):
            stub = cell.source
        elif stub is not None and cell.cell_type == "markdown":
            for answer in ANSWER.findall(cell.source):
                pairs.append((stub, answer))
                stub = None
    return pairs


def printed(cell: nbformat.NotebookNode) -> str:
    """Return the text that a cell printed or showed; figures speak for themselves elsewhere."""
    texts = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            texts.append(output.text)
        elif "image/png" not in output.get("data", {}):
            texts.append(output.get("data", {}).get("text/plain", ""))
    return "\n".join(texts)


@dataclass(frozen=True)
class ExplorerCall:
    """The explorer that a marked cell ends in: ``attention_explorer(CausalAttention, seed=5)``."""

    function: str
    given: tuple[str, ...]  # what it is given without a name, such as a class: by its name
    cell: str  # the source of the cell
    definitions: str  # what the notebook imports and defines before it, where it is given anything
    recorded: tuple[str, ...] = ()  # names of controls; none: the first that fit
    stored: bool = False  # whether its recording is kept with the project

    @property
    def name(self) -> str:
        """What to call it: a notebook may show one explorer with several classes."""
        return "-".join([self.function, *self.given])

    def build(self) -> Explorer:
        """Make the explorer that the cell shows.

        What it is given is defined before it, or in the cell itself where it has to be computed.
        """
        space: dict[str, Any] = {"__name__": "__main__"}  # as in the notebook
        exec(self.definitions, space)
        *before, last = ast.parse(self.cell).body
        exec(compile(ast.Module(before, []), "<cell>", "exec"), space)
        space.setdefault(self.function, getattr(explorers, self.function))
        return eval(ast.unparse(last), space)


def explorer_calls(notebook: nbformat.NotebookNode) -> list[ExplorerCall | None]:
    """Return the explorer that each marked cell ends in, None for any other cell."""
    calls: list[ExplorerCall | None] = []
    defined: list[ast.stmt] = []
    for cell in notebook.cells:
        statements = ast.parse(cell.source).body if cell.cell_type == "code" else []
        whole = DEFINES in tags(cell)
        defined += [statement for statement in statements if whole or _defines(statement)]
        mark = cell.metadata.get(EXPLORER)
        if mark is None:
            calls.append(None)
            continue
        call = statements[-1].value
        given = tuple(argument.id for argument in call.args if isinstance(argument, ast.Name))
        before = "\n".join(map(ast.unparse, defined)) if call.args else ""
        recorded, stored = tuple(mark.get("recorded", ())), mark.get("stored", False)
        calls.append(ExplorerCall(call.func.id, given, cell.source, before, recorded, stored))
    return calls


def _defines(statement: ast.stmt) -> bool:
    """Return whether a statement only gives names to things: it computes and prints nothing."""
    kinds = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)
    if isinstance(statement, ast.Assign):  # no cell of a tensor: that is not there
        named = all(isinstance(target, ast.Name) for target in statement.targets)
        return named and isinstance(statement.value, ast.Constant)
    return isinstance(statement, kinds)
