"""Shared keys and a growing cache."""

import pytest

from chapter3_helpers.diagrams import cache_diagram, sharing_diagram
from tests.diagrams import numbers


@pytest.mark.parametrize(("H", "K"), [(1, 1), (4, 2), (8, 1), (8, 4), (6, 3)])
def test_neighbours_share_a_key_head(H, K):
    read = [arrow.target for arrow in sharing_diagram(numbers(H, 5, 8), numbers(K, 5, 8)).arrows]
    assert read == [f"keys {k}" for k in range(K) for _ in range(H // K)]


def test_the_cache_keeps_its_rows_and_marks_the_newest():
    keys = numbers(7, 11)
    diagram = cache_diagram(keys, [4, 5, 7], ["word"] * 7)
    for length in (4, 5, 7):
        block = diagram[f"{length} keys"]
        assert (block.values == keys[:length, : block.values.shape[1]]).all()
        assert block.picked == length - 1
