"""From x to context: every part that is given is drawn."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import attention_diagram
from chapter3_helpers.diagrams.attention import MOST_LANES
from tests.diagrams import attention, without


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
    assert diagram["scores"].limit == diagram["scaled"].limit == diagram["masked"].limit
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


def test_what_is_left_out_is_not_drawn():
    arrays = without(attention(), "queries", "keys", "values", "scaled", "hidden")
    diagram = attention_diagram(**arrays)
    assert [block.name for block in diagram.blocks] == ["x", "scores", "weights", "context"]
