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


def encoder_decoder_diagram(
    states: Any,
    read: Sequence[str],
    written: Sequence[str],
    last: Any = None,
    weights: Any = None,
    decoded: Any = None,
) -> Diagram:
    """Draw how a translator reads letter by letter, and what its decoder receives.

    Args:
        states: of the encoder, (T, d), one after each letter.
        read: the T letters.
        written: what the decoder writes.
        last: (d,), where both directions of the encoder end: all that the decoder receives, at
            every step, or
        weights: how much each letter written attends to each state, (len(written), T).
        decoded: the states of the decoder, (len(written), d), one for each letter that it writes.

    >>> import numpy as np
    >>> states = np.ones((2, 3))
    >>> diagram = encoder_decoder_diagram(states, "ab", "BA", last=states[0], decoded=states)
    >>> [arrow.target for arrow in diagram.arrows if arrow.source == "last"]
    ['decoder 1', 'decoder 2']
    """
    states = to_array(states)
    T = len(states)
    limit = float(np.abs(states).max())
    blocks, arrows = [], []
    for i, (letter, state) in enumerate(zip(read, states, strict=True)):
        blocks += [
            _letter(f"read {i + 1}", (i, 0), letter),
            _state(f"state {i + 1}", (i, 1), state, limit),
        ]
        arrows.append(Arrow(f"read {i + 1}", f"state {i + 1}"))
    arrows += [Arrow(f"state {i}", f"state {i + 1}") for i in range(1, T)]
    row = 2
    if last is not None:
        blocks.append(_state("last", ((T - 1) // 2, row), to_array(last), limit))
        ends = ("state 1", f"state {T}") if T > 1 else "state 1"
        arrows.append(Arrow(ends, "last", "half of each" if T > 1 else "", via="below"))
        row = 3
    steps = names = [f"write {i + 1}" for i in range(len(written))]
    letters_row = row
    if decoded is not None:
        decoded = to_array(decoded)
        steps = [f"decoder {i + 1}" for i in range(len(written))]
        blocks += [_state(step, (i, row), decoded[i], limit) for i, step in enumerate(steps)]
        letters_row = row + 1
    blocks += [
        _letter(name, (i, letters_row), letter)
        for i, (name, letter) in enumerate(zip(names, written, strict=True))
    ]
    if last is not None:
        arrows += [Arrow("last", step, via="below") for step in steps]
    else:
        weights = to_array(weights)
        arrows += [
            Arrow(f"state {j + 1}", step, weight=float(weights[i, j]))
            for i, step in enumerate(steps)
            for j in range(T)
        ]
    if decoded is not None:
        arrows += [Arrow(*pair) for pair in (*pairwise(steps), *zip(steps, names, strict=True))]
    title = "A look back at every state" if last is None else "Everything through the last state"
    return Diagram(title, blocks, arrows)


def _letter(name: str, at: tuple[int, int], letter: str) -> Block:
    return Block(name=name, at=at, values=[letter], kind="tokens", caption="")


def _state(name: str, at: tuple[int, int], state: np.ndarray, limit: float) -> Block:
    """Draw the first few numbers of a state."""
    size = len(state)
    shown = f"first {MOST_NUMBERS} of {size}" if size > MOST_NUMBERS else f"{size} numbers"
    return Block(
        name=name, at=at, values=state[None, :MOST_NUMBERS], shape=f"({shown})", limit=limit
    )
