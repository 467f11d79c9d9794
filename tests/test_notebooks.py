"""What holds for every notebook: a path that can be followed, links that lead somewhere, folds."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest

from tests.golden import golden
from tools import questions_page
from tools.notebook_files import (
    NOTEBOOKS,
    closed_cells,
    code_cells,
    explorer_calls,
    lines_of,
    notebook_paths,
    numbered_paths,
    read,
)

PATHS = numbered_paths()
MAP = "00_why_attention.ipynb#The-map-of-the-series"
MOVED = NOTEBOOKS.parent / "docs" / "moved_sections.json"
NUMBER = re.compile(r"[\d.]*\d{2,}|\([\d, ]+\)")
every_notebook = pytest.mark.parametrize("path", notebook_paths(), ids=lambda path: path.stem)
every_lesson = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def headings(notebook: nbformat.NotebookNode) -> list[str]:
    """Return the anchors that JupyterLab gives the headings of a notebook."""
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    found = re.findall(r"^#+ (.+)$", "\n\n".join(sources), re.MULTILINE)
    return [re.sub(r"[*`$]", "", heading).strip().replace(" ", "-") for heading in found]


@every_notebook
def test_every_link_leads_to_a_notebook_and_a_heading_that_are_there(path):
    notebook = read(path)
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    for name, anchor in re.findall(r"\]\(([\w.]*?)(?:#([^\s]+?))?\)", text):
        target = NOTEBOOKS / name if name else path
        assert target.exists(), name
        assert not anchor or anchor in headings(read(target)), f"{name}#{anchor}"


@every_notebook
def test_a_diagram_has_a_title_with_a_capital_and_a_plot_a_caption_without(path):
    for lines in filter(None, map(lines_of, code_cells(read(path)))):
        found = re.match(r"(Diagram|Heatmap|Grid of \d+ heatmaps|Line plot|Bars): (\w+)", lines[0])
        if found and found[2].isalpha():
            assert found[2][0].isupper() == (found[1] == "Diagram"), lines[0]


@every_lesson
def test_the_first_cell_is_folded_and_says_in_its_one_line_that_loading_takes_time(path):
    first = code_cells(read(path))[0]
    assert first.metadata.jupyter.source_hidden
    assert re.match(r"# loads .* takes some seconds\n", first.source)


@every_lesson
def test_the_notebooks_before_and_after_and_the_map_are_one_click_away_at_both_ends(path):
    place = PATHS.index(path)
    wanted = {neighbour.name for neighbour in PATHS[max(place - 1, 0) : place + 2]} - {path.name}
    wanted.add(MAP if place else MAP.removeprefix(path.name))
    cells = read(path).cells
    for cell in (cells[0], cells[-1]):
        assert wanted <= set(re.findall(r"\]\(([^)\s]+)\)", cell.source))


@every_lesson
def test_a_folded_heading_stands_alone_since_what_shares_its_cell_is_not_folded(path):
    folded = [c for c in read(path).cells if c.metadata.get("jp-MarkdownHeadingCollapsed")]
    assert folded
    for cell in folded:
        assert re.fullmatch(r"#+ .*", cell.source.strip()), cell.source


@every_notebook
def test_a_section_begins_a_cell_since_a_link_to_a_translated_heading_leads_to_its_cell(path):
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            assert "\n## " not in cell.source, cell.source


@every_lesson
def test_what_follows_an_answer_stands_in_a_cell_of_its_own_since_it_would_stick_to_it(path):
    for cell in read(path).cells:
        if cell.cell_type == "markdown" and "</details>" in cell.source:
            assert cell.source.endswith("</details>"), cell.source[-80:]


class Prediction(NamedTuple):
    question: str
    cells: list[nbformat.NotebookNode | None]  # they answer it; an explorer (None) when it is moved
    comparison: str  # closed, too
    text_after: str  # what stands open between the comparison and the next code cell


def predictions(notebook: nbformat.NotebookNode) -> list[Prediction]:
    """Return every prediction of a notebook. A bar of progress answers nothing."""
    found, waiting, reading = [], False, False
    for cell, explorer in zip(notebook.cells, explorer_calls(notebook), strict=True):
        reading = reading and cell.cell_type == "markdown"
        if reading:
            found[-1] = found[-1]._replace(text_after=f"{found[-1].text_after}\n{cell.source}")
        if "**Predict.**" in cell.source:
            cells, question, waiting = [], cell.source, True
        if waiting and "Compare with your guess" in cell.source:
            found.append(Prediction(question, cells, cell.source, ""))
            waiting, reading = False, True
        elif waiting and explorer:
            cells.append(None)
        elif waiting and any("batches, finished." not in line for line in lines_of(cell)):
            cells.append(cell)
    assert not waiting
    return found


def numbers(text: str) -> set[str]:
    """Return the numbers that say something: 0.25, 27 and 24 %; not 3, which may count words."""
    found = re.findall(r"\d[\d,]*\.?\d*(?: %)?", text)
    return {n.replace(",", "").rstrip(".") for n in found if len(re.findall(r"\d", n)) > 1}


@every_lesson
def test_what_answers_a_prediction_is_closed_and_its_first_line_gives_nothing_away(path):
    """The first line of what is closed is what JupyterLab shows."""
    notebook = read(path)
    closed = []
    for guess in predictions(notebook):
        assert guess.cells, guess.question
        told, asked = (set(NUMBER.findall(text)) for text in (guess.comparison, guess.question))
        for cell in filter(None, guess.cells):
            closed.append(cell)
            first, *more = lines_of(cell)
            assert more, first
            assert not re.search(r"\bnan\b|True|False|Error", first), first
            assert not {number for number in told - asked if number in first}, first
    assert closed == closed_cells(notebook)


@every_lesson
def test_no_open_text_below_a_prediction_tells_a_number_that_came_out(path):
    """A number that came out is told where it stands rounded, or in per cent, too."""
    for guess in predictions(read(path)):
        lines = "\n".join(line for cell in filter(None, guess.cells) for line in lines_of(cell))
        came_out = {float(number.removesuffix(" %")) for number in numbers(lines)}
        for told in numbers(guess.text_after) - numbers(guess.question):
            number = told.removesuffix(" %")
            digits = len(number.partition(".")[2])
            scales = (1, 100) if told != number else (1,)
            rounded = {round(scale * out, digits) for out in came_out for scale in scales}
            assert float(number) not in rounded, (told, guess.text_after)


def path_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the cells before the exercises that are not folded away."""
    found, folded = [], False
    for cell in notebook.cells:
        if cell.source.startswith("## Exercises"):
            break
        if cell.cell_type == "markdown" and cell.source.startswith("#"):
            folded = bool(cell.metadata.get("jp-MarkdownHeadingCollapsed"))
        if not folded:
            found.append(cell)
    return found


