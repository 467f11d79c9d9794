"""Every diagram, in every size: narrow enough, and nothing in it overlaps."""

from itertools import product

import numpy as np
import pytest
import torch

from chapter3_helpers import diagrams
from chapter3_helpers.diagrams.map import LAST
from chapter3_helpers.handmade_transformer import MODEL, forward, tokenize
from tests.diagrams import attention, check_drawing, numbers, without

BOTH = (False, True)
WORD = ["starts"]


def one_head(tokens, d, mask, dropout):
    arrays = attention(tokens, d=d) if mask else without(attention(tokens, d=d), "hidden")
    more = {"dropped": arrays["weights"] * 2} if dropout else {}
    return diagrams.attention_diagram(**arrays, **more, tokens=WORD * tokens, query=tokens - 1)


def several_heads(heads, tokens, d, head=None):
    arrays = without(attention(tokens, d=d, heads=heads), "scores", "scaled")
    output = numbers(tokens, heads * d)
    return diagrams.attention_diagram(**arrays, output=output, query=0, head=head)


def encoder_decoder(length):
    states, words = torch.tensor(numbers(length, 11)), ("bird"[:length], "DRIB"[:length])
    return diagrams.encoder_decoder_diagram(states, *words, last=states[0], decoded=states)


def heads(count, tokens):
    weights = np.random.default_rng(count).dirichlet(np.ones(tokens) * 5, count)
    answers = {f"who {n}": (numbers(16), "Ann") for n in range(count)}
    return diagrams.heads_diagram(weights, numbers(count, 7), WORD * tokens, answers=answers)


def induction(letters, d):
    first, second = abs(numbers(2, len(letters)))
    likeliest = (["o", "i"], [0.9, 0.1])
    return diagrams.induction_diagram(letters, 1, first, *numbers(2, d), second, *likeliest)


def lane(d, blocks):
    names = ("norm1", "attention", "norm2", "feed_forward")
    parts = [dict(zip(names, numbers(4, d), strict=True))] * blocks
    words = (["bread", "so"], [0.5, -1.0], [0.6, 0.1])
    return diagrams.lane_diagram("oven", 17, *numbers(2, d), parts, numbers(d), *words)


def look_back(tokens, d):
    states, scores = map(torch.tensor, (numbers(tokens, d), numbers(tokens)))
    arrays = (states[0], scores, abs(scores), states[0])
    return diagrams.look_back_diagram(states, *arrays, "unpredict"[:tokens])


def one_query(tokens, d, mixed):
    x, scores, weights = abs(numbers(tokens, d)), abs(numbers(tokens)), abs(numbers(tokens))
    mixture = (weights, weights @ x) if mixed else ()
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
    found, weight = numbers(count, d), numbers(d_out, count * d)
    return diagrams.out_proj_diagram(found, weight, weight @ found.ravel())


def shadows(degrees):
    a = np.array([[np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))]] * 5)
    return diagrams.shadow_diagram(a, [1, 0], a[:, 0], [f"{n}: {degrees}" for n in range(5)])


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
}
MORE = {
    "attention_map": [(notebook,) for notebook in range(LAST + 1)],
    "cache_diagram": [(numbers(7, 11), [4, 5, 7], WORD * 7), (numbers(1, 1), [1], WORD)],
    "clocks_diagram": [(numbers(8, n), places) for n, places in ((1, [0, 7]), (2, [3]), (4, [0]))],
    "cut_diagram": [({"W_query": np.ones((n, 3)), "out_proj": np.eye(3, n)},) for n in (6, 8)],
    "last_row_diagram": [(forward(tokenize(text), MODEL), text) for text in ("b", "aab", "aabaa")],
    "ring_diagram": [({"at first": np.ones((n, n)), "all": np.ones((n, n))},) for n in (2, 6)],
    "roles_diagram": [
        *(("journey", *map(numbers, (n, d, d, d))) for n, d in ((1, 1), (3, 2), (5, 7))),
        ("journey", *np.zeros((4, 2))),
    ],
    "rotary_diagram": [(*numbers(2, n, 2), numbers(n), ["2 and 0", "5 and 3"][:n]) for n in (1, 2)],
    "rows_diagram": [
        ({f"head {n}": [0.5, 0, 0.5] for n in range(count)}, WORD * 3, ["who?"] * count, "rows")
        for count in (1, 3)
    ],
    "sharing_diagram": [
        (numbers(H, 7, 11), numbers(K, 7, 11)) for H, K in ((1, 1), (4, 2), (8, 1), (8, 4), (6, 3))
    ],
}


def test_the_last_letters_way_is_written_in_numbers():
    diagram = diagrams.last_row_diagram(forward(tokenize("aab"), MODEL), "aab")
    assert all(block.numbers for block in diagram.blocks)
    added = [diagram[name].limit for name in ("update", "embedding", "logits")]
    assert added == [1024] * 3  # 1 is pale beside 1024


@pytest.mark.parametrize(
    ("build", "size"),
    [
        *((build, size) for build, sizes in SIZES.items() for size in sizes),
        *((getattr(diagrams, name), given) for name, calls in MORE.items() for given in calls),
    ],
)
def test_it_is_narrow_enough_and_nothing_overlaps(build, size):
    check_drawing(build(*size))
