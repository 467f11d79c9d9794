"""Query heads that share keys, and a cache that grows by a row with every token.

Used by ``12_grouped_query_kv_cache``.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram

MOST_NUMBERS = 3  # of each query and key, that are drawn


def sharing_diagram(queries: Any, keys: Any) -> Diagram:
    """Draw which of the heads of keys (G, T, D) each head of queries (H, T, D) reads: neighbours
    share one."""
    queries, keys = to_array(queries), to_array(keys)
    H, G = len(queries), len(keys)
    blocks = [
        *(_strip("queries", "query", head, (head, 0), queries[head]) for head in range(H)),
        *(_strip("keys", "key", head, (head * H // G, 1), keys[head]) for head in range(G)),
    ]
    arrows = [Arrow(f"queries {h}", f"keys {h * G // H}") for h in range(H)]
    title = say_drawn("{queries} query heads, {keys} key heads", queries=H, keys=G)
    return Diagram(title, blocks, arrows)


def cache_diagram(keys: Any, lengths: Sequence[int], tokens: Sequence[str]) -> Diagram:
    """Draw the keys (S, D) that a cache holds after each of some numbers of tokens, the newest
    marked."""
    keys = to_array(keys)
    blocks = [
        Block(
            say_drawn("{count} keys", count=length),
            (panel, 0),
            keys[:length, :MOST_NUMBERS],
            kind="key",
            shape=f"({length}, {keys.shape[1]})",
            rows=tokens[:length],
            marked_row=length - 1,
        )
        for panel, length in enumerate(lengths)
    ]
    more = say_drawn("+ 1 token")
    arrows = [Arrow(first.name, second.name, more) for first, second in pairwise(blocks)]
    return Diagram(say_drawn("The cache grows by a row"), blocks, arrows)


def _strip(name: str, kind: str, head: int, at: tuple[int, int], values: Any) -> Block:
    look = {"caption": str(head), "shape": ""} if head else {"shape": str(values.shape)}
    return Block(f"{name} {head}", at, values[:, :MOST_NUMBERS], kind=kind, **look)
