"""Encoder and decoder: everything through one state, or a look back at every state.

Used by ``00_why_attention``.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import check_labels, to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram

MOST_NUMBERS = 8  # of each state, that are drawn


def encoder_decoder_diagram(
    states: Any,
    read: Sequence[str],
    written: Sequence[str],
    last: Any = None,
    weights: Any = None,
) -> Diagram:
    """Draw how a translator reads letter by letter, and what its decoder gets to see.

    Args:
        states: of the encoder, (T, d), one after each letter.
        read: the T letters.
        written: what the decoder writes.
        last: (d,), where both directions of the encoder end: all that the decoder gets, or
        weights: how much each letter written attends to each state, (len(written), T).

    Raises:
        TypeError, ValueError: something does not fit the states, or not just one of ``last`` and
            ``weights`` is given.

    >>> import numpy as np
    >>> diagram = encoder_decoder_diagram(np.ones((2, 3)), "ab", "BA", last=np.ones(3))
    >>> diagram["last"].label
    'last (3 numbers)'
    """
    states = to_array(states)
    if states.ndim != 2:
        raise ValueError(f"states must have shape (T, d), got {states.shape}")
    if (last is None) == (weights is None):
        raise ValueError("either last or weights must be given, got both or neither")
    T, d = states.shape
    check_labels(T, read=read)
    limit = float(np.abs(states).max())
    blocks, arrows = [], []
    for i, (letter, state) in enumerate(zip(read, states, strict=True)):
        blocks += [
            Block(name=f"read {i + 1}", at=(i, 0), values=[letter], kind="tokens", caption=""),
            _state(f"state {i + 1}", (i, 1), state, limit),
        ]
        arrows.append(Arrow(f"read {i + 1}", f"state {i + 1}"))
    arrows += [Arrow(f"state {i}", f"state {i + 1}") for i in range(1, T)]
    row, column = (2, 0) if last is None else (1, T + 1)
    names = [f"write {i + 1}" for i in range(len(written))]
    blocks += [
        Block(name=name, at=(column + i, row), values=[letter], kind="tokens", caption="")
        for i, (name, letter) in enumerate(zip(names, written, strict=True))
    ]
    arrows += [Arrow(*pair) for pair in pairwise(names)]
    if last is not None:
        last = to_array(last)
        if last.shape != (d,):
            raise ValueError(f"last must have shape {(d,)}, as the states, got {last.shape}")
        blocks.append(_state("last", (T, 1), last, limit))
        arrows.append(Arrow(f"state {T}", "last"))
        if T > 1:
            arrows.append(Arrow("state 1", "last", "end of the way back", via="below"))
        arrows.append(Arrow("last", names[0]))
        return Diagram("Everything through the last state", blocks, arrows)
    weights = to_array(weights)
    if weights.shape != (len(written), T):
        raise ValueError(f"weights must have shape {(len(written), T)}, got {weights.shape}")
    arrows += [
        Arrow(f"state {j + 1}", name, weight=float(weights[i, j]))
        for i, name in enumerate(names)
        for j in range(T)
    ]
    return Diagram("A look back at every state", blocks, arrows)


def _state(name: str, at: tuple[int, int], state: np.ndarray, limit: float) -> Block:
    """Draw the first few numbers of a state as a column."""
    size = len(state)
    shown = f"first {MOST_NUMBERS} of {size}" if size > MOST_NUMBERS else f"{size} numbers"
    return Block(
        name=name,
        at=at,
        values=state[:MOST_NUMBERS, None],
        shape=f"({shown})",
        limit=limit,
    )
