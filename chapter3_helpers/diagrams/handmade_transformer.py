"""The last token's way through the transformer made by hand, on one line.

Used by ``11_handmade_transformer``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from chapter3_helpers._figures.arrays import size_of, to_array
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram

TOKEN_COLUMNS, SCRATCH = slice(5, 7), slice(7, 8)


def last_row_diagram(run: Mapping[str, Any], tokens: Sequence[str]) -> Diagram:
    """Draw how the last token's weights become its two logits, in a run of
    ``handmade_transformer.forward`` on these letters."""
    weights, values = to_array(run["weights"])[-1], to_array(run["values"])
    context, update, embedding = (to_array(run[n])[-1] for n in ("context", "update", "embedding"))
    logits = to_array(run["logits"])[-1]
    limit = size_of(update[TOKEN_COLUMNS], logits)  # one scale for what is added
    letters = {"columns": ["a", "b"], "numbers": True, "limit": limit}
    blocks = [
        Block("weights", (0, 0), weights, kind="weights", columns=list(tokens), numbers=True),
        Block("values", (1, 0), values[:, SCRATCH], kind="value", numbers=True),
        Block("v", (2, 0), context[SCRATCH], kind="value", numbers=True),
        Block("update", (3, 0), update[TOKEN_COLUMNS], **letters),
        Block("embedding", (3, 1), embedding[TOKEN_COLUMNS], **letters),
        Block("logits", (4, 0), logits, **letters),
    ]
    arrows = [
        Arrow("weights", "values", "@", sign=True),
        Arrow("values", "v", "="),
        Arrow("v", "update", "c_proj"),
        Arrow(("update", "embedding"), "logits", "+"),
    ]
    return Diagram(say_drawn("The last letter's way to its logits"), blocks, arrows)
