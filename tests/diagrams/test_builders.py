"""Every diagram, in every size: narrow enough, nothing overlaps, and what it shows adds up.

What a diagram says in words its notebook prints, and that is compared there.
"""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from chapter3_helpers import _language, diagrams
from chapter3_helpers._figures import labels
from chapter3_helpers.diagrams.core.drawing import draw
from chapter3_helpers.diagrams.core.scene import Line
from chapter3_helpers.diagrams.map import LAST
from chapter3_helpers.handmade_transformer import MODEL, forward, tokenize
from tests.diagrams import attention, check_drawing, numbers, parts_of, without
from tools.translations.catalogues import speaker

BOTH = (False, True)
WORD = ["starts"]
LAYERS = ("norm1", "attention", "norm2", "feed_forward")


def one_head(tokens, d, mask, dropout):
    arrays = attention(tokens, d=d) if mask else without(attention(tokens, d=d), "hidden")
    more = {"dropped": arrays["weights"] * 2} if dropout else {}
    return diagrams.attention_diagram(**arrays, **more, tokens=WORD * tokens, query=tokens - 1)


def several_heads(heads, tokens, d, head=None):
    arrays = without(attention(tokens, d=d, heads=heads), "scores", "scaled")
    output = numbers(tokens, heads * d)
    return diagrams.attention_diagram(**arrays, output=output, query=0, head=head)


