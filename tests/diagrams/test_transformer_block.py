"""From words to the next word: a lane for each."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import lane_diagram, language_model_diagram
from tests.diagrams import check_drawing


def draw(T, d, **residuals):
    generator = np.random.default_rng(0)
    x, attended, worked = generator.normal(size=(3, T, d))
    weights = np.tril(generator.uniform(0.1, 0.2, size=(T, T)))
    words = ["word"] * T
    diagram = language_model_diagram(words, x, weights, attended, worked, **residuals)
    return diagram, (x, weights, attended, worked)


@pytest.mark.parametrize("residuals", [False, True])
@pytest.mark.parametrize(("T", "d"), [(1, 2), (2, 8), (6, 8), (4, 11)])
def test_it_is_legible_and_holds_what_it_was_given(T, d, residuals):
    diagram, (x, _, attended, worked) = draw(T, d, residuals=residuals)
    check_drawing(diagram)
    for lane in range(T):
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


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("x", np.ones(3)),
        ("weights", np.ones((2, 3))),
        ("attended", np.ones((3, 2))),
        ("worked", np.ones((2, 3))),
    ],
)
def test_what_does_not_fit(name, wrong):
    good = {"x": np.ones((3, 5)), "weights": np.eye(3), "attended": np.ones((3, 5))}
    good |= {"worked": np.ones((3, 5)), name: wrong}
    with pytest.raises(ValueError, match=rf"{name} must have shape .*, got "):
        language_model_diagram(["a", "b", "c"], **good)
    with pytest.raises(ValueError, match="words"):
        language_model_diagram(["a"], np.ones((3, 5)), np.eye(3), np.ones((3, 5)), np.ones((3, 5)))


PARTS = ("norm1", "attention", "norm2", "feed_forward")


def lane(d, count, **changes):
    generator = np.random.default_rng(0)
    given = {
        "word": "oven",
        "token_id": 17,
        "embedding": generator.normal(size=d),
        "position": generator.normal(size=d),
        "blocks": [dict(zip(PARTS, generator.normal(size=(4, d)), strict=True))] * count,
        "norm": generator.normal(size=d),
        "candidates": ["bread", "so"],
        "logits": [0.5, -1.0],
        "probabilities": [0.6, 0.1],
    } | changes
    return lane_diagram(**given), given


@pytest.mark.parametrize(("d", "blocks"), [(1, 1), (8, 2), (64, 2), (5, 4)])
def test_the_lane_of_one_word_is_legible_and_adds_up(d, blocks):
    diagram, given = lane(d, blocks)
    check_drawing(diagram)
    x = given["embedding"] + given["position"]
    for number, block in enumerate(given["blocks"], 1):
        for layer, after in (("attention", "attention"), ("feed_forward", "block")):
            x = x + block[layer]
            name = f"x after {after} {number}"
            np.testing.assert_allclose(diagram[name].values[0], x[:8])
            into = {arrow.source for arrow in diagram.arrows if arrow.target == name}
            assert len(into) == 2, "what is added, and what it is added to"
            assert f"{layer} {number}" in into
        assert set(diagram[f"block {number}"].blocks) >= {f"{part} {number}" for part in PARTS}
    assert diagram["probabilities"].values.tolist() == [[0.6], [0.1]]
    (norm,) = [arrow.source for arrow in diagram.arrows if arrow.target == "norm"]
    assert norm == f"x after block {blocks}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"norm": np.ones(4)}, r"norm must have shape \(d,\) = \(3,\), got \(4,\)"),
        ({"embedding": np.ones((3, 1))}, r"embedding must have shape"),
        ({"blocks": [{"norm1": np.ones(3)}]}, "block 1 must have attention, got norm1"),
        ({"logits": [1.0]}, "logits must hold 2 labels, got 1"),
    ],
)
def test_a_lane_that_does_not_fit_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        lane(3, 1, **change)
