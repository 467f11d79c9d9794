"""Panels draw what they are given, also where it is at the edge."""

import base64
import io
import re
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapter3_helpers import explorers
from chapter3_helpers._figures.colours import WEIGHT_COLOURS, shade
from chapter3_helpers.diagrams import Block, Diagram
from chapter3_helpers.explorers.core.controls import TextField
from chapter3_helpers.explorers.core.drawings import Curves, Flow
from chapter3_helpers.explorers.core.lines import STEP, Lines
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Bars, Facts, Heads, Matrix, Note, render
from chapter3_helpers.explorers.softmax import TEMPERATURES
from tests.explorers import Shown

NAN = float("nan")
ONE = np.array([[1.0]])
MARKUP = {'<b>"': "&lt;b&gt;&quot;", "R&lt;D": "R&amp;lt;D"}


@pytest.mark.parametrize("line", [[0.0, 0.0], [NAN, NAN]])
def test_a_curve_without_numbers_or_height_is_drawn_as_far_as_it_goes(line):
    shown = Curves("t", "x", "y", [0.0, 0.0], {"a": line}, mark=0.0).html()
    (points,) = re.findall(r'points="(.*?)"', shown)
    assert len(points.split()) == sum(value == value for value in line)
    assert "nan" not in shown


@pytest.mark.parametrize(("values", "log"), [([0, 1, 2], ""), ([1, 10, 100], "xy")])
def test_curves_run_from_the_lower_left_to_the_upper_right_in_even_steps(values, log):
    shown = Curves("t", "x", "y", values, {"a": values}, log=log).html()
    (points,) = re.findall(r'points="(.*?)"', shown)
    x, y = np.array([point.split(",") for point in points.split()], dtype=float).T
    np.testing.assert_allclose(x, np.linspace(58, 378, 3), atol=0.1)
    np.testing.assert_allclose(y, np.linspace(200, 12, 3), atol=0.1)


@pytest.mark.parametrize(("text", "escaped"), [*MARKUP.items()])
@pytest.mark.parametrize(
    "panel",
    [
        lambda text: Matrix(text, ONE, [text], corner=(text, text)),
        lambda text: Matrix(text, ONE, [text], texts=[[text]]),  # with stops for the keyboard
        lambda text: Bars(text, [text], [1.0]),
        lambda text: Facts({text: text}, text),
        lambda text: Note(text),
        lambda text: Lines(text, ONE, [text], [text], sides=text),
        lambda text: Curves(text, text, text, [0.0, 1.0], {text: [0.0, 1.0], "b": [0.0, 1.0]}),
        lambda text: NumberPath([text], 0, 0, ONE, ONE, ONE),
        lambda text: Flow(Diagram(text, [Block(name=text, values=[text], kind="tokens")])),
        lambda text: Flow(Diagram("t", [Block(name="x", values=ONE, rows=[text], columns=[text])])),
    ],
)
def test_every_text_is_shown_as_it_was_given_and_is_no_markup(panel, text, escaped):
    shown = panel(text).html()
    assert escaped in shown
    assert text not in shown
    assert '&gt;"' not in shown, "a quote would end an attribute"


@pytest.mark.parametrize("signed", [False, True])
def test_plus_infinity_is_written_and_minus_infinity_and_nan_are_hatched(signed):
    inf = float("inf")
    shown = Matrix("t", [[0.5, inf], [-inf, NAN]], ["a", "b"], signed=signed).html()
    cells = re.findall(r"<td class=\"?(\w+)\"?[^>]*>([^<]*)", shown)
    classes = ("s100", "s100") if signed else ("w50", "w100")
    assert cells == [*zip(classes, ("0.50", "inf"), strict=True), ("h", ""), ("h", "")]


