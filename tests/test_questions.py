"""The questions of readers: the data are true, and the page says what they say."""

import json
import re

from docs import questions
from tests.notebook_files import NOTEBOOKS

ROWS = questions.rows()
EVERY = json.loads(questions.DATA.read_text("utf-8"))
PLACE = re.compile(r"[\w.-]+/[\w.-]+#\d+|[\w-]+(\.[\w-]+)+/[\w./?=-]+")  # an issue, or an address
FIELDS = {"question", "topic", "asked_in", "words", "verdict", "answer", "in_class"}


def test_the_page_is_what_the_data_make():
    assert questions.PAGE.read_text("utf-8") == questions.page(), "make questions"


def test_what_is_written_of_a_question_is_true():
    for row in ROWS:
        assert row.keys() == FIELDS, row
        assert all(PLACE.fullmatch(place) for place in row["asked_in"]), row
        assert all(row[field] for field in ("question", "topic", "asked_in", "words")), row
        assert row["in_class"] is None or row["in_class"] in questions.in_class(), row
        if row["verdict"] in ("path", "fold"):
            place = questions.sections(row["answer"]["notebook"])[row["answer"]["heading"]]
            assert place == row["verdict"], row
        else:
            assert row["verdict"] in ("part", "no"), row


def test_every_link_of_the_page_leads_to_a_heading_that_is_there():
    links = re.findall(r"\]\((\w+)\.ipynb#(\S+)\)", questions.PAGE.read_text("utf-8"))
    assert len(links) > len(ROWS) // 2
    for notebook, anchor in links:
        assert anchor in map(questions.anchor, questions.sections(notebook)), f"{notebook}#{anchor}"


def test_no_question_stands_twice_and_those_kept_back_are_nowhere_else():
    asked = [row["question"] for part in EVERY.values() for row in part]
    assert len(asked) == len(set(asked))
    pages = [questions.PAGE, *NOTEBOOKS.glob("*.ipynb")]
    text = "".join(path.read_text("utf-8") for path in pages)
    for row in EVERY["kept_back"]:
        assert row.keys() == {"question", "topic", "asked_in", "words"}
        assert row["question"] not in text
