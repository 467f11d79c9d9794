"""One word's way through whole blocks."""

import numpy as np

from chapter3_helpers.diagrams import lane_diagram
from tests.diagrams import numbers

PARTS = ("norm1", "attention", "norm2", "feed_forward")


def test_the_lane_of_one_word_adds_up():
    parts = [dict(zip(PARTS, numbers(4, 11) * scale, strict=True)) for scale in (1, 2)]
    embedding, position, norm = numbers(3, 11)
    chosen = (["bread", "so"], [0.5, -1.0], [0.6, 0.1])
    diagram = lane_diagram("oven", 17, embedding, position, parts, norm, *chosen)
    x = embedding + position
    for number, block in enumerate(parts, 1):
        for layer, after in (("attention", "attention"), ("feed_forward", "block")):
            x = x + block[layer]
            name = f"x after {after} {number}"
            np.testing.assert_allclose(diagram[name].values[0], x[:8])
            into = [arrow.source for arrow in diagram.arrows if arrow.target == name]
            assert into[0] == f"{layer} {number}"
            assert into[1].startswith("x"), "and what it is added to"
        drawn = {part: diagram[f"{part} {number}"].values[0] for part in PARTS}
        assert all((drawn[part] == block[part][:8]).all() for part in PARTS)
        assert set(diagram[f"block {number}"].blocks) >= {f"{part} {number}" for part in PARTS}
    assert diagram["probabilities"].values.tolist() == [[0.6], [0.1]]
    assert [a.source for a in diagram.arrows if a.target == "norm"] == ["x after block 2"]
    assert "word (1,) -> id 17 -> embedding -> x (11,)" in str(diagram)
    end = "norm -> output -> logits (2, 1) -> softmax -> probabilities (2, 1)"
    assert f"x after block 2 -> {end}" in str(diagram)
