"""Two layers of attention, one after the other: what the first writes, and how the second uses it.

Used by ``10_induction_heads``.
"""

from collections.abc import Sequence
from typing import Any

from chapter3_helpers._figures.arrays import size_of, to_array
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
    earlier, last = f"“{names[place]}”, place {place}", f"“{names[-1]}”, place {len(names) - 1}"
    weights = {"kind": "weights", "columns": names, "numbers": False}
    vectors = to_array(x)[None], to_array(x_after)[None]
    limit = size_of(*vectors)
    shape = f"({vectors[0].size},)"
    before, after = (vector[:, :MOST_NUMBERS] for vector in vectors)
    blocks = [
        Block(earlier, (0, 0), before, shape=shape, limit=limit),
        Block("first layer", (1, 0), to_array(first_weights)[None], **weights),
        Block("x + found", (1, 1), after, shape=shape, limit=limit),
        one_word(last, (0, 2), names[-1]),
        Block(
            "second layer", (1, 2), to_array(second_weights)[None], marked_column=place, **weights
        ),
        Block(
            "next letter",
            (2, 2),
            to_array(probabilities)[:, None],
            kind="weights",
            rows=[*candidates],
            numbers=True,
        ),
    ]
    arrows = [
        Arrow(earlier, "first layer", "reads"),
        Arrow("first layer", "x + found", "+"),
        Arrow("x + found", "second layer", "is found"),
        Arrow(last, "second layer", "looks"),
        Arrow("second layer", "next letter", "copies"),
    ]
    title = f"How the last “{names[-1]}” finds “{names[place]}”"
    return Diagram(title, blocks, arrows)
