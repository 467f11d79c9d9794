"""One word's way through whole blocks, from its id to the next word.

Used by ``09_transformer_block``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from chapter3_helpers._figures.arrays import size_of, to_array
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers.diagrams.core import Arrow, Block, Bracket, Diagram, one_word

MOST_NUMBERS = 8  # of each vector, that are drawn
# of a block: its norm, its layer, and after which x stands with the layer's output added
PARTS = (("norm1", "attention", "attention"), ("norm2", "feed_forward", "block"))


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

    The word's vector, (d,), goes straight down at the right. At every layer norm a copy of it turns
    off, and what attention or the feed-forward network makes of that copy is added to it. Of every
    block are given what its ``norm1``, ``attention``, ``norm2`` and ``feed_forward`` put out, and
    of some candidates for the next word their logits and probabilities.
    """
    x = to_array(embedding) + to_array(position)
    lane = [  # name, place, caption, vector
        ("embedding", (2, 0), None, embedding),
        ("position", (1, 1), None, position),
        ("x", (2, 1), None, x),
    ]
    arrows = [
        Arrow("word", "embedding", say_drawn("id {number}", number=token_id)),
        Arrow("embedding", "x"),
        Arrow("position", "x", "+"),
    ]
    before, row, brackets = "x", 1, []
    for number, outputs in enumerate(blocks, 1):
        names = []
        for normed, layer, after in PARTS:
            row += 1
            part = f"{normed} {number}", f"{layer} {number}", f"x after {after} {number}"
            captions = "norm", layer.replace("_", "-"), "x"
            x = x + to_array(outputs[layer])
            vectors = outputs[normed], outputs[layer], x
            spots = [(column, row) for column in range(3)]
            lane += zip(part, spots, captions, vectors, strict=True)
            arrows += [
                Arrow(before, part[0], via="below"),
                Arrow(part[0], part[1]),
                Arrow(part[1], part[2], "+"),
                Arrow(before, part[2]),
            ]
            before = part[2]
            names += part
        brackets.append(Bracket(say_drawn("block {number}", number=number), tuple(names)))
    row += 1
    lane.append(("norm", (0, row), None, norm))
    arrows += [
        Arrow(before, "norm", via="below"),
        Arrow("norm", "logits", "output"),
        Arrow("logits", "probabilities", "softmax"),
    ]
    limit = size_of(*(to_array(vector) for *_, vector in lane))
    shapes = {"x": f"({len(x)},)"}
    drawn = [one_word("word", (0, 0), word)]
    for name, spot, caption, vector in lane:
        numbers, shape = to_array(vector)[:MOST_NUMBERS], shapes.get(name, "")
        drawn.append(Block(name, spot, numbers, caption=caption, shape=shape, limit=limit))
    of_words = {"rows": candidates, "numbers": True, "shape": say_drawn("of some words")}
    logits, probabilities = (to_array(column)[:, None] for column in (logits, probabilities))
    drawn += [
        Block("logits", (1, row), logits, **of_words),
        Block("probabilities", (2, row), probabilities, kind="weights", **of_words),
    ]
    note = say_drawn(
        "Only attention reads the other words. Of each vector {count} numbers are drawn.",
        count=MOST_NUMBERS,
    )
    title = say_drawn("The lane of “{word}”, block by block", word=word)
    return Diagram(title, drawn, arrows, brackets, note=note)
