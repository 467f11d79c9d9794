"""The questions of readers: the data are true, and the page says what they say."""

import re

from tools import questions_page

ROWS = questions_page.rows()
PLACE = re.compile(r"[\w.-]+/[\w.-]+#\d+|[\w-]+(\.[\w-]+)+/[\w./?=-]+")  # an issue, or an address
FIELDS = {"question", "in_short", "topic", "asked_in", "words", "verdict", "answer", "in_class"}


def test_the_page_is_what_the_data_make():
    assert questions_page.PAGE.read_text("utf-8") == questions_page.page(), "make questions"


def test_what_is_written_of_a_question_is_true():
    for row in ROWS:
        assert row.keys() == FIELDS, row
        assert all(PLACE.fullmatch(place) for place in row["asked_in"]), row
        assert all(row[field] for field in ("question", "topic", "asked_in", "words")), row
        assert re.fullmatch(r"[A-Z`].{10,180}\.", row["in_short"]), row
        assert row["in_class"] is None or row["in_class"] in questions_page.in_class(), row
        if row["verdict"] in ("path", "fold"):
            place = questions_page.sections(row["answer"]["notebook"])[row["answer"]["heading"]]
            assert place == row["verdict"], row
        else:
            assert row["verdict"] in ("part", "no"), row


def test_every_link_of_the_page_leads_to_a_heading_that_is_there():
    links = re.findall(r"\]\((\w+)\.ipynb#(\S+)\)", questions_page.PAGE.read_text("utf-8"))
    assert len(links) > len(ROWS) // 2
    for notebook, anchor in links:
        headings = questions_page.sections(notebook)
        assert anchor in map(questions_page.anchor, headings), f"{notebook}#{anchor}"


def test_no_question_stands_twice():
    asked = [row["question"] for row in ROWS]
    assert len(asked) == len(set(asked))
