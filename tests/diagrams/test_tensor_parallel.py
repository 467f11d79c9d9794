"""Processes side by side."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import cut_diagram, processes_diagram, ring_diagram
from tests.diagrams import numbers


@pytest.mark.parametrize("n", [1, 3])
def test_every_process_goes_into_the_sum(n):
    contexts, partials = numbers(n, 5, 2), numbers(n, 5, 4)
    diagram = processes_diagram(numbers(5, 3), contexts, partials, partials.sum(0), "abc"[:n])
    assert diagram.arrows[-1].sources == tuple(f"partial output {p}" for p in range(n))
    total = sum(diagram[f"partial output {p}"].values for p in range(n))
    np.testing.assert_allclose(diagram["output"].values, total)


def test_every_weight_says_whose_it_is():
    rows = np.tile([[0], [0], [1], [1]], 3)
    diagram = cut_diagram({"W_query": rows, "out_proj": rows.T})
    assert diagram["W_query"].values.tolist() == rows.tolist()
    assert all(block.numbers and block.kind == "owner" for block in diagram.blocks)
    assert "out_proj (3, 4):" in diagram.description


def test_a_ring_is_drawn_on_one_scale():
    start = np.ones((4, 4))
    diagram = ring_diagram({"at first": start, "added": 2 * start, "all": 4 * start})
    assert {(block.limit, block.numbers) for block in diagram.blocks} == {(4, True)}
    assert diagram.blocks[0].rows[-1] == "GPU 3"
