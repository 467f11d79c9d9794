"""What the first two explorers say and show, beyond following their controls."""

import re

import pytest

from chapter3_helpers.explorers import dot_products_explorer
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.panels import Bars
from tests.explorers import Shown

ARROWS = {"angle": 60, "length_a": 1.5, "length_b": 1.0}
MOVED = {"token": 5, "score": -4.0, "temperature": 1.0}


@pytest.mark.parametrize("change", [{}, {"length_a": 0.1}, {"length_a": 2.0, "length_b": 2.0}])
def test_the_scale_of_the_curve_stays_from_minus_4_to_4(change):
    curve = Shown("dot_products", **ARROWS | change).all(Curves)[0].html()
    ticks = re.findall(r'text-anchor="end">([^<]+)<', curve)
    assert (ticks[0], ticks[-1]) == ("-4", "4")


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
    shown = Shown("dot_products", **ARROWS | change)
    assert shown.note.startswith(said)
    assert "nan" not in "".join(panel.html() for panel in shown.panels[1:])


def test_the_sum_of_products_is_written_out():
    assert list(Shown("dot_products", **ARROWS).facts.values())[:4] == [
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
    shown = Shown("softmax", **MOVED | change)
    assert [part for part in said if part not in shown.note] == []
    sums = [float(bars.values.sum()) for bars in shown.all(Bars)[:2]]
    assert sums == pytest.approx([1.0, 1.0])


def test_a_number_in_the_code_is_written_as_the_control_shows_it():
    explorer = dot_products_explorer()
    explorer.set(length_a=0.1 + 0.2 + 0.4)  # 0.7000000000000001
    assert "length_a = 0.7\n" in explorer.code(explorer.settings)
