"""Every diagram, in every size: narrow enough, and nothing in it overlaps."""

import numpy as np
import pytest

from chapter3_helpers import diagrams
from chapter3_helpers.diagrams.map import LAST
from chapter3_helpers.handmade_transformer import forward, tokenize
from tests.diagrams import attention, check_drawing, numbers, without

BLOCK = ("norm1", "attention", "norm2", "feed_forward")


def attention_diagram(tokens, d, mask, dropout, named):
    arrays = attention(tokens, d=d) if mask else without(attention(tokens, d=d), "hidden")
    if dropout:
        arrays["dropped"] = arrays["weights"] * 2
    more = {"tokens": ["starts"] * tokens, "query": tokens - 1} if named else {}
    return diagrams.attention_diagram(**arrays, **more)


def attention_diagram_of_heads(heads, tokens, d, head):
    arrays = without(attention(tokens, d=d, heads=heads), "scores", "scaled")
    output = numbers(tokens, heads * d)
    return diagrams.attention_diagram(**arrays, output=output, query=0, head=head)


def cache_diagram(tokens, d, lengths):
    return diagrams.cache_diagram(numbers(tokens, d), lengths, ["word"] * tokens)


def clocks_diagram(pairs, positions):
    return diagrams.clocks_diagram(np.outer(np.arange(8), 0.5 ** np.arange(pairs)), positions)


def cut_diagram(devices, width):
    owners = np.arange(width) // (width // devices)
    rows, columns = np.tile(owners[:, None], 3), np.tile(owners, (width, 1))
    return diagrams.cut_diagram({"W_query": rows, "W_key": rows, "W_value": rows, "W_o": columns})


def encoder_decoder_diagram(length, through_last, decoded):
    states = numbers(length, 11)
    what = {"last": states[0]} if through_last else {"weights": abs(numbers(length, length)) % 1}
    what |= {"decoded": states} if decoded else {}
    return diagrams.encoder_decoder_diagram(states, "bird"[:length], "DRIB"[:length], **what)


def heads_diagram(heads, tokens):
    weights = np.random.default_rng(heads).dirichlet(np.ones(tokens) * 5, heads)
    return diagrams.heads_diagram(weights, numbers(heads, 7), ["twice"] * tokens)


def lane_diagram(d, blocks):
    parts = [dict(zip(BLOCK, numbers(4, d), strict=True))] * blocks
    pair = [0.5, 0.25]
    return diagrams.lane_diagram(
        *("oven", 17, *numbers(2, d)), parts, numbers(d), ["bread", "so"], pair, pair
    )


def language_model_diagram(tokens, d, residuals):
    x, attended, worked = numbers(3, tokens, d)
    weights = np.tril(np.full((tokens, tokens), 0.2))
    words = ["word"] * tokens
    return diagrams.language_model_diagram(words, x, weights, attended, worked, residuals)


def last_row_diagram(text):
    return diagrams.last_row_diagram(forward(tokenize(text)), text)


def one_query_diagram(tokens, d, mixed):
    x, scores, weights = abs(numbers(tokens, d)), abs(numbers(tokens)), abs(numbers(tokens))
    mixture = (weights, weights @ x) if mixed else ()
    return diagrams.one_query_diagram(x, tokens - 1, scores, *mixture, tokens=["starts"] * tokens)


def out_proj_diagram(heads, d, d_out):
    found, weight = numbers(heads, d), numbers(d_out, heads * d)
    return diagrams.out_proj_diagram(found, weight, weight @ found.ravel())


def processes_diagram(devices, tokens):
    contexts, partials = numbers(devices, tokens, 2), numbers(devices, tokens, 4)
    heads = [f"head {device}" for device in range(devices)]
    return diagrams.processes_diagram(
        numbers(tokens, 3), contexts, partials, partials.sum(0), heads
    )


def product_diagram(queries, keys, d):
    a, b = numbers(queries, d), numbers(keys, d)
    words = ("journey", "starts") if keys < 12 else "ab"
    names = {"tokens": [words[0]] * queries, "key_tokens": [words[1]] * keys}
    return diagrams.product_diagram(a, b, a @ b.T, query=queries - 1, key=keys - 1, **names)


def questions_diagram(sentences, questions):
    answers = dict(zip(("who", "whom"), range(0, 2 * questions, 2), strict=False))
    return diagrams.questions_diagram([["Ann", "thanked", "Bob", "."]] * sentences, answers)


def ring_diagram(devices):
    start = np.ones((devices, devices))
    return diagrams.ring_diagram({"at first": start, "added": 2 * start, "all": devices * start})


def roles_diagram(d_in, d_out, d_value):
    widths = (d_in, d_out, d_out, d_value)
    return diagrams.roles_diagram("journey", *map(numbers, widths))


def rotary_diagram(panels):
    titles = [f"{panel} and 0" for panel in range(panels)]
    return diagrams.rotary_diagram(*numbers(2, panels, 2), numbers(panels), titles)


