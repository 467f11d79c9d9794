"""Shadows, scores, a mixture and a matrix product, in any size."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import one_query_diagram, product_diagram, shadow_diagram
from tests.diagrams import check_drawing


def arrays(tokens, d):
    x = np.random.default_rng(0).random((tokens, d))
    scores = x @ x[tokens - 1]
    weights = np.exp(scores) / np.exp(scores).sum()
    return x, scores, weights, weights @ x


@pytest.mark.parametrize(("tokens", "d"), [(1, 1), (3, 2), (6, 3), (9, 3)])
def test_one_query_is_legible(tokens, d):
    x, scores, weights, context = arrays(tokens, d)
    labels = ["starts"] * tokens
    check_drawing(one_query_diagram(x, tokens - 1, scores, tokens=labels))
    check_drawing(one_query_diagram(x, tokens - 1, scores, weights, context, tokens=labels))


def test_every_row_is_multiplied_by_its_weight_and_the_rows_add_up_to_the_context():
    x, scores, weights, context = arrays(5, 3)
    diagram = one_query_diagram(x, 4, scores, weights, context, tokens=list("abcde"))
    weighted = diagram["weight · token"].values
    np.testing.assert_allclose(weighted[1], weights[1] * x[1])
    np.testing.assert_allclose(weighted.sum(axis=0), diagram["context"].values[0])
    assert (diagram["query e"].values == x[4]).all()
    assert all(block.numbers for block in diagram.blocks)


@pytest.mark.parametrize("angle", [0, 60, 90, 180, 270])
def test_shadows_are_legible_and_as_long_as_the_dot_product(angle):
    turn = np.deg2rad(angle)
    a = np.array([[np.cos(turn), np.sin(turn)]] * 5)
    diagram = shadow_diagram(a, [1.0, 0.0], a[:, 0], [f"{panel}: {angle}" for panel in range(5)])
    check_drawing(diagram)
    assert f"length {round(np.cos(turn), 4) + 0:.4f}" in str(diagram)
    assert diagram.blocks[0].shape == f"a · b = {round(np.cos(turn), 2) + 0:.2f}"  # never -0.00


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": 5}, "query must be from 0 to 4, got 5"),
        ({"scores": np.ones(4)}, r"x and scores must have shapes \(T, d\) and \(T,\)"),
        ({"weights": np.ones(5)}, "weights and context must be given together"),
        ({"weights": np.ones(5), "context": np.ones(2)}, "weights and context must have shapes"),
        ({"tokens": ["a"]}, "tokens must hold 5 labels"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    x, scores, _, _ = arrays(5, 3)
    fitting = {"x": x, "query": 1, "scores": scores, "tokens": list("abcde")}
    with pytest.raises(ValueError, match=message):
        one_query_diagram(**fitting | change)


def test_shadows_need_a_dot_product_each():
    with pytest.raises(ValueError, match=r"a, b and dots must have shapes"):
        shadow_diagram(np.ones((2, 2)), [1.0, 0.0], [1.0], ["one", "two"])


@pytest.mark.parametrize(("queries", "keys", "d"), [(1, 1, 1), (2, 6, 3), (6, 2, 3), (8, 8, 4)])
def test_a_product_is_legible_and_picks_out_a_row_and_a_column(queries, keys, d):
    draw = np.random.default_rng(0)
    a, b = draw.random((queries, d)), draw.random((keys, d))
    diagram = product_diagram(
        *(a, b, a @ b.T),
        query=queries - 1,
        key=keys - 1,
        tokens=["journey"] * queries,
        key_tokens=["starts"] * keys,
    )
    check_drawing(diagram)
    assert (diagram["keys.T"].values == b.T).all()
    for name, row, column in (
        ("queries", queries - 1, None),
        ("keys.T", None, keys - 1),
        ("scores", queries - 1, keys - 1),
    ):
        assert (diagram[name].picked, diagram[name].picked_column) == (row, column)


def test_a_large_product_has_no_numbers_in_its_cells():
    x = np.random.default_rng(0).random((12, 3))
    diagram = product_diagram(x, x, x @ x.T, query=0, key=1, tokens=list("abcdefghijkl"))
    check_drawing(diagram)
    assert not diagram["scores"].numbers


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": 2}, "query must be from 0 to 1, got 2"),
        ({"key": 3}, "key must be from 0 to 2, got 3"),
        ({"keys": np.ones((3, 5))}, r"queries, keys and scores must have shapes \(T_q, d\)"),
        ({"scores": np.ones((3, 2))}, r"queries, keys and scores must have shapes \(T_q, d\)"),
        ({"tokens": ["a"]}, "tokens must hold 2 labels"),
        ({"key_tokens": None}, "key_tokens must hold 3 labels"),
    ],
)
def test_a_product_that_does_not_fit_is_refused(change, message):
    fitting = {"queries": np.ones((2, 4)), "keys": np.ones((3, 4)), "scores": np.ones((2, 3))}
    fitting |= {"query": 0, "key": 0, "tokens": ["a", "b"], "key_tokens": ["c", "d", "e"]}
    with pytest.raises(ValueError, match=message):
        product_diagram(**fitting | change)
