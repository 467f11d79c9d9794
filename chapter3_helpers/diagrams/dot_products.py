"""Dot products: a shadow, one query against all, and all queries in one matrix product.

Used by ``01_dot_products`` and ``02_softmax``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram, Plane

MOST_NUMBERED = 8  # rows or columns; beyond that their numbers would make it too wide


def shadow_diagram(a: Any, b: Any, dots: Any, titles: Sequence[str]) -> Diagram:
    """Draw the shadow that each of some vectors casts on the line of another.

    Args:
        a: (n, 2), one vector for each panel.
        b: (2,), the vector on whose line the shadows fall.
        dots: (n,), their dot products.
        titles: one for each panel.

    >>> print(shadow_diagram([[0.0, 1.0]], [1.0, 0.0], dots=[0.0], titles=["90°"]))
    Diagram: The shadow of a on b.
    90°:
    a: (0.0000, 1.0000)
    b: (1.0000, 0.0000)
    shadow of a on the line of b: length 0.0000
    """
    a, b, dots = to_array(a), to_array(b), to_array(dots)
    planes = [
        Plane(
            name=title,
            at=(panel, 0),
            shape=f"a · b = {float(dot):z.2f}",
            vectors=np.stack([vector, b]),
            labels=["a", "b"],
            kinds=["query", "key"],
            shadow=(0, 1),
            reach=1.8 * max(np.linalg.norm(each) for each in (*a, b)),
            size=94,
        )
        for panel, (title, vector, dot) in enumerate(zip(titles, a, dots, strict=True))
    ]
    return Diagram("The shadow of a on b", blocks=planes)


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

    >>> import numpy as np
    >>> x = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> print(one_query_diagram(x, 0, x @ x[0], tokens=["a", "b"]).description[:91])
    Diagram: The query a against every key.
    x (2, 2) and query a (2,) -> · query -> scores (2,)
    """
    x, scores = to_array(x), to_array(scores)
    column = {"shape": f"({len(x)},)", "numbers": True}
    asks = f"query {tokens[query]}"
    limit = np.abs(x).max()
    blocks = [
        Block(name=asks, values=x[query], kind="query", numbers=True, limit=limit),
        Block(name="x", at=(0, 1), values=x, kind="key", rows=tokens, numbers=True, limit=limit),
        Block(name="scores", at=(1, 1), values=scores[:, None], **column),
    ]
    arrows = [Arrow(("x", asks), "scores", "· query")]
    title = f"The query {tokens[query]} against every key"
    if weights is not None:
        weights, context = to_array(weights), to_array(context)
        weighted = weights[:, None] * x
        blocks += [
            Block(name="weights", at=(2, 1), values=weights[:, None], kind="weights", **column),
            Block(
                name="weight · token",
                at=(3, 1),
                values=weighted,
                kind="value",
                numbers=True,
                limit=limit,
            ),
            Block(name="context", at=(3, 2), values=context, numbers=True, limit=limit),
        ]
        arrows += [
            Arrow("scores", "weights", "softmax"),
            Arrow("weights", "weight · token", "· x"),
            Arrow("weight · token", "context", "sum of the rows"),
        ]
        title = f"The query {tokens[query]}: scores, weights, mixture"
    return Diagram(title, blocks, arrows)


def product_diagram(
    queries: Any,
    keys: Any,
    scores: Any,
    *,
    query: int,
    key: int,
    tokens: Sequence[str],
) -> Diagram:
    """Draw a matrix product as it is laid out by hand: row times column makes a cell.

    Args:
        queries: (T, d).
        keys: (T, d); they are drawn transposed, above the scores.
        scores: (T, T), their product.
        query, key: the row and the column to be marked.
        tokens: the names of both.

    >>> import numpy as np
    >>> x = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> product_diagram(x, x, x @ x.T, query=0, key=1, tokens=["a", "b"]).title
    'Row a times column b makes one score'
    """
    queries, keys, scores = to_array(queries), to_array(keys), to_array(scores)
    look = {"numbers": len(scores) <= MOST_NUMBERED}
    above = {"columns": tokens, "marked_column": key, **look}
    return Diagram(
        f"Row {tokens[query]} times column {tokens[key]} makes one score",
        cell=30 if look["numbers"] else 14,
        blocks=[
            Block(name="keys.T", at=(1, 0), values=keys.T, kind="key", **above),
            Block(
                name="queries",
                at=(0, 1),
                values=queries,
                kind="query",
                rows=tokens,
                marked_row=query,
                **look,
            ),
            Block(name="scores", at=(1, 1), values=scores, marked_row=query, **above),
        ],
        arrows=[Arrow("queries", "scores", "row"), Arrow("keys.T", "scores", "column")],
    )
