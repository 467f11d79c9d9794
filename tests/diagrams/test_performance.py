"""What crosses the memory bus."""

import pytest

from chapter3_helpers.diagrams import traffic_diagram
from chapter3_helpers.performance import Sizes, count_bytes
from tests.diagrams import check_drawing


@pytest.mark.parametrize("sizes", [Sizes(1, 6, 4, 2), Sizes(8, 1024, 768, 12)])
def test_it_is_legible_and_says_the_bytes_of_every_step(sizes):
    split, fused = (count_bytes(sizes, variant) for variant in ("split", "fused"))
    diagram = traffic_diagram(split, fused)
    check_drawing(diagram)
    assert f"scores (B, H, T, T) -> {split['softmax'] / 1e9:.2f} GB -> weights" in str(diagram)
    total = fused["compare"] + fused["softmax"] + fused["mix"]
    assert f"fused: {total / 1e9:.2f} GB" in str(diagram)


def test_a_missing_step_is_refused():
    with pytest.raises(ValueError, match="fused must hold the bytes of compare, softmax, mix"):
        traffic_diagram({"compare": 1, "softmax": 1, "mix": 1}, {"mix": 1})
