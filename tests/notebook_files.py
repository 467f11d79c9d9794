"""The notebooks as data: where they are, what their cells hold, what they printed."""

import ast
import re
from pathlib import Path
from typing import Any

import nbformat

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
ANSWER = re.compile(r"<summary>Answer</summary>.*?```python\n(.*?)```", re.DOTALL)


def notebook_paths(folder: Path = NOTEBOOKS) -> list[Path]:
    return sorted(folder.glob("*.ipynb"))


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell: nbformat.NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


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


def explorer_call(cell: nbformat.NotebookNode) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the settings of the explorer that a cell shows, if it shows one."""
    texts = [output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", [])]
    if not any(text.startswith("Explorer: ") for text in texts):
        return None
    call = ast.parse(cell.source).body[-1].value
    settings = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    return ast.unparse(call.func), settings
