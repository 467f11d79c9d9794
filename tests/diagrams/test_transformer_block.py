"""From words to the next word: a lane for each."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import lane_diagram, language_model_diagram
from tests.diagrams import numbers


def draw(T, d, **residuals):
    x, attended, worked = numbers(3, T, d)
    weights = np.tril(np.linspace(0.1, 0.2, T * T).reshape(T, T))
    words = ["word"] * T
    diagram = language_model_diagram(words, x, weights, attended, worked, **residuals)
    return diagram, (x, weights, attended, worked)


@pytest.mark.parametrize("residuals", [False, True])
def test_it_holds_what_it_was_given(residuals):
    diagram, (x, _, attended, worked) = draw(4, 11, residuals=residuals)
    for lane in range(4):
        for name, values in (("x", x), ("attended", attended), ("worked", worked)):
            assert (diagram[f"{name} {lane + 1}"].values == values[lane, :8]).all()


def test_attention_crosses_the_lanes_and_the_network_stays_inside():
    diagram, (_, weights, _, _) = draw(3, 5)
    crossing = {
        (arrow.source, arrow.target): arrow.weight
        for arrow in diagram.arrows
        if arrow.target.startswith("attended")
    }
    assert crossing == {
        (f"x {j + 1}", f"attended {i + 1}"): weights[i, j] for i in range(3) for j in range(i + 1)
    }
    inside = [(a.source, a.target) for a in diagram.arrows if a.target.startswith("worked")]
    assert inside == [(f"attended {i}", f"worked {i}") for i in (1, 2, 3)]


def test_the_way_round_is_added():
    diagram, (x, _, attended, worked) = draw(2, 5, residuals=True)
    np.testing.assert_allclose(diagram["x + attended 2"].values[0], x[1] + attended[1])
    np.testing.assert_allclose(diagram["+ worked 2"].values[0], (x + attended + worked)[1])
    assert {("x 2", "x + attended 2"), ("x + attended 2", "+ worked 2")} == {
        (a.source, a.target) for a in diagram.arrows if a.via == "below" and a.source.endswith("2")
    }


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
