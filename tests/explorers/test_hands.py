"""What a click on a picture sets, and the arithmetic that it shows."""

import json
import re

import numpy as np
import pytest

from chapter3_helpers import explorers
from chapter3_helpers.diagrams import Block, Diagram
from chapter3_helpers.explorers.attention.explorer import COMPUTATION
from chapter3_helpers.explorers.attention.flow import PARTS
from chapter3_helpers.explorers.attention.mechanisms import CLASSES, SIMPLE, UNMASKED
from chapter3_helpers.explorers.core import marks
from chapter3_helpers.explorers.core.drawings import Flow
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Bars, Matrix
from chapter3_helpers.explorers.core.style import CSS
from chapter3_helpers.explorers.core.widget import FOLDER
from chapter3_helpers.explorers.trainable_qkv import SCALED, UNSCALED
from tests.explorers import Shown, find

TOPICS = [
    name.removesuffix("_explorer") for name in explorers.__all__ if name != "model_explorer"
]  # it takes weights


def clickable(subject) -> list:
    """Return the pictures whose numbers are weights that a click explains."""
    panels = [p for p in subject.panels(subject.settings) if getattr(p, "click", None)]
    return [panel for panel in panels if {*panel.click} & {"k", "strip"}]


def click(subject, panel, query: int, key: int) -> None:
    """Do what the script does: the panel says which settings a query and a key are."""
    clicked = dict(panel.click)
    for side, number in (("q", query), ("k", key)):
        if side in clicked:
            clicked[clicked.pop(side)] = number
    subject.click(clicked)
    assert clicked.items() <= subject.settings.items()


