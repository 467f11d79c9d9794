"""From x to context: every part that is given is drawn."""

from itertools import combinations

import numpy as np
import pytest

from chapter3_helpers.diagrams import attention_diagram
from chapter3_helpers.diagrams.attention import MOST_LANES
from tests.diagrams import attention, check_drawing, without

ONE = ("queries", "keys", "values", "scores", "scaled", "hidden", "dropped")
SEVERAL = ("queries", "keys", "values", "hidden", "dropped", "output")


def test_the_picked_query_is_marked_wherever_it_has_a_row():
    diagram = attention_diagram(**attention(), query=3, tokens=list("abcde"))
    marked = {block.name for block in diagram.blocks if block.marked_row == 3}
    assert marked == {"x", "queries", "scores", "scaled", "masked", "weights", "context"}
    assert "row 3 (d) marked" in diagram.description
    assert "the query of “d”" in diagram.title


def test_the_one_query_of_a_step_is_called_so_and_nothing_else_is():
    arrays = without(attention(), "hidden")
    one = {name: arrays[name][3] for name in arrays if name not in ("x", "keys", "values")}
    diagram = attention_diagram(**arrays | one)
    assert [block.name for block in diagram.blocks if block.caption == "query"] == ["queries"]


def test_scores_and_scaled_share_a_scale_so_that_dividing_looks_paler():
    arrays = attention()
    diagram = attention_diagram(**arrays)
    limits = {diagram[name].limit for name in ("scores", "scaled", "masked")}
    assert limits == {float(abs(arrays["scores"]).max())}
    assert (diagram["masked"].values == arrays["scaled"]).all()


def test_a_mask_that_comes_before_the_division_is_drawn_before_it():
    arrays = attention()
    diagram = attention_diagram(**arrays, mask_first=True)
    after = {"scores": "masked", "masked": "scaled", "scaled": "weights"}
    assert after.items() <= {(arrow.source, arrow.target) for arrow in diagram.arrows}
    assert (diagram["masked"].values == arrays["scores"]).all()
    assert diagram["scaled"].hidden is not None


@pytest.mark.parametrize(
    ("head", "drawn"), [(0, [0, 1, 2, 3]), (5, [4, 5, 6, 7]), (8, [5, 6, 7, 8])]
)
def test_of_many_heads_those_beside_the_picked_one_are_drawn(head, drawn):
    arrays = without(attention(heads=9), "scores", "scaled")
    diagram = attention_diagram(**arrays, head=head)
    assert [bracket.text for bracket in diagram.brackets] == [f"head {k}" for k in drawn]
    assert len(drawn) == MOST_LANES
    assert [bracket.text for bracket in diagram.brackets if bracket.state == "lit"] == [
        f"head {head}"
    ]
    assert f"drawn are {drawn[0]} to {drawn[-1]}" in diagram.title
    np.testing.assert_array_equal(
        diagram["concat"].values, np.concatenate(list(arrays["context"]), axis=1)
    )


def choices(names):
    """All choices of names, none and all of them included."""
    return [chosen for count in range(len(names) + 1) for chosen in combinations(names, count)]


@pytest.mark.parametrize(
    ("heads", "given"),
    [*((None, given) for given in choices(ONE)), *((3, given) for given in choices(SEVERAL))],
)
def test_whatever_is_left_out_the_rest_is_drawn_and_every_arrow_has_its_ends(heads, given):
    arrays = attention(heads=heads)
    arrays |= {"dropped": 2 * arrays["weights"], "output": arrays["x"] @ np.ones((3, 4))}
    chosen = {name: arrays[name] for name in ("x", "weights", "context", *given)}
    diagram = attention_diagram(**chosen, query=1)
    check_drawing(diagram)
    names = [block.name for block in diagram.blocks if not block.name.endswith((" 1", " 2"))]
    drawn = {name.removesuffix(" 0").removesuffix(".T") for name in names}
    expected = {*chosen} - {"hidden"}
    if heads:
        expected |= {"concat"}
        expected -= {"weights"} if "dropped" in given else set()
    elif "hidden" in given and {"scores", "scaled"} & {*given}:
        expected |= {"masked"}
    assert drawn == expected
    words = " ".join(arrow.text for arrow in diagram.arrows)
    for role in ("keys", "values"):
        assert role in given or f"@ {role}" not in words
    assert "values" in given or "@ x" in words
    if "scores" not in given and "scaled" not in given:
        assert "softmax" in words or (heads and not {"queries", "keys"} & {*given})


@pytest.mark.parametrize("given", choices(("queries", "keys", "values", "scores", "scaled")))
def test_one_query_alone_is_drawn_whatever_is_left_out(given):
    arrays = without(attention(), "hidden")
    one = {name: arrays[name][3] for name in ("queries", "scores", "scaled", "weights", "context")}
    chosen = {name: (arrays | one)[name] for name in ("x", "weights", "context", *given)}
    check_drawing(attention_diagram(**chosen, query=3, tokens=[*"abcde"]))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"head": 3}, "head must be from 0 to 2, got 3"),
        ({"head": -1}, "head must be from 0 to 2, got -1"),
        ({"query": 9}, "marked_row must be from 0 to 4, got 9"),
    ],
)
def test_a_head_or_a_row_that_is_not_there_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        attention_diagram(**without(attention(heads=3), "scores", "scaled"), **wrong)
    if "query" in wrong:
        with pytest.raises(ValueError, match=words):
            attention_diagram(**attention(), tokens=[*"abcde"], **wrong)
