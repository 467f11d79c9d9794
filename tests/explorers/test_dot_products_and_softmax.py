"""What the first two explorers say and show, beyond following their controls."""

import re

import pytest

from chapter3_helpers.explorers import dot_products_explorer
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.panels import Bars, Facts
from chapter3_helpers.explorers.dot_products import dot_products_panels
from chapter3_helpers.explorers.softmax import softmax_panels
from tests.explorers import find

ARROWS = {"angle": 60, "length_a": 1.5, "length_b": 1.0}
MOVED = {"token": 5, "score": -4.0, "temperature": 1.0}


def ticks(settings):
    curve = next(panel for panel in dot_products_panels(settings) if isinstance(panel, Curves))
    return re.findall(r'text-anchor="end">([^<]+)<', curve.html())


@pytest.mark.parametrize("change", [{"length_a": 0.1}, {"length_a": 2.0, "length_b": 2.0}])
def test_the_scale_of_the_curve_stays_from_minus_4_to_4(change):
    assert ticks(ARROWS | change) == ticks(ARROWS)
    assert (ticks(ARROWS)[0], ticks(ARROWS)[-1]) == ("-4", "4")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "Less than a right angle: the shadow falls along b, dot product 0.75."),
        ({"angle": 120}, "More than a right angle: the shadow falls backwards, dot product -0.75."),
        ({"angle": 90}, "At a right angle a casts no shadow: the dot product is 0"),
        ({"length_b": 0.0}, "b has length 0 and so no direction: the dot product is 0"),
        ({"length_a": 0.0, "length_b": 0.0}, "a and b have length 0 and so no direction"),
    ],
)
def test_the_arrows_are_told_in_a_sentence(change, said):
    note, *drawn = dot_products_panels(ARROWS | change)
    assert note.text.startswith(said)
    assert "nan" not in "".join(panel.html() for panel in drawn)


def test_the_sum_of_products_is_written_out():
    facts = find(Facts, dot_products_panels(ARROWS)).values
    assert list(facts.values())[:4] == [
        *("(0.75, 1.30)", "(1.00, 0.00)", "(0.75)(1.00) + (1.30)(0.00) = 0.75"),
        "1.0 · 0.75 = 0.75",
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ["“journey” gets most, 28% of the total", "shares from -271% to 101%"]),
        ({"score": 4.0}, ["“step” gets most, 78% of the total", "give it 42% at the most"]),
        ({"score": 20.0}, ["“step” takes nearly everything"]),
        ({"temperature": 100.0}, ["every weight is close to 1/6", "from -271% to 101%"]),
    ],
)
def test_softmax_and_the_quotient_are_told_side_by_side(change, said):
    note, weights, quotients, _ = softmax_panels(MOVED | change)
    for part in said:
        assert part in note.text
    assert isinstance(weights, Bars)
    assert isinstance(quotients, Bars)
    assert float(weights.values.sum()) == pytest.approx(1.0)
    assert float(quotients.values.sum()) == pytest.approx(1.0)


def test_a_number_in_the_code_is_written_as_the_control_shows_it():
    explorer = dot_products_explorer()
    explorer.set(length_a=0.1 + 0.2 + 0.4)  # 0.7000000000000001
    assert "length_a = 0.7\n" in explorer.code(explorer.settings)
