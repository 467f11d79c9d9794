"""What crosses the memory bus, step by step and tile by tile."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import tiles_diagram, traffic_diagram
from chapter3_helpers.performance import Sizes, count_bytes
from tests.diagrams import numbers


@pytest.mark.parametrize("sizes", [Sizes(1, 6, 4, 2), Sizes(8, 1024, 768, 12)])
def test_it_says_the_bytes_of_every_step_and_hides_what_is_masked(sizes):
    split = count_bytes(sizes, "split")
    x, square = numbers(6, 2), np.where(np.triu(np.ones((6, 6)), 1) > 0, -np.inf, 1.0)
    diagram = traffic_diagram(split, x, x, x, square, abs(square), x)
    assert f"scores (T, T) -> {split['softmax'] / 1e9:.2f} GB -> weights" in str(diagram)
    assert diagram["weights"].hidden.sum() == 15


@pytest.mark.parametrize("tiles", [1, 3])
def test_every_tile_updates_what_is_kept(tiles):
    queries, largest, parts = numbers(3, 2), numbers(3, 1), [numbers(4, 2)] * tiles
    scores = np.full((3, 4), -np.inf)
    scores[:, 0] = 0.5
    diagram = tiles_diagram(queries, parts, parts, [(scores, largest, largest, queries)] * tiles)
    assert diagram[f"scores {tiles - 1}"].hidden.sum() == 9
    assert diagram["start"].values.tolist() == [[-np.inf, 0]] * 3
    into = [arrow.sources for arrow in diagram.arrows if arrow.target == f"output {tiles - 1}"]
    before = f"output {tiles - 2}" if tiles > 1 else "zeros"
    assert into == [(before,), (f"values {tiles - 1}",)]
