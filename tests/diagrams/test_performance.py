"""What crosses the memory bus, step by step and tile by tile."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import tiles_diagram, traffic_diagram
from chapter3_helpers.performance import Sizes, count_bytes
from tests.diagrams import check_drawing

GENERATOR = np.random.default_rng(0)


def tensors(T, D):
    """Queries, keys, values, scores, weights and context of one head."""
    x, square = GENERATOR.normal(size=(T, D)), GENERATOR.random((T, T))
    return x, x, x, np.where(np.triu(np.ones((T, T)), 1) > 0, -np.inf, square), square, x


@pytest.mark.parametrize("sizes", [Sizes(1, 6, 4, 2), Sizes(8, 1024, 768, 12)])
@pytest.mark.parametrize(("T", "D"), [(6, 2), (9, 5)])
def test_it_is_legible_and_says_the_bytes_of_every_step(sizes, T, D):
    split = count_bytes(sizes, "split")
    diagram = traffic_diagram(split, *tensors(T, D))
    check_drawing(diagram)
    assert f"scores (T, T) -> {split['softmax'] / 1e9:.2f} GB -> weights" in str(diagram)


def test_a_missing_step_is_refused():
    with pytest.raises(ValueError, match="traffic must hold the bytes of compare, softmax, mix"):
        traffic_diagram({"mix": 1}, *tensors(2, 2))


@pytest.mark.parametrize(("rows", "size", "D", "tiles"), [(2, 2, 2, 3), (3, 4, 2, 2), (1, 1, 3, 1)])
def test_every_tile_updates_what_is_kept(rows, size, D, tiles):
    queries, largest = GENERATOR.normal(size=(rows, D)), GENERATOR.normal(size=(rows, 1))
    parts = [GENERATOR.normal(size=(size, D))] * tiles
    scores = np.full((rows, size), -np.inf)
    scores[:, 0] = 0.5
    diagram = tiles_diagram(queries, parts, parts, [(scores, largest, largest, queries)] * tiles)
    check_drawing(diagram)
    assert diagram[f"scores {tiles - 1}"].hidden.sum() == rows * (size - 1)
    assert diagram["start"].values.tolist() == [[-np.inf, 0]] * rows
    into = [arrow.sources for arrow in diagram.arrows if arrow.target == f"output {tiles - 1}"]
    before = f"output {tiles - 2}" if tiles > 1 else "zeros"
    assert into == [(before,), (f"values {tiles - 1}",)]


def test_tiles_that_are_not_equally_many_are_refused():
    one = np.ones((1, 1))
    one = np.ones((1, 1))
    with pytest.raises(ValueError, match="equally many, got 1, 2 and 1"):
        tiles_diagram(one, [one], [one] * 2, [(one, one, one, one)])
