"""Run every notebook and store what it prints: ``python -m tools.regenerate``.

The result depends on the code alone: no timing, no widget state, no half-drawn progress bar is
kept, so that ``git diff`` shows what a change did and nothing else.
"""

import argparse
import base64
import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from playwright.sync_api import Page
from tqdm import tqdm
from traitlets.config import Config

from tools import recordings
from tools.notebook_files import (
    EXPLORER,
    KERNEL,
    LANGUAGE,
    NOTEBOOKS,
    explorer_calls,
    notebook_paths,
    tags,
)
from tools.stills import add_stills, photographer
from tools.translations import program

README_PICTURE = NOTEBOOKS.parent / "docs" / "heads.png"
SHOWN_IN_README = "readme-picture"  # the tag of the cell that draws it
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


# exemptions from comparison, explorers, folded sources and outputs, folded sections and why they
# are there
KEPT = ("tags", EXPLORER, "jupyter", "jp-MarkdownHeadingCollapsed", "reason")


def execute(notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Run all cells in a fresh kernel, in place."""
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,  # what one write overwrites goes, and pieces of a text are joined
        resources={"metadata": {"path": str(folder)}},
        config=Config({"KernelManager": {"transport_encryption": "auto"}}),  # else it warns
    )
    client.execute()


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Drop from an executed notebook what would differ in the next run."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": LANGUAGE})
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {key: cell.metadata[key] for key in KEPT if key in cell.metadata}
        )
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_VIEW, None)


def keep_timings(notebook: nbformat.NotebookNode, before: nbformat.NotebookNode) -> None:
    """Put back what cells exempted from comparison had printed, if only numbers have changed.

    Timings differ from run to run; with new ones in every run no diff would be empty.
    """
    for cell, old in zip(notebook.cells, before.cells, strict=True):
        exempted = "nbval-ignore-output" in cell.metadata.get("tags", [])
        if exempted and without_numbers(cell.outputs) == without_numbers(old.outputs):
            cell.outputs = old.outputs
            for output in cell.outputs:
                if "execution_count" in output:  # cells may have come or gone before this one
                    output.execution_count = cell.execution_count


def without_numbers(outputs: list) -> list[str]:
    """Return the texts of a cell's outputs, with a mark for every number and run of spaces."""
    texts = [out.get("text") or out.get("data", {}).get("text/plain", "") for out in outputs]
    return [re.sub(r"[\s#]+", " ", re.sub(r"-?\d[\d.,e+-]*", " # ", text)) for text in texts]


def regenerate(path: Path, page: Page | None = None) -> None:
    """Run one notebook and write it back, with pictures of explorers taken on a page."""
    before = nbformat.read(path, as_version=4)
    notebook = copy.deepcopy(before)
    execute(notebook, path.parent)
    keep_timings(notebook, before)
    tidy(notebook)
    add_stills(notebook, before, page)
    kept = [call for call in explorer_calls(notebook) if call and call.stored]
    for call in kept:
        recordings.store(call, path.stem)
    if kept:
        store_translated()
    nbformat.write(notebook, path)
    for picture in readme_pictures(notebook):
        README_PICTURE.write_bytes(picture)


def store_translated() -> None:
    """Store recordings in the other languages, each of which needs a process of its own."""
    for language in program.languages():
        if language != "zh_TW":  # which is made from zh_CN
            program.write(language)
            called = [sys.executable, "-m", recordings.__name__]
            subprocess.run(called, env={**os.environ, "TRANSLATION": language}, check=True)


def readme_pictures(notebook: nbformat.NotebookNode) -> list[bytes]:
    """Return what the cells of a notebook show that draw the README's picture: at most one."""
    cells = [cell for cell in notebook.cells if SHOWN_IN_README in tags(cell)]
    return [base64.b64decode(cell.outputs[0].data["image/png"]) for cell in cells]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="which (default: all)")
    paths = parser.parse_args().notebooks or notebook_paths()
    failed = []
    with photographer() as page, tqdm(paths, unit="notebook") as progress:
        for path in progress:
            progress.set_postfix_str(path.stem)
            try:
                regenerate(path, page)
            except CellExecutionError as error:
                failed.append(path)
                progress.write(f"{path.name} was left as it is:\n{error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
