"""Two layers of attention, one after the other: what the first writes, and how the second uses it.

Used by ``10_induction_heads``.
"""

from collections.abc import Sequence
from typing import Any

from chapter3_helpers._figures.arrays import size_of, to_array
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram, one_word

MOST_NUMBERS = 6  # of each vector, that are drawn


def induction_diagram(
    letters: Sequence[str],
    place: int,
    first_weights: Any,
    x: Any,
    x_after: Any,
    second_weights: Any,
    candidates: Sequence[str],
    probabilities: Any,
) -> Diagram:
    """Draw how the last letter of a text finds the letter that comes next.

    In the upper row the letter at ``place`` reads the one before it: its vector ``x``,
    (d,), becomes ``x_after``, by ``first_weights``, (T,). In the lower row the last letter finds it
    by this, with ``second_weights``, (T,), and its letter becomes the likeliest candidate.
    """
    names = [*letters]
    earlier, last = (
        say_drawn("“{letter}”, place {place}", letter=names[at], place=at)
        for at in (place, len(names) - 1)
    )
    first, second = say_drawn("first layer"), say_drawn("second layer")
    found, copied = say_drawn("x + found"), say_drawn("next letter")
    weights = {"kind": "weights", "columns": names, "numbers": False}
    vectors = to_array(x)[None], to_array(x_after)[None]
    limit = size_of(*vectors)
    shape = f"({vectors[0].size},)"
    before, after = (vector[:, :MOST_NUMBERS] for vector in vectors)
    blocks = [
        Block(earlier, (0, 0), before, shape=shape, limit=limit),
        Block(first, (1, 0), to_array(first_weights)[None], **weights),
        Block(found, (1, 1), after, shape=shape, limit=limit),
        one_word(last, (0, 2), names[-1]),
        Block(second, (1, 2), to_array(second_weights)[None], marked_column=place, **weights),
        Block(
            copied,
            (2, 2),
            to_array(probabilities)[:, None],
            kind="weights",
            rows=[*candidates],
            numbers=True,
        ),
    ]
    arrows = [
        Arrow(earlier, first, say_drawn("reads")),
        Arrow(first, found, "+"),
        Arrow(found, second, say_drawn("is found")),
        Arrow(last, second, say_drawn("looks")),
        Arrow(second, copied, say_drawn("copies")),
    ]
    title = say_drawn("How the last “{last}” finds “{letter}”", last=names[-1], letter=names[place])
    return Diagram(title, blocks, arrows)
