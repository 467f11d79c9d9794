"""Two layers of attention, one after the other: what the first writes, and how the second uses it.

Used by ``10_induction_heads``.
"""

from collections.abc import Sequence
from typing import Any

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram, one_word

MOST_NUMBERS = 6  # of each vector, that are drawn


def induction_diagram(
    letters: Sequence[str],
    found: int,
    first_weights: Any,
    x: Any,
    x_after: Any,
    second_weights: Any,
    candidates: Sequence[str],
    probabilities: Any,
) -> Diagram:
    """Draw how the last letter of a text finds the letter that comes next.

    In the upper row an earlier letter reads the one before it, and keeps that beside what it was.
    In the lower row the last letter finds it by this, and its letter becomes the likeliest.

    Args:
        letters: the text.
        found: the place of the letter that is found.
        first_weights: what the first layer gives each letter for the one that is found, (T,).
        x, x_after: the vector of that letter before and after the first layer, (d,) each.
        second_weights: what the second layer gives each letter for the last one, (T,).
        candidates: some letters that could be next.
        probabilities: what the model gives them, a number each.

    >>> import numpy as np
    >>> ones, looks = np.ones(4), np.eye(3)
    >>> diagram = induction_diagram("aba", 1, looks[0], ones, ones, looks[1], ["b"], [1.0])
    >>> print(diagram.description.splitlines()[1])
    “b”, place 1 (4,) -> first layer (1, 3) -> + -> x + found (4,)
    """
    names = [*letters]
    earlier, last = f"“{names[found]}”, place {found}", f"“{names[-1]}”, place {len(names) - 1}"
    weights = {"kind": "weights", "columns": names, "numbers": False}
    vectors = to_array(x)[None], to_array(x_after)[None]
    limit = max(abs(vector).max() for vector in vectors)
    shape = f"({vectors[0].size},)"
    before, after = (vector[:, :MOST_NUMBERS] for vector in vectors)
    blocks = [
        Block(earlier, (0, 0), before, shape=shape, limit=limit),
        Block("first layer", (1, 0), to_array(first_weights)[None], **weights),
        Block("x + found", (2, 0), after, shape=shape, limit=limit),
        one_word(last, (0, 1), names[-1]),
        Block(
            "second layer", (1, 1), to_array(second_weights)[None], marked_column=found, **weights
        ),
        Block(
            "probabilities",
            (2, 1),
            to_array(probabilities)[:, None],
            kind="weights",
            rows=[*candidates],
            numbers=True,
        ),
    ]
    arrows = [
        Arrow(earlier, "first layer"),
        Arrow("first layer", "x + found", "+"),
        Arrow(last, "second layer"),
        Arrow("second layer", "probabilities", "copies"),
    ]
    title = f"How the last “{names[-1]}” finds “{names[found]}”"
    return Diagram(title, blocks, arrows)
