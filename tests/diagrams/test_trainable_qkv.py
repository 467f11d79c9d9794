"""One token in three roles."""

import numpy as np

from chapter3_helpers.diagrams import roles_diagram
from tests.diagrams import check_drawing, numbers


def test_every_role_has_its_own_numbers_and_all_have_one_scale():
    x, query, key, value = map(numbers, (5, 3, 3, 7))
    diagram = roles_diagram("journey", x, query, key, value)
    named = {block.kind: block.values[0] for block in diagram.blocks}
    for kind, vector in {"signed": x, "query": query, "key": key, "value": value}.items():
        np.testing.assert_array_equal(named[kind], vector)
    assert "journey" in str(diagram)
    assert all(block.numbers for block in diagram.blocks)
    largest = max(abs(v).max() for v in (query, key, value))
    assert [block.limit for block in diagram.blocks[1:]] == [largest] * 3


def test_zeros_are_drawn_too():
    check_drawing(roles_diagram("journey", np.zeros(3), *np.zeros((3, 2))))
