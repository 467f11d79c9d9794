"""What adds up in a diagram; most print all that they show in a notebook, where it is compared."""

import numpy as np
import pytest

from chapter3_helpers import diagrams
from chapter3_helpers.diagrams.core.drawing import draw
from chapter3_helpers.diagrams.core.painting import paint_plane
from chapter3_helpers.diagrams.core.scene import Line
from tests.diagrams import numbers


def at(*angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def sources_of(diagram, target):
    return [arrow.sources for arrow in diagram.arrows if arrow.target == target]


def test_rows_times_their_weights_add_up_to_a_context():
    x, scores, weights = numbers(5, 3), numbers(5), numbers(5)
    arrays = (scores, weights, weights @ x)
    query = diagrams.one_query_diagram(x, 4, *arrays, tokens=list("abcde"))
    assert (query["query e"].values == x[4]).all()
    assert all(block.numbers for block in query.blocks)
    look_back = diagrams.look_back_diagram(x, x[0], *arrays, read="birds")
    for diagram, rows in ((query, "weight · token"), (look_back, "weight · state")):
        np.testing.assert_allclose(diagram[rows].values[1], weights[1] * x[1])
        context = diagram["context"].values
        np.testing.assert_allclose(diagram[rows].values.sum(axis=0), context.ravel())


@pytest.mark.parametrize("angle", [0, 60, 90, 180, 270])
def test_shadows_are_as_long_as_the_dot_product(angle):
    turn = np.deg2rad(angle)
    a = at(turn)
    diagram = diagrams.shadow_diagram(a, [1.0, 0.0], a[:, 0], [f"{angle}°"])
    assert f"length {np.cos(turn):z.4f}" in str(diagram)
    assert diagram.blocks[0].shape == f"a · b = {np.cos(turn):z.2f}"  # never -0.00


def test_the_decoder_receives_the_ends_of_both_directions():
    states = numbers(3, 16)
    last = np.concatenate([states[2, :8], states[0, 8:]])
    diagram = diagrams.encoder_decoder_diagram(states, "cat", "TAC", last=last, decoded=states)
    ends = [diagram[end].values for end in ("forwards 3", "backwards 1")]
    np.testing.assert_array_equal(diagram["last"].values, np.concatenate(ends, axis=1))
    sources = [arrow.source for arrow in diagram.arrows if arrow.target == "last"]
    assert sources == ["forwards 3", "backwards 1"]
    assert "backwards 3 (first 4 of 8) -> backwards 2 (first 4 of 8) -> backwards 1" in str(diagram)


def test_heads_say_every_weight_and_stand_side_by_side_on_one_scale():
    weights = [[0.99, 0.01, 0.0], [0.25, 0.5, 0.25]]
    diagram = diagrams.heads_diagram(weights, [[1.0, 2.0], [3.0, -4.0]], "abc")
    for head, row in enumerate(weights):
        for place, weight in enumerate(row, 1):
            line = f"token {place} (1,) -> {weight:.4f} -> head {head} (2 numbers)"
            assert (line in str(diagram)) == (weight > 0.02), "what is hardly looked at: no arrow"
    assert "head 0 (2 numbers) and head 1 (2 numbers) -> side by side -> concat (4" in str(diagram)
    assert {block.limit for block in diagram.blocks[3:]} == {4.0}
    beams = [item for item in draw(diagram).items if isinstance(item, Line) and item.width != 1.5]
    assert len(beams) == 4
    assert all(beam.head for beam in beams)


def test_a_row_names_the_words_that_it_mixes_and_is_asked():
    rows = {"one": [0.5, 0.0, 0.5], "two": [0.0, 0.0, 1.0]}
    said = str(diagrams.rows_diagram(rows, "abc", ["who? whom?", "whom?"], "rows")).splitlines()
    for line in ("row 1: a + c", "asked 1: who? whom?", "row 2: c", "asked 2: whom?"):
        assert line in said


def test_what_the_linear_layer_makes_of_all_heads_stands_below_them():
    vectors = numbers(2, 3)
    answers = {"who": (vectors[0], "Ann"), "whom": (vectors[1], "Bob")}
    diagram = diagrams.heads_diagram([[1.0], [1.0]], numbers(2, 4), "a", answers=answers)
    for vector, (question, (_, word)) in zip(vectors, answers.items(), strict=True):
        np.testing.assert_array_equal(diagram[question].values[0], vector)
        assert f"answer to {question}: {word}" in str(diagram).splitlines()
        assert f"{question} (3 numbers) -> answer to {question}" in str(diagram)
    assert "-> linear layer -> who (3 numbers)" in str(diagram)


def test_every_head_owns_a_block_of_columns_and_their_sum_is_the_output():
    found, weight = numbers(2, 16), numbers(8, 32)
    output = weight @ found.ravel()
    diagram = diagrams.out_proj_diagram(found, weight, output)
    parts = [
        diagram[columns].values @ diagram[head].values[0]
        for head, columns in (("head 0", "columns 0 to 15"), ("head 1", "columns 16 to 31"))
    ]
    np.testing.assert_allclose(np.sum(parts, axis=0), output)
    assert (diagram["output"].values[:, 0] == output).all()
    assert "row sums -> output" in str(diagram)
    with_bias = diagrams.out_proj_diagram(found, weight, output, bias=output)
    assert "row sums + bias -> output" in str(with_bias)


def test_the_angle_from_key_to_query_is_that_of_the_turns():
    queries, keys, names = at(1.5, 3.5), at(1.0, 3.0), ["2 and 0", "5 and 3"]
    diagram = diagrams.rotary_diagram(queries, keys, (queries * keys).sum(-1), names)
    assert [diagram[name].turned() for name in names] == pytest.approx([0.5, 0.5])


def test_the_letter_that_the_second_layer_finds_is_marked():
    before, after, looks = numbers(2, 11)[0], numbers(2, 11)[1], abs(numbers(2, 5))
    found = (looks[0], before, after, looks[1])
    diagram = diagrams.induction_diagram("abcab", 2, *found, ["c", "a"], [0.7, 0.2])
    assert diagram["second layer"].marked_column == 2
    assert (diagram["second layer"].values[0] == looks[1]).all()
    assert (diagram["first layer"].values[0] == looks[0]).all()
    assert (diagram["x + found"].values[0] == after[:6]).all()
    assert (diagram["“c”, place 2"].values[0] == before[:6]).all()
    assert diagram["next letter"].rows == ("c", "a")


def test_what_arrows_were_before_they_turned_is_drawn_under_them():
    plain, ghosts = (
        diagrams.rotary_diagram(at(1.5), at(1.0), [0.9], ["2 and 0"], *before)
        for before in ((), (np.concatenate([at(0.5), at(1.0)]),))
    )
    dashed = [[line for line in _arrows(diagram) if line.dashed] for diagram in (plain, ghosts)]
    assert [len(lines) for lines in dashed] == [0, 2]
    assert str(ghosts).count("faint: ") == 2


def _arrows(diagram):
    items = paint_plane(diagram["2 and 0"], 0.0, 0.0)
    return [item for item in items if getattr(item, "head", False)]


def test_the_lane_of_one_word_adds_up():
    layers = ("norm1", "attention", "norm2", "feed_forward")
    parts = [dict(zip(layers, numbers(4, 11) * scale, strict=True)) for scale in (1, 2)]
    embedding, position, norm = numbers(3, 11)
    chosen = (["bread", "so"], [0.5, -1.0], [0.6, 0.1])
    diagram = diagrams.lane_diagram("oven", 17, embedding, position, parts, norm, *chosen)
    x = embedding + position
    for number, block in enumerate(parts, 1):
        for layer, after in (("attention", "attention"), ("feed_forward", "block")):
            x = x + block[layer]
            name = f"x after {after} {number}"
            np.testing.assert_allclose(diagram[name].values[0], x[:8])
            (layer_in,), (added_to,) = sources_of(diagram, name)
            assert (layer_in, added_to[0]) == (f"{layer} {number}", "x")
        drawn = {part: diagram[f"{part} {number}"].values[0] for part in layers}
        assert all((drawn[part] == block[part][:8]).all() for part in layers)
        assert set(diagram[f"block {number}"].blocks) >= {f"{part} {number}" for part in layers}
    assert diagram["probabilities"].values.tolist() == [[0.6], [0.1]]
    assert "word (1,) -> id 17 -> embedding -> x (11,)" in str(diagram)
    end = "norm -> output -> logits of some words -> softmax -> probabilities of some words"
    assert f"x after block 2 -> {end}" in str(diagram)
