"""Shared keys and a growing cache."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import cache_diagram, sharing_diagram
from tests.diagrams import check_drawing

KEYS = np.random.default_rng(0).normal(size=(7, 11))


@pytest.mark.parametrize(("H", "K"), [(1, 1), (4, 2), (8, 1), (8, 4), (6, 3)])
def test_neighbours_share_a_key_head(H, K):
    diagram = sharing_diagram(np.stack([KEYS] * H), np.stack([KEYS] * K))
    check_drawing(diagram)
    read = [arrow.target for arrow in diagram.arrows]
    assert read == [f"keys {k}" for k in range(K) for _ in range(H // K)]


def test_the_cache_keeps_its_rows_and_marks_the_newest():
    diagram = cache_diagram(KEYS, [4, 5, 7], ["word"] * 7)
    check_drawing(diagram)
    for length in (4, 5, 7):
        block = diagram[f"{length} keys"]
        assert (block.values == KEYS[:length, : block.values.shape[1]]).all()
        assert block.picked == length - 1


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: sharing_diagram(np.ones((3, 2, 2)), np.ones((2, 2, 2))), "a multiple of the 2"),
        (lambda: sharing_diagram(np.ones((3, 2)), np.ones((1, 2))), "queries and keys must have"),
        (lambda: cache_diagram(KEYS, [8], ["word"] * 7), "lengths must be from 1 to 7, got 8"),
        (lambda: cache_diagram(KEYS, [2], ["word"]), "tokens S names"),
    ],
)
def test_what_does_not_fit_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
