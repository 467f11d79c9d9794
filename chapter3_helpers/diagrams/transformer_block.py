"""From words to the next word, step by step.

Used by ``09_transformer_block``.
"""

from collections.abc import Sequence
from typing import Any

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram

MOST_NUMBERS = 12  # of the hidden ones, that are drawn


def language_model_diagram(
    words: Sequence[str],
    x: Any,
    mixed: Any,
    hidden: Any,
    worked: Any,
    logits: Any,
) -> Diagram:
    """Draw a model of one attention layer and one feed-forward network.

    Args:
        words: the T words that are read.
        x: embedding and position, (T, d).
        mixed: what attention makes of it, (T, d).
        hidden: inside the feed-forward network, after its ReLU, (T, hidden).
        worked: what comes out of that network, (T, d).
        logits: (T, vocabulary).

    Raises:
        TypeError, ValueError: something does not fit.

    >>> import numpy as np
    >>> x = np.ones((2, 3))
    >>> diagram = language_model_diagram(["a", "b"], x, x, x, x, np.eye(2))
    >>> [arrow.text for arrow in diagram.arrows]
    ['attention', 'up, ReLU', 'down', 'output']
    """
    hidden = to_array(hidden)
    blocks = [
        Block(name="x", values=x, rows=words),
        Block(name="mixed", at=(1, 0), values=mixed),
        Block(name="hidden", at=(2, 0), values=hidden[:, :MOST_NUMBERS], shape=str(hidden.shape)),
        Block(name="worked", at=(2, 1), values=worked),
        Block(name="logits", at=(1, 1), values=logits),
    ]
    arrows = [
        Arrow("x", "mixed", "attention"),
        Arrow("mixed", "hidden", "up, ReLU"),
        Arrow("hidden", "worked", "down"),
        Arrow("worked", "logits", "output"),
    ]
    return Diagram("From words to the next word", blocks, arrows)
