"""Shadows, scores, a mixture and a matrix product."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import one_query_diagram, product_diagram, shadow_diagram
from tests.diagrams import numbers


def test_every_row_is_multiplied_by_its_weight_and_the_rows_add_up_to_the_context():
    x, scores, weights = numbers(5, 3), numbers(5), numbers(5)
    diagram = one_query_diagram(x, 4, scores, weights, weights @ x, tokens=list("abcde"))
    weighted = diagram["weight · token"].values
    np.testing.assert_allclose(weighted[1], weights[1] * x[1])
    np.testing.assert_allclose(weighted.sum(axis=0), diagram["context"].values[0])
    assert (diagram["query e"].values == x[4]).all()
    assert all(block.numbers for block in diagram.blocks)


@pytest.mark.parametrize("angle", [0, 60, 90, 180, 270])
def test_shadows_are_as_long_as_the_dot_product(angle):
    turn = np.deg2rad(angle)
    a = np.array([[np.cos(turn), np.sin(turn)]])
    diagram = shadow_diagram(a, [1.0, 0.0], a[:, 0], [f"{angle}°"])
    assert f"length {round(np.cos(turn), 4) + 0:.4f}" in str(diagram)
    assert diagram.blocks[0].shape == f"a · b = {round(np.cos(turn), 2) + 0:.2f}"  # never -0.00


@pytest.mark.parametrize(("length", "numbered"), [(8, True), (9, False)])
def test_a_product_picks_out_a_row_and_a_column_and_a_large_one_has_no_numbers(length, numbered):
    a, b = numbers(2, 3), numbers(length, 3)
    names = {"tokens": ["a", "b"], "key_tokens": [str(key) for key in range(length)]}
    diagram = product_diagram(a, b, a @ b.T, query=1, key=length - 1, **names)
    assert (diagram["keys.T"].values == b.T).all()
    picked = {block.name: (block.picked, block.picked_column) for block in diagram.blocks}
    last = length - 1
    assert picked == {"queries": (1, None), "keys.T": (None, last), "scores": (1, last)}
    assert {block.numbers for block in diagram.blocks} == {numbered}