def test_bars_of_negative_numbers_go_to_the_left_of_zero_and_one_beyond_the_largest_is_longer():
    shown = Bars("t", ["a", "b", "c"], [-2.71, 1.0, 1.29], decimals=2).html()
    assert re.findall(r'class="n">(\S+)</td>', shown) == ["−2.71", "1.00", "1.29"]
    assert shown.count("--zero:67.8%") == 3  # 2.71 of the 4 from the smallest to the largest
    bars = re.findall(r"margin-left:(.*?)%;width:(.*?)%", shown)
    assert bars == [("0.0", "67.8"), ("67.8", "25.0"), ("67.8", "32.2")]
    above = Bars("t", ["a", "b"], [1.05, 1.0]).html()
    assert re.findall(r"width:(.*?)%", above) == ["100.0", "95.2"]
    beside = Bars("t", ["a", "b"], [0.25, 0.75], scale=[-1.0, 2.0]).html()
    assert beside.count("--zero:33.3%") == 2  # of the 3 from -1 to 2
    assert re.findall(r"width:(.*?)%", beside) == ["8.3", "25.0"]


def test_zero_has_no_sign():
    for panel in (Matrix("t", [[-0.001, 0.2]], ["a"], "ab"), Bars("t", "ab", [-0.001, 0.2])):
        assert ">0.00<" in panel.html()
        assert "-0.00" not in panel.html()


def test_small_heads_are_pictures_of_one_pixel_per_cell():
    values = np.array([[[1.0, 0.0], [0.25, NAN]]])
    shown = Heads(values).html()
    address = re.search(r'src="data:image/png;base64,([^"]+)"', shown)[1]
    pixels = plt.imread(io.BytesIO(base64.b64decode(address)))
    bytes_of = (pixels[..., :3] * 255).round().astype(np.uint8)
    colours = [["#" + cell.tobytes().hex() for cell in row] for row in bytes_of]
    assert colours[0] == [WEIGHT_COLOURS[-1], WEIGHT_COLOURS[0]]
    assert colours[1] == [shade(64 / 255, WEIGHT_COLOURS), "#b0b0b0"]


@pytest.mark.parametrize("marked", [None, 3, 10, 19])
def test_of_many_columns_some_are_drawn_the_marked_one_among_them(marked):
    names = [f"t{n}" for n in range(20)]
    values = np.arange(400.0).reshape(20, 20) / 400
    shown = Matrix("t", values, names, marked_row=marked, marked_column=marked).html()
    columns = re.findall(r'scope="col".*?<span>(\w+)<', shown)
    rows = re.findall(r'scope="row"[^>]*>(\w+)<', shown)
    assert columns == rows
    assert len(columns) <= 16
    assert {"t0", "t19"} <= set(columns)
    assert shown.count("…") >= 1
    if marked is not None:
        assert f"t{marked}" in columns
        assert f' at" data-k={marked}>{values[marked, marked]:.2f}' in shown


def test_two_decimals_unless_more_are_needed():
    assert ">0.17<" in Matrix("t", [[0.1652, 0.8348]], ["a"], ["a", "b"]).html()
    assert ">0.1652<" in Matrix("t", [[0.1652, 0.1678]], ["a"], ["a", "b"]).html()
    path = NumberPath("a", 0, 0, ONE, ONE, decimals=0)
    assert ("divided by √D", "1 / √1", "1") in path.steps()
    assert ">0.17<" in Matrix("t", [[0.1652, 0.1678]], ["a"], ["a", "b"]).presented().html()


def test_lines_are_as_thick_as_the_weights_and_name_every_token_with_the_largest():
    weights = [[1.0, 0.0, NAN], [0.3, 0.7, 0.0]]
    shown = Lines("t", weights, ["<a>", "b"], ["x", "y", "z"], marked_row=1).html()
    line = r'data-q=(\d) data-k=(\d) d="M\S+ (\d+)c[^"]* (\S+)" stroke-width="(.*?)"'
    drawn = re.findall(line, shown)
    assert [(q, k, thick) for q, k, _, _, thick in drawn] == [
        ("0", "0", "13"),
        ("1", "0", "3.9"),
        ("1", "1", "9.1"),
    ]
    middles = (STEP / 2, 3 * STEP / 2)  # of the first token and of the second
    for q, k, start, down, _ in drawn:
        assert (float(start), float(down)) == (middles[int(q)], middles[int(k)] - middles[int(q)])
    assert shown.count("class=pale") == 1
    assert 'aria-label="b attends most to y: 0.70"' in shown
    assert 'aria-label="x is attended to most by &lt;a&gt;: 1.00"' in shown
    equal = Lines("t", [[0.375, 0.25, 0.375]] * 2, ["he", "we"], ["the", "dog", "the"]).html()
    assert 'aria-label="he attends most to 0 the and 2 the: 0.38 each"' in equal
    assert 'aria-label="dog is attended to most by he and we: 0.25 each"' in equal


