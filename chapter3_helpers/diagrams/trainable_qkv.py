"""One token in three roles: a query, a key and a value of its own.

Used by ``03_trainable_qkv``.
"""

from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram

ROLES = {
    "query": "what it looks for",
    "key": "what it is found by",
    "value": "what it hands over",
}


def roles_diagram(token: str, x: Any, query: Any, key: Any, value: Any) -> Diagram:
    """Draw how one token becomes three vectors.

    Args:
        token: its name.
        x: the token as it comes in, (d_in,).
        query, key, value: what the three matrices make of it, a vector each.

    >>> print(roles_diagram("a", [1.0], [2.0], [-1.0], [0.5]).description.splitlines()[1])
    a (1,) -> @ W_query -> query: what it looks for (1,)
    """
    arrays = {"x": x, "query": query, "key": key, "value": value}
    vectors = {name: to_array(array) for name, array in arrays.items()}
    limit = max(np.abs(vectors[role]).max() for role in ROLES) or None
    blocks = [Block(name=token, at=(0, 1), values=vectors["x"], numbers=True)]
    blocks += [
        Block(
            name=f"{role}: {words}",
            at=(1, row),
            values=vectors[role],
            kind=role,
            numbers=True,
            limit=limit,
        )
        for row, (role, words) in enumerate(ROLES.items())
    ]
    arrows = [Arrow(token, f"{role}: {words}", f"@ W_{role}") for role, words in ROLES.items()]
    return Diagram(f"Three roles for {token}", blocks, arrows)
