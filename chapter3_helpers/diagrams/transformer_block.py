"""One word's way through whole blocks, from its id to the next word.

Used by ``09_transformer_block``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Bracket, Diagram

MOST_NUMBERS = 8  # of each vector, that are drawn
PARTS = (("norm1", "attention"), ("norm2", "feed_forward"))  # of a block, as they are added


def lane_diagram(
    word: str,
    token_id: int,
    embedding: Any,
    position: Any,
    blocks: Sequence[Mapping[str, Any]],
    norm: Any,
    candidates: Sequence[str],
    logits: Any,
    probabilities: Any,
) -> Diagram:
    """Draw the way of one word through a model of whole blocks, from its id to the next word.

    The word's vector goes straight down at the right. At every layer norm a copy of it turns off,
    and what attention or the feed-forward network makes of that copy is added to it.

    Args:
        word: the word whose lane is drawn.
        token_id: its place in the vocabulary.
        embedding, position: the two vectors that are added before the first block, (d,) each.
        blocks: for every block its ``norm1``, ``attention``, ``norm2`` and ``feed_forward``: what
            these put out for the word, (d,) each.
        norm: the vector after the last layer norm, (d,).
        candidates: some words that could be next.
        logits, probabilities: what the model gives them, one number each.

    >>> import numpy as np
    >>> ones, parts = np.ones(4), ("norm1", "attention", "norm2", "feed_forward")
    >>> block = dict.fromkeys(parts, ones)
    >>> diagram = lane_diagram("oven", 17, ones, ones, [block], ones, ["so"], [0.0], [1.0])
    >>> diagram["x after block 1"].values.tolist()  # embedding, position, and two additions
    [[4.0, 4.0, 4.0, 4.0]]
    """
    vectors = {"embedding": embedding, "position": position, "norm": norm}
    for number, block in enumerate(blocks, 1):
        vectors |= {f"{name} {number}": block[name] for pair in PARTS for name in pair}
    vectors = {name: to_array(vector) for name, vector in vectors.items()}

    x = vectors["embedding"] + vectors["position"]
    spots = {"embedding": (2, 0), "position": (1, 1), "x": (2, 1)}
    captions = {}
    arrows = [
        Arrow("word", "embedding", f"id {token_id}"),
        Arrow("embedding", "x"),
        Arrow("position", "x", "+"),
    ]
    vectors["x"], before, row, brackets = x, "x", 1, []
    for number in range(1, len(blocks) + 1):
        names = []
        for normed, layer in PARTS:
            row += 1
            after = f"x after {'attention' if layer == 'attention' else 'block'} {number}"
            part = [f"{normed} {number}", f"{layer} {number}", after]
            spots |= {name: (column, row) for column, name in enumerate(part)}
            captions |= dict(zip(part, ("norm", layer.replace("_", "-"), "x"), strict=True))
            x = vectors[after] = x + vectors[part[1]]
            arrows += [
                Arrow(before, part[0], via="below"),
                Arrow(part[0], part[1]),
                Arrow(part[1], after, "+"),
                Arrow(before, after),
            ]
            before = after
            names += part
        brackets.append(Bracket(f"block {number}", tuple(names)))
    spots["norm"] = (0, row + 1)
    arrows += [
        Arrow(before, "norm", via="below"),
        Arrow("norm", "logits", "output"),
        Arrow("logits", "probabilities", "softmax"),
    ]
    limit = max(float(np.abs(vector).max()) for vector in vectors.values()) or None
    drawn = [
        Block(name="word", at=(0, 0), values=[word], kind="tokens", caption=""),
        *(
            Block(
                name=name,
                at=spot,
                values=vectors[name][None, :MOST_NUMBERS],
                caption=captions.get(name),
                shape=f"({len(x)},)" if name == "x" else "",
                limit=limit,
            )
            for name, spot in spots.items()
        ),
        Block(
            name="logits", at=(1, row + 1), values=_column(logits), rows=candidates, numbers=True
        ),
        Block(
            name="probabilities",
            at=(2, row + 1),
            values=_column(probabilities),
            rows=candidates,
            kind="weights",
            numbers=True,
        ),
    ]
    note = "Only attention reads the other words."
    return Diagram(f"The lane of “{word}”, block by block", drawn, arrows, brackets, note=note)


def _column(numbers: Any) -> np.ndarray:
    return to_array(numbers)[:, None]
