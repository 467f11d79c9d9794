"""Encoder and decoder: everything through one state, or a look back at every state.

Used by ``00_why_attention``.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram

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
    T, limit = len(states), float(np.abs(states).max())
    reads, kept, steps, writes = (
        [f"{name} {i + 1}" for i in range(T)] for name in ("read", "state", "decoder", "write")
    )
    blocks = [_state("last", ((T - 1) // 2, 2), to_array(last), limit)]
    for i in range(T):
        blocks += [
            _letter(reads[i], (i, 0), read[i]),
            _state(kept[i], (i, 1), states[i], limit),
            _state(steps[i], (i, 3), to_array(decoded)[i], limit),
            _letter(writes[i], (i, 4), written[i]),
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
    states, weights = to_array(states), to_array(weights)
    limit = float(np.abs(states).max())
    T, d = states.shape

    def few(name: str, at: tuple[int, int], values: Any, **more: Any) -> Block:
        shape = f"(first {FEW_NUMBERS} of {d})" if d > FEW_NUMBERS else f"({d} numbers)"
        more |= {"shape": shape, "limit": limit, "numbers": True}
        return Block(name=name, at=at, values=to_array(values)[..., :FEW_NUMBERS], **more)

    column = {"shape": f"({T},)", "numbers": True}
    blocks = [
        few("query", (0, 0), query, kind="query"),
        few("states", (0, 1), states, kind="key", rows=read),
        Block(name="scores", at=(1, 1), values=to_array(scores)[:, None], **column),
        Block(name="weights", at=(2, 1), values=weights[:, None], kind="weights", **column),
        few("weight · state", (3, 1), weights[:, None] * states, kind="value"),
        few("context", (3, 2), context),
    ]
    arrows = [
        Arrow(("states", "query"), "scores", "compare"),
        Arrow("scores", "weights", "softmax"),
        Arrow("weights", "weight · state", "· state"),
        Arrow("weight · state", "context", "sum of the rows"),
    ]
    return Diagram("One look back", blocks, arrows)


def _letter(name: str, at: tuple[int, int], letter: str) -> Block:
    return Block(name=name, at=at, values=[letter], kind="tokens", caption="")


def _state(name: str, at: tuple[int, int], state: np.ndarray, limit: float) -> Block:
    """Draw the first few numbers of a state."""
    size = len(state)
    shown = f"first {MOST_NUMBERS} of {size}" if size > MOST_NUMBERS else f"{size} numbers"
    return Block(
        name=name, at=at, values=state[None, :MOST_NUMBERS], shape=f"({shown})", limit=limit
    )