def test_the_path_of_one_number_takes_off_the_largest_score_where_powers_grow_too_large():
    queries, keys, values = np.array([[30.0]] * 2), np.array([[1.0], [0.9]]), np.eye(2)
    path = NumberPath("ab", 0, 1, queries, keys, values)
    assert path.numbers["weight"] == pytest.approx(1 / (1 + np.exp(3)))
    assert ("minus the row’s largest", "27.00 − 30.00", "−3.00") in path.steps()
    small = NumberPath("ab", 0, 1, queries / 30, keys, values)
    assert [what for what, *_ in small.steps()][2] == "e to the power"
    assert small.numbers["power"] == pytest.approx(np.exp(0.9))
    assert "e<sup>0.9000</sup>" in small.html()
    assert "what “0 a” takes from “1 a”" in replace(small, tokens="aa").html()


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_a_division_is_right_as_it_is_written(temperature):
    for key in range(6):
        path = Shown("softmax", temperature=temperature, key=key).only(NumberPath)
        steps = {what: (how, result) for what, how, result in path.steps()}
        if temperature == 1:
            assert "divided by the temperature" not in steps
            continue
        how, result = steps["divided by the temperature"]
        score, divisor = how.replace("−", "-").split(" / ")
        decimals = len(result.partition(".")[2])
        assert f"{float(score) / float(divisor):.{decimals}f}" == result.replace("−", "-")
        assert steps["score"][1].replace("−", "-") == score


def test_a_share_is_written_in_one_way_where_all_others_are_hidden_and_where_it_is():
    hidden = np.array([[False, True]])
    for column, share in ((0, "1.00 / 1.00"), (1, "0.00 / (0.00 + 1.00 of the others)")):
        path = NumberPath("ab", 0, column, np.zeros((1, 1)), np.zeros((2, 1)), hidden=hidden)
        assert ("share of the row", share) in [step[:2] for step in path.steps()]


def test_presenting_keeps_what_is_said_and_one_picture():
    first = Matrix("first", [[0.1652, 0.1678]], "a", "ab")
    panels = [Note("said"), Facts({"a": 1}), first, Bars("second", "a", [1])]
    shown = render(panels, present=True)
    assert "said" in shown
    assert ">0.17<" in shown
    assert "second" not in shown
    assert "second" in render(panels)
    with_it = render([*panels, Matrix("third", [[1.0]], "a", beside=True)], present=True)
    assert "third" in with_it
    assert "second" not in with_it


# From the back row: the picture that is the idea, and what belongs beside it.
PRESENTED = [
    ("recurrent", ["Lines", "Matrix"]),
    ("positions", ["Curves", "Flow", "Matrix"]),
    ("grouped_query", ["Curves"]),
]


@pytest.mark.parametrize(("topic", "kinds"), PRESENTED)
def test_presented_is_the_picture_of_the_idea(topic, kinds):
    shown = Shown(topic).panels
    panels = [panel for panel in shown if panel.picture and not isinstance(panel, Heads)]
    first = [panel for panel in panels if panel is panels[0] or panel.beside]
    assert [type(panel).__name__ for panel in first] == kinds


@pytest.mark.parametrize("topic", ["recurrent", "masking", "positions"])
def test_words_are_typed_from_the_back_rows_view_too(topic):
    subject = getattr(explorers, f"{topic}_explorer")()
    (field,) = (control for control in subject.controls if isinstance(control, TextField))
    assert "c3-unpresented" not in subject.places[field.name]._dom_classes
