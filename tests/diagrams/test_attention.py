"""From x to context: every part that is given is drawn, in any size."""

import numpy as np
import pytest
import torch

from chapter3_helpers.diagrams import attention_diagram
from chapter3_helpers.diagrams.attention import MOST_LANES
from tests.diagrams import check_drawing

PARTS = ("queries", "keys", "values", "scores", "scaled", "weights", "context")


def attention(tokens=5, d_in=3, d=2, heads=None):
    """All the arrays on the way, worked out plainly."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(tokens, d_in))
    lead = () if heads is None else (heads,)
    queries, keys, values = (x @ generator.normal(size=(*lead, d_in, d)) for _ in range(3))
    scores = queries @ keys.swapaxes(-1, -2)
    hidden = np.triu(np.ones((tokens, tokens), bool), 1)
    weights = np.exp(np.where(hidden, -np.inf, scores / d**0.5))
    weights /= weights.sum(-1, keepdims=True)
    parts = (queries, keys, values, scores, scores / d**0.5, weights, weights @ values)
    return {"x": x, "hidden": hidden, **dict(zip(PARTS, parts, strict=True))}


def without(arrays, *names):
    return {name: array for name, array in arrays.items() if name not in names}


@pytest.mark.parametrize("tokens", [1, 2, 6, 12])
@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize("dropout", [False, True])
@pytest.mark.parametrize("mask", [False, True])
def test_one_head_is_legible(tokens, d, dropout, mask):
    arrays = attention(tokens, d=d)
    if not mask:
        del arrays["hidden"]
    if dropout:
        arrays["dropped"] = arrays["weights"] * 2
    labels = ["uncharacteristic", *["word"] * 11][:tokens]
    check_drawing(attention_diagram(**arrays, tokens=labels, query=tokens - 1))


@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize(("tokens", "d"), [(1, 1), (6, 2), (9, 5)])
def test_several_heads_are_legible(heads, tokens, d):
    arrays = without(attention(tokens, d=d, heads=heads), "scores", "scaled")
    check_drawing(attention_diagram(**arrays, output=np.ones((tokens, heads * d)), query=0))


def test_the_steps_are_said_in_their_order():
    arrays = attention()
    said = attention_diagram(**arrays, dropped=arrays["weights"]).description.splitlines()
    assert said[1:6] == [
        "x (5, 3) -> @ W_query -> queries (5, 2)",
        "x (5, 3) -> @ W_key -> keys (5, 2)",
        "x (5, 3) -> @ W_value -> values (5, 2)",
        "queries (5, 2) and keys (5, 2) -> @ keys.T -> scores (5, 5) -> / sqrt(D) -> scaled (5, 5)"
        " -> mask -> masked (5, 5) -> softmax -> weights (5, 5) -> dropout -> dropped (5, 5)"
        " -> @ values -> context (5, 2)",
        "values (5, 2) -> context (5, 2)",
    ]


def test_what_is_left_out_is_not_drawn():
    arrays = without(attention(), "queries", "keys", "values", "scaled", "hidden")
    diagram = attention_diagram(**arrays)
    assert [block.name for block in diagram.blocks] == ["x", "scores", "weights", "context"]
    check_drawing(diagram)


def test_the_picked_query_is_marked_wherever_it_has_a_row():
    diagram = attention_diagram(**attention(), query=3, tokens=list("abcde"))
    picked = {block.name for block in diagram.blocks if block.picked == 3}
    assert picked == {"x", "queries", "scores", "scaled", "masked", "weights", "context"}
    assert "row 3 (d) marked" in diagram.description
    assert "the query of “d”" in diagram.title


def test_a_single_query_comes_as_vectors():
    arrays = without(attention(), "hidden")
    for name in ("queries", "scores", "scaled", "weights", "context"):
        arrays[name] = torch.tensor(arrays[name][1])
    diagram = attention_diagram(**arrays)
    check_drawing(diagram)
    assert diagram["queries"].caption == "query"
    assert "scores (5,) -> / sqrt(D) -> scaled (5,)" in diagram.description


def test_scores_and_scaled_share_a_scale_so_that_dividing_looks_paler():
    arrays = attention()
    diagram = attention_diagram(**arrays)
    assert diagram["scores"].limit == diagram["scaled"].limit == diagram["masked"].limit
    assert (diagram["masked"].values == arrays["scaled"]).all()


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
    check_drawing(diagram)


def test_parts_that_do_not_belong_together_are_refused():
    arrays = attention()
    with pytest.raises(ValueError, match=r"must come together, got only \['queries', 'values'\]"):
        attention_diagram(**without(arrays, "keys"))
    several = attention(heads=3)
    with pytest.raises(ValueError, match=r"values must have shape \(3, T, D\), got \(5, 2\)"):
        attention_diagram(**{**several, "values": arrays["values"]})
    with pytest.raises(ValueError, match="hidden must have shape"):
        attention_diagram(**{**arrays, "hidden": arrays["hidden"][:, :3]})