def shadow_diagram(degrees):
    turn = np.deg2rad(degrees)
    a = np.array([[np.cos(turn), np.sin(turn)]] * 5)
    return diagrams.shadow_diagram(a, [1, 0], a[:, 0], [f"{n}: {degrees}" for n in range(5)])


def sharing_diagram(heads, kv_heads):
    return diagrams.sharing_diagram(numbers(heads, 7, 11), numbers(kv_heads, 7, 11))


def split_diagram(tokens, d):
    owners = np.repeat(np.arange(tokens), 2 * d).reshape(tokens, 2 * d)
    viewed = owners.reshape(tokens, 2, d)
    heads, wrong = viewed.swapaxes(0, 1), owners.reshape(2, tokens, d)
    return diagrams.split_diagram(owners, viewed, heads, wrong, ["journey"] * tokens)


def tiles_diagram(rows, size, d, tiles):
    queries, largest, parts = numbers(rows, d), numbers(rows, 1), [numbers(size, d)] * tiles
    scores = np.where(np.arange(size) > 0, -np.inf, numbers(rows, size))
    states = [(scores, largest, largest, queries)] * tiles
    return diagrams.tiles_diagram(queries, parts, parts, states)


def traffic_diagram(tokens, d, moved):
    x, square = numbers(tokens, d), numbers(tokens, tokens)
    traffic = dict.fromkeys(("compare", "softmax", "mix"), moved)
    return diagrams.traffic_diagram(traffic, x, x, x, square, abs(square), x)


def turned_diagram(positions):
    angles = np.arange(positions)
    pairs = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return diagrams.turned_diagram(pairs, [f"pos {n}" for n in angles])


BOTH = (False, True)
SIZES = {
    attention_diagram: [
        (tokens, d, mask, dropout, (tokens + d) % 2 == 0)
        for tokens in (1, 2, 6, 12)
        for d in (1, 2, 7)
        for mask in BOTH
        for dropout in BOTH
    ],
    attention_diagram_of_heads: [
        *((heads, *size, None) for heads in (1, 2, 4) for size in ((1, 1), (6, 2), (9, 5))),
        *((9, 5, 2, head) for head in (0, 5, 8)),
    ],
    diagrams.attention_map: [(notebook,) for notebook in range(LAST + 1)],
    cache_diagram: [(7, 11, [4, 5, 7]), (1, 1, [1])],
    clocks_diagram: [(1, [0, 7]), (2, [3]), (4, [0, 7])],
    cut_diagram: [(2, 8), (3, 6)],
    encoder_decoder_diagram: [
        (n, last, more) for n in (1, 2, 3, 4) for last in BOTH for more in BOTH
    ],
    heads_diagram: [(1, 1), (1, 4), (2, 2), (2, 4), (2, 5), (3, 3)],
    lane_diagram: [(1, 1), (8, 2), (64, 2), (5, 4)],
    language_model_diagram: [
        (*size, residuals) for size in ((1, 2), (2, 8), (6, 8), (4, 11)) for residuals in BOTH
    ],
    last_row_diagram: [("b",), ("aab",), ("aabaa",)],
    one_query_diagram: [(*n, mixed) for n in ((1, 1), (3, 2), (6, 3), (9, 3)) for mixed in BOTH],
    out_proj_diagram: [(2, 16, 32), (1, 4, 4), (3, 2, 6), (2, 1, 2)],
    processes_diagram: [(n, tokens) for n in (1, 2, 3) for tokens in (1, 6)],
    product_diagram: [(1, 1, 1), (2, 6, 3), (6, 2, 3), (8, 8, 4), (12, 12, 3)],
    questions_diagram: [(1, 1), (2, 2)],
    ring_diagram: [(2,), (4,), (6,)],
    roles_diagram: [(1, 1, 1), (3, 2, 2), (5, 3, 7)],
    rotary_diagram: [(1,), (2,)],
    shadow_diagram: [(0,), (60,), (90,), (180,), (270,)],
    sharing_diagram: [(1, 1), (4, 2), (8, 1), (8, 4), (6, 3)],
    split_diagram: [(1, 1), (3, 2), (6, 1), (9, 2)],
    tiles_diagram: [(2, 2, 2, 3), (3, 4, 2, 2), (1, 1, 3, 1)],
    traffic_diagram: [(6, 2, 10**6), (9, 5, 3 * 10**10)],
    turned_diagram: [(4,)],
}


@pytest.mark.parametrize(
    ("build", "size"),
    [
        pytest.param(build, size, id=f"{build.__name__}{size}")
        for build, sizes in SIZES.items()
        for size in sizes
    ],
)
def test_it_is_narrow_enough_and_nothing_overlaps(build, size):
    check_drawing(build(*size))


def test_every_builder_is_in_the_table():
    built = {name.removesuffix("_of_heads") for name in (build.__name__ for build in SIZES)}
    assert built == {name for name in diagrams.__all__ if name[0].islower()}
