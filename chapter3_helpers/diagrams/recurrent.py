"""Encoder and decoder: everything through one state, or a look back at every state.

Used by ``00_why_attention``.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram, one_word

MOST_NUMBERS = 8  # of each state, that are drawn
FEW_NUMBERS = 3  # where they stand in the cells


def encoder_decoder_diagram(
    states: Any, read: Sequence[str], written: Sequence[str], last: Any, decoded: Any
) -> Diagram:
    """Draw how a translator reads letter by letter, and what its decoder receives.

    Args:
        states: of the encoder, (T, d), one after each letter.
        read: the T letters.
        written: what the decoder writes, T letters.
        last: (d,), where both directions of the encoder end: all that the decoder receives, at
            every step.
        decoded: the states of the decoder, (T, d), one for each letter that it writes.

    >>> import numpy as np
    >>> states = np.ones((2, 3))
    >>> diagram = encoder_decoder_diagram(states, "ab", "BA", last=states[0], decoded=states)
    >>> [arrow.target for arrow in diagram.arrows if arrow.source == "last"]
    ['decoder 1', 'decoder 2']
    """
    states = to_array(states)
    T, limit = len(states), np.abs(states).max()
    reads, kept, steps, writes = (
        [f"{name} {i + 1}" for i in range(T)] for name in ("read", "state", "decoder", "write")
    )
    blocks = [_first("last", ((T - 1) // 2, 2), last, limit)]
    for i in range(T):
        blocks += [
            one_word(reads[i], (i, 0), read[i]),
            _first(kept[i], (i, 1), states[i], limit),
            _first(steps[i], (i, 3), decoded[i], limit),
            one_word(writes[i], (i, 4), written[i]),
        ]
    ends = Arrow((kept[0], kept[-1]), "last", "half of each", via="below")
    arrows = [
        *(Arrow(*pair) for pair in zip(reads, kept, strict=True)),
        *(Arrow(*pair) for pair in pairwise(kept)),
        ends if T > 1 else Arrow(kept[0], "last", via="below"),
        *(Arrow("last", step, via="below") for step in steps),
        *(Arrow(*pair) for pair in (*pairwise(steps), *zip(steps, writes, strict=True))),
    ]
    return Diagram("Everything through the last state", blocks, arrows)


def look_back_diagram(
    states: Any, query: Any, scores: Any, weights: Any, context: Any, read: Sequence[str]
) -> Diagram:
    """Draw one look back: a score and a weight for every state, and what they add up to.

    Args:
        states: of the encoder, (T, d), one row for each letter.
        query: the state of the decoder, (d,).
        scores: (T,), how well each state matches the query.
        weights: (T,), the scores after softmax.
        context: (d,), the sum of the states, each times its weight.
        read: the T letters.

    >>> import numpy as np
    >>> states, weights = np.ones((2, 3)), np.array([0.25, 0.75])
    >>> diagram = look_back_diagram(
    ...     states, states[0], np.log(weights), weights, weights @ states, "ab"
    ... )
    >>> diagram["context"].values
    array([[1., 1., 1.]])
    """
    states, scores, weights = (to_array(each) for each in (states, scores, weights))
    weights, limit = weights[:, None], np.abs(states).max()
    few = {"limit": limit, "most": FEW_NUMBERS, "numbers": True}
    column = {"shape": f"({len(states)},)", "numbers": True}
    blocks = [
        _first("query", (0, 0), query, kind="query", **few),
        _first("states", (0, 1), states, kind="key", rows=read, **few),
        Block("scores", (1, 1), scores[:, None], **column),
        Block("weights", (2, 1), weights, kind="weights", **column),
        _first("weight · state", (3, 1), weights * states, kind="value", **few),
        _first("context", (3, 2), context, **few),
    ]
    arrows = [
        Arrow(("states", "query"), "scores", "compare"),
        Arrow("scores", "weights", "softmax"),
        Arrow("weights", "weight · state", "· state"),
        Arrow("weight · state", "context", "sum of the rows"),
    ]
    return Diagram("One look back", blocks, arrows)


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
    shape = f"(first {most} of {size})" if size > most else f"({size} numbers)"
    return Block(name, at, vectors[..., :most], shape=shape, limit=limit, **look)
