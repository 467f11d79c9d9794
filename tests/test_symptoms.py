"""When it does not work: a line is true where its cause was planted, and of no healthy program."""

import functools
import re
from typing import Any

import pytest
import torch

from tests.symptom_plants import HEALTHY, MAY_LACK, plants
from tools import questions_page, symptoms_page

SYMPTOMS = symptoms_page.symptoms()
LINES = [*dict.fromkeys(c["line"] for s in SYMPTOMS for c in s["causes"] if "line" in c)]
NOTES = [note for s in SYMPTOMS for note in re.findall(r"`(\w+ = [^`]+)`", s["note"])]
FIRST_RUN = re.search(r"```python\n(.+?)```", symptoms_page.INTRODUCTION, re.DOTALL)[1]
IMPORTS, *FUNCTIONS, SIZES = re.split(r"\n(?=def |\(B, T\))", FIRST_RUN)


def pasted(program: dict[str, Any]) -> dict[str, Any]:
    """Return a program's names, after what the page has one run first and what its notes define."""
    space: dict[str, Any] = {}
    exec("\n".join([IMPORTS, *FUNCTIONS]), space)
    if "ids" in program and "run" in program:
        space |= program
        exec(SIZES, space)
    elif "run" not in program:
        del space["run"], space["earlier"]
    space |= program
    for note in NOTES:
        try:
            if note.split()[0] not in program:
                exec(note, space)
        except (NameError, AttributeError):
            continue  # the program lacks what the note needs
    return {name: value for name, value in space.items() if value is not None}


@functools.cache
def healthy(place: int) -> dict[str, Any]:
    torch.manual_seed(0)
    return pasted(HEALTHY[place]())


def tells(line: str, space: dict[str, Any]) -> bool | None:
    """Return whether a line is true in a program, or None where the program lacks a name."""
    try:
        return bool(eval(line, space))
    except NameError as error:
        if error.name not in MAY_LACK:
            raise
        return None


def test_every_line_has_plants():
    assert set(plants()) == set(LINES)
    assert all(len(programs) >= 3 for programs in plants().values())


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_true_where_its_cause_was_planted(line):
    for place, make in enumerate(plants()[line]):
        torch.manual_seed(0)
        program = make()
        if "refused" in program:  # its symptom is an error
            with pytest.raises((ValueError, RuntimeError, AssertionError, IndexError)):
                program["refused"]()
        assert eval(line, pasted(program)), place


@pytest.mark.parametrize("place", range(len(HEALTHY)), ids=lambda place: HEALTHY[place].__name__)
def test_no_line_is_true_of_a_healthy_program(place):
    assert [line for line in LINES if tells(line, healthy(place))] == []


def test_every_line_was_tried_on_healthy_programs():
    for line in LINES:
        tried = [tells(line, healthy(place)) is not None for place in range(len(HEALTHY))]
        assert sum(tried) >= 2, line


def test_the_page_of_symptoms_is_what_the_data_make():
    assert symptoms_page.PAGE.read_text("utf-8") == symptoms_page.page(), "make questions"


def test_the_page_of_symptoms_is_short():
    text = symptoms_page.PAGE.read_text("utf-8")
    assert len(text.split()) <= 2000
    assert questions_page.PAGE.name in text
