"""One token in three roles, of any width."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import roles_diagram
from tests.diagrams import check_drawing


@pytest.mark.parametrize(("d_in", "d_out", "d_value"), [(1, 1, 1), (3, 2, 2), (5, 3, 7)])
def test_every_role_is_legible_and_has_its_own_numbers(d_in, d_out, d_value):
    rng = np.random.default_rng(0)
    x, query, key, value = (rng.normal(size=d) for d in (d_in, d_out, d_out, d_value))
    diagram = roles_diagram("journey", x, query, key, value)
    check_drawing(diagram)
    named = {block.kind: block.values[0] for block in diagram.blocks}
    for kind, vector in {"signed": x, "query": query, "key": key, "value": value}.items():
        np.testing.assert_array_equal(named[kind], vector)
    assert "journey" in str(diagram)
    assert all(block.numbers for block in diagram.blocks)
    largest = max(abs(v).max() for v in (query, key, value))
    assert [block.limit for block in diagram.blocks[1:]] == [largest] * 3


def test_zeros_are_drawn_too():
    check_drawing(roles_diagram("journey", np.zeros(3), *np.zeros((3, 2))))


def test_a_matrix_is_refused():
    with pytest.raises(ValueError, match=r"key must be a vector, got shape \(2, 2\)"):
        roles_diagram("journey", np.ones(3), np.ones(2), np.ones((2, 2)), np.ones(2))
