"""One token in three roles: a query, a key and a value of its own.

Used by ``03_trainable_qkv``.
"""

from typing import Any

from chapter3_helpers._figures.arrays import size_of, to_array
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers._language import to_say
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram

ROLES = {
    "query": to_say("query: what it looks for"),
    "key": to_say("key: what it is found by"),
    "value": to_say("value: what it hands over"),
}


def roles_diagram(token: str, x: Any, query: Any, key: Any, value: Any) -> Diagram:
    """Draw how one token, x, becomes three vectors."""
    vectors = dict(zip(ROLES, map(to_array, (query, key, value)), strict=True))
    limit = size_of(*vectors.values())
    blocks, arrows = [Block(token, (0, 1), x, numbers=True)], []
    for row, (role, words) in enumerate(ROLES.items()):
        name = say_drawn(words)
        blocks.append(Block(name, (1, row), vectors[role], kind=role, numbers=True, limit=limit))
        arrows.append(Arrow(token, name, f"@ W_{role}"))
    return Diagram(say_drawn("Three roles for {token}", token=token), blocks, arrows)