def encoder_decoder(length, d=11):
    states, words = torch.tensor(numbers(length, d)), ("bird"[:length], "DRIB"[:length])
    last = torch.cat([states[-1, : d // 2], states[0, d // 2 :]])
    return diagrams.encoder_decoder_diagram(states, *words, last=last, decoded=states)


def heads(count, tokens):
    weights = np.random.default_rng(count).dirichlet(np.ones(tokens) * 5, count)
    answers = {f"who {n}": (numbers(16), "Ann") for n in range(count)}
    return diagrams.heads_diagram(weights, numbers(count, 7), WORD * tokens, answers=answers)


def induction(letters, d, place=1):
    first, second = abs(numbers(2, len(letters)))
    likeliest = (["o", "i"], [0.9, 0.1])
    return diagrams.induction_diagram(letters, place, first, *numbers(2, d), second, *likeliest)


def lane(d, blocks):
    parts = [dict(zip(LAYERS, numbers(4, d) * n, strict=True)) for n in range(1, blocks + 1)]
    words = (["bread", "so"], [0.5, -1.0], [0.6, 0.1])
    return diagrams.lane_diagram("oven", 17, *numbers(2, d), parts, numbers(d), *words)


def look_back(tokens, d):
    states, scores = numbers(tokens, d), numbers(tokens)
    weights = abs(scores)
    arrays = map(torch.tensor, (states, states[0], scores, weights, weights @ states))
    return diagrams.look_back_diagram(*arrays, "unpredict"[:tokens])


def one_query(tokens, d, mixed):
    x, scores = abs(numbers(tokens, d)), abs(numbers(tokens))
    mixture = (scores, scores @ x) if mixed else ()
    return diagrams.one_query_diagram(x, tokens - 1, scores, *mixture, tokens=WORD * tokens)


def matrix_product(tokens, d, word="starts"):
    a, last = numbers(tokens, d), tokens - 1
    return diagrams.product_diagram(a, a, a @ a.T, query=last, key=0, tokens=[word] * tokens)


def processes(count, tokens):
    contexts, partials = numbers(count, tokens, 2), numbers(count, tokens, 4)
    words = [f"head {process}" for process in range(count)]
    x, output = numbers(tokens, 3), partials.sum(0)
    return diagrams.processes_diagram(x, contexts, partials, output, words)


def split(tokens, d):
    owners = np.repeat(np.arange(tokens), 2 * d).reshape(tokens, 2 * d)
    viewed, wrong = owners.reshape(tokens, 2, d), owners.reshape(2, tokens, d)
    return diagrams.split_diagram(owners, viewed, viewed.swapaxes(0, 1), wrong, WORD * tokens)


def tiles(size, count):
    parts, state = [numbers(size)] * count, (1.5, abs(numbers(size)), 0.25, 1.62, 78.4)
    return diagrams.tiles_diagram(parts, parts, [state] * count)


def out_proj(count, d, d_out):
    contexts, weight = numbers(count, d), numbers(d_out, count * d)
    return diagrams.out_proj_diagram(contexts, weight, weight @ contexts.ravel())


def shadows(degrees):
    a = np.array([[np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))]] * 5)
    return diagrams.shadow_diagram(a, [1, 0], a[:, 0], [f"{degrees}°"] * 5)


def turned(count, *before):
    queries, keys = numbers(2, count, 2)
    dots = (queries * keys).sum(-1)
    return diagrams.rotary_diagram(queries, keys, dots, ["2 and 0", "5 and 3"][:count], *before)


SIZES = {
    one_head: [*product((1, 2, 6, 12), (1, 2, 7), BOTH, BOTH)],
    several_heads: [
        *((n, *size) for n, size in product((1, 2, 4), ((1, 1), (6, 2), (9, 5)))),
        *((9, 5, 2, head) for head in (0, 5, 8)),
    ],
    encoder_decoder: [(1,), (2,), (3,), (4,)],
    heads: [(1, 1), (1, 4), (2, 2), (2, 4), (2, 5), (3, 3)],
    induction: [("holidayholi", 32), ("aba", 3), ("abcdefghijkabcdefghijkab", 32)],
    lane: [(1, 1), (8, 2), (64, 2), (5, 4)],
    look_back: [(1, 2), (3, 64), (9, 11)],
    one_query: [(*size, more) for size, more in product(((1, 1), (3, 2), (6, 3), (9, 3)), BOTH)],
    matrix_product: [(1, 1), (6, 3), (8, 4), (12, 3, "a")],
    processes: [*product((1, 2, 3), (1, 6))],
    split: [(1, 1), (3, 2), (6, 1), (9, 2)],
    tiles: [(3, 2), (1, 2), (1, 1)],
    out_proj: [(2, 16, 32), (1, 4, 4), (3, 2, 6), (2, 1, 2)],
    shadows: [(0,), (60,), (90,), (180,), (270,)],
    turned: [(1,), (2,), (2, numbers(2, 2))],
    diagrams.attention_map: [(notebook,) for notebook in range(LAST + 1)],
    diagrams.cache_diagram: [(numbers(7, 11), [4, 5, 7], WORD * 7), (numbers(1, 1), [1], WORD)],
    diagrams.clocks_diagram: [
        (numbers(8, n), places) for n, places in ((1, [0, 7]), (2, [3]), (4, [0]))
    ],
    diagrams.cut_diagram: [
        ({"W_query": np.ones((n, 3)), "out_proj": np.eye(3, n)},) for n in (6, 8)
    ],
    diagrams.last_row_diagram: [
        (forward(tokenize(text), MODEL), text) for text in ("b", "aab", "aabaa")
    ],
    diagrams.ring_diagram: [
        ({"at first": np.ones((n, n)), "all": np.ones((n, n))},) for n in (2, 6)
    ],
    diagrams.roles_diagram: [
        *(("journey", *map(numbers, (n, d, d, d))) for n, d in ((1, 1), (3, 2), (5, 7))),
        ("journey", *np.zeros((4, 2))),
    ],
    diagrams.rows_diagram: [
        ({f"row {n}": [0.5, 0, 0.5] for n in range(count)}, WORD * 3, ["who?"] * count, "rows")
        for count in (1, 3)
    ],
    diagrams.sharing_diagram: [
        (numbers(H, 7, 11), numbers(G, 7, 11)) for H, G in ((1, 1), (4, 2), (8, 1), (8, 4), (6, 3))
    ],
}


@pytest.mark.parametrize(
    ("build", "size"), [(build, size) for build, sizes in SIZES.items() for size in sizes]
)
@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_it_is_narrow_enough_and_nothing_overlaps(build, size, language, monkeypatch):
    say = SimpleNamespace(gettext=speaker(language, "program"))
    monkeypatch.setattr(_language, "_CATALOGUE", say)
    monkeypatch.setattr(labels, "font_families", str)  # whatever fonts a machine has
    check_drawing(build(*size))


@pytest.mark.parametrize("build", SIZES)
def test_its_words_are_english_where_no_font_has_others(build, monkeypatch):
    say = SimpleNamespace(gettext=lambda text: f"中{text}")
    monkeypatch.setattr(_language, "_CATALOGUE", say)
    monkeypatch.setattr(labels, "font_families", lambda text: None)
    for part in parts_of(build(*SIZES[build][-1])):
        assert "中" not in getattr(part, "text", "")


def test_the_last_letters_way_is_written_in_numbers():
    diagram = diagrams.last_row_diagram(forward(tokenize("aab"), MODEL), "aab")
    assert all(block.numbers for block in diagram.blocks)
    added = [diagram[name].limit for name in ("update", "embedding", "logits")]
    assert added == [1024] * 3  # 1 is pale beside 1024


def test_rows_times_their_weights_add_up_to_a_context():
    query, back = one_query(5, 3, mixed=True), look_back(5, 3)
    assert (query["query starts"].values == abs(numbers(5, 3)[4])).all()
    for diagram, rows in ((query, "weight · token"), (back, "weight · state")):
        row = abs(diagram[rows].values[1])
        np.testing.assert_allclose(row, abs(numbers(5)[1] * numbers(5, 3)[1]))
        context = diagram["context"].values
        np.testing.assert_allclose(diagram[rows].values.sum(axis=0), context.ravel())


@pytest.mark.parametrize("angle", [60, 90, 180, 270])
def test_above_a_shadow_stands_the_dot_product(angle):
    cosine = np.cos(np.deg2rad(angle))
    assert shadows(angle).blocks[0].shape == f"a · b = {cosine:z.2f}"  # never -0.00


def test_the_decoder_receives_the_ends_of_both_directions():
    diagram = encoder_decoder(3, d=8)
    ends = [diagram[end].values for end in ("forwards 3", "backwards 1")]
    np.testing.assert_array_equal(diagram["last"].values, np.concatenate(ends, axis=1))


def test_heads_have_an_arrow_for_every_weight_but_the_faintest_and_one_scale():
    weights = [[0.99, 0.01, 0.0], [0.25, 0.5, 0.25]]
    diagram = diagrams.heads_diagram(weights, [[1.0, 2.0], [3.0, -4.0]], "abc")
    assert {block.limit for block in diagram.blocks[3:]} == {4.0}
    assert [block.name for block in diagram.blocks[:3]] == ["token 1", "token 2", "token 3"]
    beams = [item for item in draw(diagram).items if isinstance(item, Line) and item.width != 1.5]
    assert sorted(beam.width for beam in beams) == [0.6 + 5 * w for w in (0.25, 0.25, 0.5, 0.99)]
    assert all(beam.head for beam in beams)


def test_what_the_linear_layer_makes_of_all_heads_stands_below_them():
    diagram = heads(2, 2)
    for number in range(2):
        np.testing.assert_array_equal(diagram[f"question {number}"].values[0], numbers(16))
        assert diagram[f"answer to who {number}"].values[0] == "Ann"


def test_every_head_owns_a_block_of_columns_and_their_sum_is_the_output():
    diagram = out_proj(2, 16, 8)
    parts = [
        diagram[columns].values @ diagram[head].values[0]
        for head, columns in (("head 0", "columns 0 to 15"), ("head 1", "columns 16 to 31"))
    ]
    np.testing.assert_allclose(np.sum(parts, axis=0), diagram["output"].values[:, 0])


def test_the_letter_that_the_second_layer_finds_is_marked():
    diagram, (first, second), (before, after) = (
        induction("abcab", 11, place=2),
        abs(numbers(2, 5)),
        numbers(2, 11),
    )
    assert diagram["second layer"].marked_column == 2
    assert diagram["next letter"].rows == ("o", "i")
    shown = {"first layer": first, "second layer": second}
    shown |= {"“c”, place 2": before[:6], "x + found": after[:6]}
    for name, values in shown.items():
        np.testing.assert_array_equal(diagram[name].values[0], values)


def test_what_arrows_were_before_they_turned_is_drawn_under_them():
    for ghosts in (0, 2):
        lines = parts_of(turned(1, *([numbers(2, 2)] if ghosts else [])))
        assert sum(isinstance(line, Line) and line.dashed for line in lines) == ghosts


def test_the_lane_of_one_word_adds_up():
    diagram, x = lane(11, 2), numbers(2, 11).sum(axis=0)
    for number in (1, 2):
        outputs = dict(zip(LAYERS, number * numbers(4, 11), strict=True))
        for layer, after in (("attention", "attention"), ("feed_forward", "block")):
            x = x + outputs[layer]
            np.testing.assert_allclose(diagram[f"x after {after} {number}"].values[0], x[:8])
        for layer, output in outputs.items():
            np.testing.assert_array_equal(diagram[f"{layer} {number}"].values[0], output[:8])
            assert f"{layer} {number}" in diagram[f"block {number}"].blocks
    assert diagram["probabilities"].values.tolist() == [[0.6], [0.1]]