@every_lesson
def test_a_path_is_short_and_asks_for_few_guesses(path):
    assert sum("**Predict" in cell.source for cell in path_cells(read(path))) <= 4
    assert words_of_path(path) <= 1500


def test_all_paths_together_are_short():
    assert sum(map(words_of_path, PATHS)) <= 17_500


def words_of_path(path: Path) -> int:
    cells = [cell for cell in path_cells(read(path)) if cell.cell_type == "markdown"]
    return sum(len(cell.source.partition("<details>")[0].split()) for cell in cells)


@every_lesson
def test_there_are_few_closer_looks_and_each_has_a_reason(path):
    """A question of a reader, or what its heading's metadata name: a printed number of the book, a
    fact that the series has to tell, or what a path left out."""
    looks = [c for c in read(path).cells if c.metadata.get("jp-MarkdownHeadingCollapsed")]
    assert len(looks) <= 8
    asked = {
        row["answer"]["heading"]
        for row in questions_page.rows()
        if row["answer"] and row["answer"]["notebook"] == path.stem
    }
    for cell in looks:
        heading = cell.source.strip().lstrip("# ")
        kinds = [*cell.metadata.get("reason", {})]
        if heading in asked:
            assert kinds == [], heading
        else:
            assert kinds in (["golden"], ["fact"], ["path"]), heading
            (reason,) = cell.metadata["reason"].values()
            assert reason in golden() if kinds == ["golden"] else reason, heading


def test_a_section_that_moved_is_gone_and_its_new_place_is_there():
    for notebook, old, now, new in json.loads(MOVED.read_text("utf-8")):
        assert old not in questions_page.sections(notebook), (notebook, old)
        assert new in questions_page.sections(now), (now, new)
