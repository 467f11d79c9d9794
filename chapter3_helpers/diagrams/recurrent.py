"""Encoder and decoder: everything through one state, or a look back at every state.

Used by ``00_why_attention``.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import size_of, to_array
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers._language import to_say
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram, one_word

MOST_NUMBERS = 8  # of each state, that are drawn
FEW_NUMBERS = 3  # where they stand in the cells
STATES = (
    to_say("read {number}"),
    to_say("forwards {number}"),
    to_say("backwards {number}"),
    to_say("decoder {number}"),
    to_say("write {number}"),
)


def encoder_decoder_diagram(
    states: Any, read: Sequence[str], written: Sequence[str], last: Any, decoded: Any
) -> Diagram:
    """Draw how a translator reads in both directions, and what its decoder receives.

    Of the encoder's ``states``, (T, d), half of the numbers read forwards, half backwards. Where
    both directions end, ``last``, (d,), is all that the decoder receives. Its states are
    ``decoded``, (T, d).
    """
    states, last = to_array(states), to_array(last)
    T, half, few = len(states), states.shape[1] // 2, MOST_NUMBERS // 2
    limit = size_of(states)
    reads, forwards, backwards, steps, writes = (
        [say_drawn(name, number=i + 1) for i in range(T)] for name in STATES
    )
    ends = np.concatenate([last[:half][:few], last[half:][:few]])
    shape = f"({half} + {len(last) - half})"
    blocks = [Block("last", (T, 3), ends, shape=shape, limit=limit)]
    for i in range(T):
        blocks += [
            _first(forwards[i], (i, 0), states[i, :half], limit, few),
            one_word(reads[i], (i, 1), read[i]),
            _first(backwards[i], (i, 2), states[i, half:], limit, few),
            _first(steps[i], (i, 4), decoded[i], limit),
            one_word(writes[i], (i, 5), written[i]),
        ]
    arrows = [
        *(Arrow(*pair) for pair in zip(reads, forwards, strict=True)),
        *(Arrow(*pair) for pair in pairwise(forwards)),
        *(Arrow(*pair) for pair in zip(reads, backwards, strict=True)),
        *(Arrow(*pair) for pair in pairwise(reversed(backwards))),
        Arrow(forwards[-1], "last"),
        Arrow(backwards[0], "last", via="below"),
        *(Arrow("last", step, via="below") for step in steps),
        *(Arrow(*pair) for pair in (*pairwise(steps), *zip(steps, writes, strict=True))),
    ]
    return Diagram(say_drawn("Everything through one state, last"), blocks, arrows)


def look_back_diagram(
    states: Any, query: Any, scores: Any, weights: Any, context: Any, read: Sequence[str]
) -> Diagram:
    """Draw one look back: the decoder's state, ``query``, (d,), gives every state of the encoder,
    (T, d), a score and a weight, and they add up to ``context``, (d,)."""
    states, scores, weights = (to_array(each) for each in (states, scores, weights))
    weights, limit = weights[:, None], size_of(states)
    few = {"limit": limit, "most": FEW_NUMBERS, "numbers": True}
    shares = say_drawn("weight · state")
    column = {"shape": f"({len(states)},)", "numbers": True}
    blocks = [
        _first("query", (0, 0), query, kind="query", **few),
        _first("states", (0, 1), states, kind="key", rows=read, **few),
        Block("scores", (1, 1), scores[:, None], **column),
        Block("weights", (2, 1), weights, kind="weights", **column),
        _first(shares, (3, 1), weights * states, kind="value", **few),
        _first("context", (3, 2), context, **few),
    ]
    arrows = [
        Arrow(("states", "query"), "scores", say_drawn("compare")),
        Arrow("scores", "weights", "softmax"),
        Arrow("weights", shares, say_drawn("· state")),
        Arrow(shares, "context", say_drawn("sum of the rows")),
    ]
    return Diagram(say_drawn("One look back"), blocks, arrows)


def _first(
    name: str,
    at: tuple[int, int],
    vectors: Any,
    limit: float,
    most: int = MOST_NUMBERS,
    **look: Any,
) -> Block:
    """Draw the first few numbers of one vector or of several."""
    vectors = to_array(vectors)
    size = vectors.shape[-1]
    if size > most:
        shape = say_drawn("(first {most} of {count})", most=most, count=size)
    else:
        shape = say_drawn("({count} numbers)", count=size)
    return Block(name, at, vectors[..., :most], shape=shape, limit=limit, **look)
