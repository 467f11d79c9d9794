"""Panels draw what they are given, also where it is at the edge."""

import ast
import re
import subprocess
import sys

import pytest

from chapter3_helpers.explorers.drawings import Curves
from chapter3_helpers.explorers.panels import Bars, Matrix

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


def test_panels_need_neither_torch_nor_matplotlib():
    heavy = ("torch", "matplotlib", "pandas", "ipywidgets")
    code = "import sys, chapter3_helpers.explorers.panels; print(sorted(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(heavy) & set(ast.literal_eval(found.stdout))


@pytest.mark.parametrize("signed", [False, True])
def test_plus_infinity_is_written_and_minus_infinity_and_nan_are_hatched(signed):
    inf = float("inf")
    shown = Matrix("t", [[0.5, inf], [-inf, NAN]], ["a", "b"], signed=signed).html()
    cells = re.findall(r"<td class=\"?(\w+)\"?[^>]*>([^<]*)", shown)
    classes = ("s100", "s100") if signed else ("w50", "w100")
    assert cells == [*zip(classes, ("0.50", "inf"), strict=True), ("h", ""), ("h", "")]


def test_a_bar_of_infinity_is_long_and_what_is_no_number_is_hidden():
    shown = Bars("t", ["a", "b", "c"], [float("inf"), -float("inf"), NAN]).html()
    cells = re.findall(r'class="n">(\w+)</td><td class="b"><div style="width:([\d.]+)%', shown)
    assert cells == [("inf", "100.0"), ("hidden", "0.0"), ("hidden", "0.0")]
