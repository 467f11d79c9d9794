"""Dot products: a shadow, one query against all, and all queries in one matrix product.

Used by ``01_dot_products`` and ``02_softmax``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import size_of, to_array
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers._figures.writing import short
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram, Plane

MOST_NUMBERED = 8  # rows or columns; beyond that their numbers would make it too wide


def shadow_diagram(a: Any, b: Any, dots: Any, titles: Sequence[str]) -> Diagram:
    """Draw the shadow that each vector of ``a``, (n, 2), casts on the line of ``b``, (2,), above
    their dot products ``dots``, (n,): a panel each, three side by side."""
    a, b, dots = map(to_array, (a, b, dots))
    look = {"labels": ["a", "b"], "kinds": ["query", "key"], "shadow": (0, 1), "size": 178}
    look["reach"] = 1.4 * max(np.linalg.norm(each) for each in (*a, b))
    planes = [
        Plane(
            title,
            (panel % 3, panel // 3),
            np.stack([vector, b]),
            shape=f"a · b = {float(dot):z.2f}",
            key=f"panel {panel}",
            **look,
        )
        for panel, (title, vector, dot) in enumerate(zip(titles, a, dots, strict=True))
    ]
    return Diagram(say_drawn("The shadow of a on b"), planes)


def one_query_diagram(
    x: Any,
    query: int,
    scores: Any,
    weights: Any = None,
    context: Any = None,
    *,
    tokens: Sequence[str],
) -> Diagram:
    """Draw what one token does: it is compared with all, and takes a share of each.

    Args:
        x: the tokens (T, d), which are queries, keys and values at once.
        query: which of them asks.
        scores: (T,), its dot product with each.
        weights: (T,), the scores after softmax, to go on to the mixture.
        context: (d,), the mixture.
        tokens: their names.
    """
    x, scores = to_array(x), to_array(scores)
    column = {"shape": f"({len(x)},)", "numbers": True}
    asks = say_drawn("query {token}", token=short(tokens[query]))
    same = {"numbers": True, "limit": size_of(x)}
    blocks = [
        Block(asks, (0, 0), x[query], kind="query", **same),
        Block("x", (0, 1), x, kind="key", rows=tokens, **same),
        Block("scores", (1, 1), scores[:, None], **column),
    ]
    arrows = [Arrow(("x", asks), "scores", "· query")]
    title = say_drawn("The query {token} against every key", token=tokens[query])
    if weights is not None:
        weights = to_array(weights)[:, None]
        shares = say_drawn("weight · token")
        blocks += [
            Block("weights", (2, 1), weights, kind="weights", **column),
            Block(shares, (3, 1), weights * x, kind="value", **same),
            Block("context", (3, 2), context, **same),
        ]
        arrows += [
            Arrow("scores", "weights", "softmax"),
            Arrow("weights", shares, "· x"),
            Arrow(shares, "context", say_drawn("sum of the rows")),
        ]
        title = say_drawn("The query {token}: scores, weights, mixture", token=tokens[query])
    return Diagram(title, blocks, arrows)


def product_diagram(
    queries: Any, keys: Any, scores: Any, *, query: int, key: int, tokens: Sequence[str]
) -> Diagram:
    """Draw queries (T, d) @ keys.T (d, T) = scores (T, T) as it is laid out by hand: the row of
    ``query`` times the column of ``key`` makes a cell."""
    numbers = len(scores) <= MOST_NUMBERED
    above = {"columns": tokens, "marked_column": key, "numbers": numbers}
    aside = {"rows": tokens, "marked_row": query, "numbers": numbers}
    blocks = [
        Block("keys.T", (1, 0), to_array(keys).T, kind="key", **above),
        Block("queries", (0, 1), queries, kind="query", **aside),
        Block("scores", (1, 1), scores, marked_row=query, **above),
    ]
    arrows = [
        Arrow("queries", "scores", say_drawn("row")),
        Arrow("keys.T", "scores", say_drawn("column")),
    ]
    title = say_drawn(
        "Row {row} times column {column} makes one score", row=tokens[query], column=tokens[key]
    )
    return Diagram(title, blocks, arrows, cell=30 if numbers else 14)