@pytest.mark.parametrize(
    ("topic", "start"),
    [
        *((topic, {}) for topic in TOPICS if topic != "dot_products"),
        ("positions", {"scheme": "ALiBi"}),
        ("attention", {"dropout": 0.5}),
    ],
)
def test_a_click_shows_the_arithmetic_of_the_number_that_was_clicked(topic, start):
    subject = getattr(explorers, f"{topic}_explorer")(**start)
    assert clickable(subject)
    for n, panel in enumerate(clickable(subject)):
        rows = len(np.atleast_2d(panel.values))
        for query, key in ((rows - 1, 1), (rows // 2, 0), (rows // 2, 2)):
            subject.reset()
            click(subject, panel, query, key)
            path = find(NumberPath, subject.panels(subject.settings))
            if path.vectors is not None:
                assert path.products.sum() == pytest.approx(path.numbers["score"], rel=1e-4)
            shown = [*clickable(subject)[n : n + 1], panel][0]  # or the arithmetic took its place
            row = np.atleast_2d(shown.values)[query if rows > 1 else 0]
            known = [path.numbers[name] for name in ("weight", "dropped", "mean", "masked")]
            assert any(number == pytest.approx(float(row[key]), abs=2e-4) for number in known)
            assert not re.search(r"[-−]0\.0+(?!\d)", subject.view.value)


@pytest.mark.parametrize(
    ("topic", "panel", "values"),
    [
        ("fused_multihead", 0, {"query": 4}),
        ("fused_multihead", 2, {"query": 4}),
        ("handmade_transformer", 2, {"query": 4}),
    ],
)
def test_rows_of_tokens_and_columns_of_keys_answer_wherever_they_stand(topic, panel, values):
    subject = getattr(explorers, f"{topic}_explorer")()
    matrices = [p for p in subject.panels(subject.settings) if isinstance(p, Matrix)]
    click(subject, matrices[panel], 4, 1)
    assert values.items() <= subject.settings.items()
    find(NumberPath, subject.panels(subject.settings))


@pytest.mark.parametrize("way", [UNSCALED, SCALED])
def test_of_two_matrices_alike_the_arithmetic_names_its_own_and_follows_it(way):
    subject = explorers.trainable_qkv_explorer(matrix=way, query=1, key=2)
    panels = subject.panels(subject.settings)
    matrix = panels[panels.index(find(NumberPath, panels)) - 1]
    assert matrix.marked_row == 1
    assert f"<p>{matrix.title}: what “journey” takes from “starts”</p>" in subject.view.value


def test_a_letter_that_was_written_answers_wherever_it_stands():
    subject = explorers.recurrent_explorer()
    table = next(p for p in subject.panels(subject.settings) if isinstance(p, Matrix))
    assert table.html().count("data-q=3") == 4  # its place, and what three wrote there
    subject.click({table.click["q"]: 3})
    assert find(NumberPath, subject.panels(subject.settings)).row == 3


def test_a_bar_shows_the_arithmetic_of_the_weight_that_it_draws():
    subject = explorers.pronouns_explorer(batches=500)
    subject.click({"query": 4, "column": 1, "show": "one number"})
    subject.set(show="where it looks")  # of the adjective
    bars = next(p for p in clickable(subject) if isinstance(p, Bars))
    click(subject, bars, 0, 7)
    path = find(NumberPath, subject.panels(subject.settings))
    assert path.numbers["weight"] == pytest.approx(float(bars.values[7]), abs=1e-5)
    for panel in Shown("softmax", token=5, score=-2.0).panels:
        assert bool(getattr(panel, "side", "")) == bool(getattr(panel, "click", None))


def test_what_pictures_scripts_and_style_say_to_one_another_stands_in_one_list():
    script = FOLDER.joinpath("hands.js").read_text("utf-8")
    head, code = script.split("function c3Hands", 1)
    known = {*marks.BY_PICTURES, *marks.BY_SCRIPT}
    assert set(re.findall(r"^// data-(\S+)", head, re.MULTILINE)) == {*marks.BY_PICTURES}
    sides = re.search(r"SIDES = (\[.*?\])", code)[1]
    assert tuple(json.loads(sides)) == marks.PICKED
    named = set(re.findall(r"(?:data-|dataset\.)([a-z]+(?:-[a-z]+)?)", code))
    assert named - {"at", "pointed"} <= known
    asked = set(re.findall(r"\[data-([a-z-]+)", CSS)) - {"jp-theme-light"}
    assert asked <= known
    strips = Flow(Diagram("", [Block(name="x", values=[[0.0]])]), click={"strip": "strip"}).html()
    shown = [strips, Matrix("", [[0.0]], [""], sides=("row", "column")).html()]
    weights = np.tril(np.ones((1, 1, 30, 30))) / np.arange(1, 31)[:, None]
    model = explorers.model_explorer(weights, ["a"] * 30)
    for subject in (explorers.attention_explorer(), explorers.dot_products_explorer(), model):
        shown += [subject.view.value, subject.pictures]
    made = set(re.findall(r"\bdata-([a-z]+)[= ]", "".join(shown)))
    assert made == {*marks.BY_PICTURES}


def test_what_nothing_else_can_pick_the_same_click_takes_away():
    subject = explorers.positions_explorer()
    before = subject.view.value
    for shown in (True, False, True):
        subject.click({"query": 3, "key": 1})
        assert ("takes from" in subject.view.value) == shown
    for _ in range(2):  # a token alone is a part of what is clicked, and takes nothing away
        subject.click({"query": 4})
        assert subject.settings["key"] == 1
    subject.reset()
    assert subject.view.value == before


@pytest.mark.parametrize("stale", [{"query": 9, "key": 0}, {"query": 0, "key": 3}, {"gone": 1}])
def test_a_click_on_a_picture_of_an_earlier_sentence_moves_nothing_and_says_so(stale):
    subject = explorers.positions_explorer(text="one two three", first=0, second=0)
    subject.click({"query": 2, "key": 2})
    before, shown = subject.settings, subject.view.value
    subject.click(stale)
    assert subject.settings == before
    assert subject.view.value == shown
    assert "This click moves nothing" in subject.said.value
    assert subject.said.layout.display is None
    subject.click({"query": 1})
    assert subject.said.value == ""
    subject.click({"query": 2})
    subject.widgets["text"].value = "one two"  # the third token is no more
    assert (subject.settings["query"], subject.settings["key"]) == (None, None)


@pytest.mark.parametrize("mechanism", [SIMPLE, *CLASSES])
def test_a_click_on_a_strip_says_what_it_is_and_its_shape(mechanism):
    dropout = {} if mechanism in UNMASKED else {"dropout": 0.5}
    subject = explorers.attention_explorer(mechanism=mechanism, show=COMPUTATION, **dropout)
    diagram = find(Flow, subject.panels(subject.settings)).diagram
    for block in diagram.blocks:
        assert f'data-strip="{block.name}" data-stop=strip' in subject.view.value
        subject.click({"strip": block.name, "row": 3})
        part, _, head = block.name.partition(" ")
        name = f"{part} of head {head}" if head else part
        said = f"<b>{name}</b>: {PARTS[part]} Its shape is {block.values.shape}."
        assert said in subject.view.value
