"""What each diagram shows of the arrays that it was given: its numbers, its arrows, its words."""

from itertools import pairwise

import numpy as np
import pytest

from chapter3_helpers import diagrams
from chapter3_helpers.handmade_transformer import forward, tokenize
from chapter3_helpers.performance import Sizes, count_bytes
from tests.diagrams import check_drawing, numbers


def at(*angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def sources_of(diagram, target):
    return [arrow.sources for arrow in diagram.arrows if arrow.target == target]


@pytest.mark.parametrize("length", [1, 4])
def test_the_last_state_goes_to_every_step_of_the_decoder(length):
    words, states = ("bird"[:length], "DRIB"[:length]), numbers(length, 11)
    diagram = diagrams.encoder_decoder_diagram(states, *words, last=states[0], decoded=states)
    steps = [f"decoder {i + 1}" for i in range(length)]
    assert [arrow.target for arrow in diagram.arrows if arrow.source == "last"] == steps
    chained = {(arrow.source, arrow.target) for arrow in diagram.arrows if arrow.source in steps}
    letters = {(step, f"write {i}") for i, step in enumerate(steps, 1)}
    assert chained == {*pairwise(steps), *letters}
    assert diagram["last"].at == ((length - 1) // 2, 2), "in the middle, between the two"
    ends = ("state 1", f"state {length}") if length > 1 else ("state 1",)
    assert sources_of(diagram, "last") == [ends]


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
    assert f"length {round(np.cos(turn), 4) + 0:.4f}" in str(diagram)
    assert diagram.blocks[0].shape == f"a · b = {round(np.cos(turn), 2) + 0:.2f}"  # never -0.00


@pytest.mark.parametrize(("length", "numbered"), [(8, True), (9, False)])
def test_a_product_picks_out_a_row_and_a_column_and_a_large_one_has_no_numbers(length, numbered):
    a, b, last = numbers(2, 3), numbers(length, 3), length - 1
    names = {"tokens": ["a", "b"], "key_tokens": [str(key) for key in range(length)]}
    diagram = diagrams.product_diagram(a, b, a @ b.T, query=1, key=last, **names)
    assert (diagram["keys.T"].values == b.T).all()
    picked = {block.name: (block.picked, block.picked_column) for block in diagram.blocks}
    assert picked == {"queries": (1, None), "keys.T": (None, last), "scores": (1, last)}
    assert {block.numbers for block in diagram.blocks} == {numbered}


def test_every_role_has_its_own_numbers_and_all_have_one_scale():
    x, query, key, value = map(numbers, (5, 3, 3, 7))
    diagram = diagrams.roles_diagram("journey", x, query, key, value)
    named = {block.kind: block.values[0] for block in diagram.blocks}
    for kind, vector in {"signed": x, "query": query, "key": key, "value": value}.items():
        np.testing.assert_array_equal(named[kind], vector)
    largest = max(abs(v).max() for v in (query, key, value))
    assert [block.limit for block in diagram.blocks[1:]] == [largest] * 3
    check_drawing(diagrams.roles_diagram("journey", np.zeros(3), *np.zeros((3, 2))))


@pytest.mark.parametrize("answers", [{"who": 0, "whom": 2}, {"whom": 0, "who": 2}, {"what": 1}])
def test_every_question_points_at_the_word_that_answers_it(answers):
    sentences = [("Ann", "thanked", "Bob", "."), ("Bob", "thanked", "Ann", ".")]
    said = str(diagrams.questions_diagram(sentences, answers))
    for number, words in enumerate(sentences, 1):
        for question, place in answers.items():
            assert f"word {place + 1} of {number} (1,) -> {question} {number} (1,)" in said
            assert f"{question} {number}: {question}? {words[place]}" in said


def test_heads_say_every_weight_and_stand_side_by_side_on_one_scale():
    weights = [[0.99, 0.01, 0.0], [0.25, 0.5, 0.25]]
    diagram = diagrams.heads_diagram(weights, [[1.0, 2.0], [3.0, -4.0]], "abc")
    for head, row in enumerate(weights):
        for place, weight in enumerate(row, 1):
            line = f"token {place} (1,) -> {weight:.4f} -> head {head} (2 numbers)"
            assert (line in str(diagram)) == (weight > 0.02), "what is hardly looked at: no arrow"
    assert "head 0 (2 numbers) and head 1 (2 numbers) -> side by side -> concat (4" in str(diagram)
    assert {block.limit for block in diagram.blocks[3:]} == {4.0}


def test_a_head_shows_what_it_was_given_and_the_heads_join_to_what_was_projected():
    owners = np.arange(5.0)[:, None].repeat(4, axis=1)
    views = owners.reshape(5, 2, 2)
    heads, wrong = views.swapaxes(0, 1), owners.reshape(2, 5, 2)
    diagram = diagrams.split_diagram(owners, views, heads, wrong, ["journey"] * 5)
    assert (diagram["view alone: head 1"].values == wrong[1]).all()
    assert (diagram["view, transpose: head 0"].values == heads[0]).all()
    assert (diagram["joined"].values == owners).all()


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


def test_hands_stand_at_their_angles_and_digits_count():
    diagram = diagrams.clocks_diagram(np.outer(np.arange(8), [1.0, 0.5]), [2, 5])
    np.testing.assert_allclose(diagram["pair 1 at 5"].vectors, at(2.5))
    assert diagram["counter at 2"].values.tolist() == [[1, 0]]
    assert diagram["counter at 5"].values.tolist() == [[0, 1]]  # the last two digits of 101
    assert [thing.caption for thing in diagram.blocks if thing.caption] == [
        *("binary counter", "pair 0", "pair 1")
    ]


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
    end = "norm -> output -> logits (2, 1) -> softmax -> probabilities (2, 1)"
    assert f"x after block 2 -> {end}" in str(diagram)


def test_the_numbers_are_those_of_the_last_row():
    run = forward(tokenize("aabaa"))
    diagram = diagrams.last_row_diagram(run, "aabaa")
    assert (diagram["weights"].values @ diagram["values"].values == diagram["v"].values).all()
    total = diagram["update"].values + diagram["embedding"].values
    assert (total == diagram["logits"].values).all()
    assert (diagram["logits"].values == run["logits"][-1]).all()


@pytest.mark.parametrize(("H", "K"), [(1, 1), (4, 2), (8, 1), (8, 4), (6, 3)])
def test_neighbours_share_a_key_head(H, K):
    diagram = diagrams.sharing_diagram(numbers(H, 5, 8), numbers(K, 5, 8))
    read = [arrow.target for arrow in diagram.arrows]
    assert read == [f"keys {k}" for k in range(K) for _ in range(H // K)]


def test_the_cache_keeps_its_rows_and_marks_the_newest():
    keys = numbers(7, 11)
    diagram = diagrams.cache_diagram(keys, [4, 5, 7], ["word"] * 7)
    for length in (4, 5, 7):
        block = diagram[f"{length} keys"]
        assert (block.values == keys[:length, : block.values.shape[1]]).all()
        assert block.picked == length - 1


@pytest.mark.parametrize("sizes", [Sizes(1, 6, 4, 2), Sizes(8, 1024, 768, 12)])
def test_it_says_the_bytes_of_every_step_and_hides_what_is_masked(sizes):
    split = count_bytes(sizes, "split")
    x, square = numbers(6, 2), np.where(np.triu(np.ones((6, 6)), 1) > 0, -np.inf, 1.0)
    diagram = diagrams.traffic_diagram(split, x, x, x, square, abs(square), x)
    assert f"scores (T, T) -> {split['softmax'] / 1e9:.2f} GB -> weights" in str(diagram)
    assert diagram["weights"].hidden.sum() == 15


@pytest.mark.parametrize("tiles", [1, 3])
def test_every_tile_updates_what_is_kept(tiles):
    queries, largest, parts = numbers(3, 2), numbers(3, 1), [numbers(4, 2)] * tiles
    scores = np.full((3, 4), -np.inf)
    scores[:, 0] = 0.5
    kept = [(scores, largest, largest, queries)] * tiles
    diagram = diagrams.tiles_diagram(queries, parts, parts, kept)
    assert diagram[f"scores {tiles - 1}"].hidden.sum() == 9
    assert diagram["start"].values.tolist() == [[-np.inf, 0]] * 3
    before = f"output {tiles - 2}" if tiles > 1 else "zeros"
    into = sources_of(diagram, f"output {tiles - 1}")
    assert into == [(before,), (f"values {tiles - 1}",)]


@pytest.mark.parametrize("n", [1, 3])
def test_every_process_goes_into_the_sum(n):
    contexts, partials = numbers(n, 5, 2), numbers(n, 5, 4)
    arrays = (numbers(5, 3), contexts, partials, partials.sum(0))
    diagram = diagrams.processes_diagram(*arrays, "abc"[:n])
    assert diagram.arrows[-1].sources == tuple(f"partial output {p}" for p in range(n))
    total = sum(diagram[f"partial output {p}"].values for p in range(n))
    np.testing.assert_allclose(diagram["output"].values, total)


def test_every_weight_says_whose_it_is_and_a_ring_has_one_scale():
    rows = np.tile([[0], [0], [1], [1]], 3)
    cut = diagrams.cut_diagram({"W_query": rows, "out_proj": rows.T})
    assert cut["W_query"].values.tolist() == rows.tolist()
    assert all(block.numbers and block.kind == "owner" for block in cut.blocks)
    start = np.ones((4, 4))
    ring = diagrams.ring_diagram({"at first": start, "added": 2 * start, "all": 4 * start})
    assert {(block.limit, block.numbers) for block in ring.blocks} == {(4, True)}
    assert ring.blocks[0].rows[-1] == "GPU 3"
