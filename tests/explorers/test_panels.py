"""Panels draw what they are given, also where it is at the edge."""

import re

import pytest

from chapter3_helpers.explorers.panels import Arrows, Curves

NAN = float("nan")


@pytest.mark.parametrize("line", [[0.0, 0.0], [-1.0, 0.0], [NAN, NAN]])
@pytest.mark.parametrize("log", ["", "x", "y", "xy"])
def test_curves_that_a_logarithm_cannot_show_are_drawn_along_the_edge(line, log):
    shown = Curves("t", "x", "y", [0.0, 0.0], {"a": line}, mark=0.0, log=log).html()
    (points,) = re.findall(r'points="(.*?)"', shown)
    assert len(points.split()) == sum(value == value for value in line)
    assert "nan" not in shown
    if "y" in log:
        assert all(point.endswith(",200.0") for point in points.split())
        assert ">1</text>" in shown
        assert ">10</text>" in shown


def test_arrows_end_where_their_numbers_say():
    shown = Arrows("t", {"a": (1.0, 0.5), "<b>": (-2.0, -1.0)}, reach=2.0).html()  # 70 a unit
    ends = re.findall(r'x1="140.0" y1="140.0" x2="(.*?)" y2="(.*?)"', shown)
    assert ends == [("210.0", "105.0"), ("0.0", "210.0")]
    assert "&lt;b&gt;" in shown
