"""From words to the next word: a lane for each word.

Used by ``09_transformer_block``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import check_labels, to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram

MOST_NUMBERS = 8  # of each vector, that are drawn
CAPTIONS = {
    "attended": "attention",
    "x + attended": "sum",
    "worked": "feed-forward",
    "+ worked": "sum",
}


def language_model_diagram(
    words: Sequence[str],
    x: Any,
    weights: Any,
    attended: Any,
    worked: Any,
    residuals: bool = False,
) -> Diagram:
    """Draw a block: attention crosses the lanes of the words, the feed-forward network does not.

    Args:
        words: the T words that are read, a lane for each.
        x: embedding and position, (T, d).
        weights: how much each word attends to each, (T, T).
        attended: what attention puts out, (T, d).
        worked: what the feed-forward network puts out, (T, d).
        residuals: whether a way leads round each of the two, and is added after it.

    Raises:
        TypeError, ValueError: something does not fit.

    >>> import numpy as np
    >>> x = np.ones((2, 3))
    >>> diagram = language_model_diagram(["a", "b"], x, np.eye(2), x, x)
    >>> [arrow.source for arrow in diagram.arrows if arrow.target == "attended 2"]
    ['x 2']
    """
    x, weights, attended, worked = map(to_array, (x, weights, attended, worked))
    if x.ndim != 2:
        raise ValueError(f"x must have shape (T, d), got {x.shape}")
    T = len(x)
    check_labels(T, words=words)
    for name, values, shape in (
        ("weights", weights, (T, T)),
        ("attended", attended, x.shape),
        ("worked", worked, x.shape),
    ):
        if values.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, got {values.shape}")
    stages = {"x": x, "attended": attended}
    if residuals:
        stages["x + attended"] = x + attended
    stages["worked"] = worked
    if residuals:
        stages["+ worked"] = x + attended + worked
    return Diagram(
        "With a way round" if residuals else "A lane for each word",
        [block for lane in range(T) for block in _blocks(words, stages, lane)],
        [arrow for lane in range(T) for arrow in _arrows(weights, lane, residuals)],
    )


def _blocks(words: Sequence[str], stages: dict[str, np.ndarray], lane: int) -> list[Block]:
    limit = max(float(np.abs(values).max()) for values in stages.values())
    word = Block(
        name=f"word {lane + 1}", at=(0, lane), values=[words[lane]], kind="tokens", caption=""
    )
    return [word] + [
        Block(
            name=f"{stage} {lane + 1}",
            at=(column, lane),
            values=values[lane, None, :MOST_NUMBERS],
            caption="" if lane else CAPTIONS.get(stage, stage),
            shape="" if lane else f"({values.shape[1]},)",
            limit=limit,
        )
        for column, (stage, values) in enumerate(stages.items(), start=1)
    ]


def _arrows(weights: np.ndarray, lane: int, residuals: bool) -> list[Arrow]:
    i = lane + 1
    arrows = [Arrow(f"word {i}", f"x {i}")]
    arrows += [
        Arrow(f"x {j + 1}", f"attended {i}", weight=float(weights[lane, j]), via="right")
        for j in range(len(weights))
        if weights[lane, j] > 0
    ]
    if not residuals:
        return [*arrows, Arrow(f"attended {i}", f"worked {i}")]
    return [
        *arrows,
        Arrow(f"attended {i}", f"x + attended {i}"),
        Arrow(f"x {i}", f"x + attended {i}", via="below"),
        Arrow(f"x + attended {i}", f"worked {i}"),
        Arrow(f"worked {i}", f"+ worked {i}"),
        Arrow(f"x + attended {i}", f"+ worked {i}", via="below"),
    ]
