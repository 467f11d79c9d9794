"""One row of weights for two questions or a row for each, and heads side by side.

Used by ``06_multihead_wrapper``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from chapter3_helpers._figures.arrays import size_of, to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram, one_word

FAINTEST = 0.02  # a smaller weight has no arrow


def rows_diagram(
    rows: Mapping[str, Any], tokens: Sequence[str], questions: Sequence[str], title: str
) -> Diagram:
    """Draw rows of weights, what each of them mixes, and which questions that has to answer.

    Args:
        rows: whose row it is -> weights, (T,).
        tokens: the T tokens.
        questions: what each row is asked.
        title: what is drawn.

    >>> rows = {"one head": [0.5, 0.0, 0.5]}
    >>> print(rows_diagram(rows, ["Ann", "thanked", "Bob"], ["who? whom?"], "One row"))
    Diagram: One row.
    one head (3,) -> row 1 (1,) -> asked 1 (1,)
    one head (3,):
    Ann    thanked    Bob
    0.5000  0.0000 0.5000
    row 1: Ann + Bob
    asked 1: who? whom?
    """
    blocks, arrows = [], []
    for i, ((name, row), question) in enumerate(zip(rows.items(), questions, strict=True)):
        row = to_array(row)
        mixed = " + ".join(token for weight, token in zip(row, tokens, strict=True) if weight > 0)
        look = {"kind": "weights", "columns": tokens, "numbers": True}
        blocks += [
            Block(name, (0, i), row, **look),
            one_word(f"row {i + 1}", (1, i), mixed),
            one_word(f"asked {i + 1}", (2, i), question),
        ]
        arrows += [Arrow(name, f"row {i + 1}"), Arrow(f"row {i + 1}", f"asked {i + 1}")]
    return Diagram(title, blocks, arrows)


def heads_diagram(
    weights: Any,
    contexts: Any,
    tokens: Sequence[str],
    title: str = "Heads side by side",
    answers: Mapping[str, tuple[Any, str]] | None = None,
) -> Diagram:
    """Draw where every head looks from one token, where it puts what it finds, and what is read.

    Args:
        weights: the row of that token in every head, (H, T).
        contexts: its context vector from every head, (H, D).
        tokens: the T tokens.
        title: what is drawn.
        answers: question -> the vector that a linear layer makes of all contexts for it, and the
            word that is most like this vector.

    >>> import numpy as np
    >>> diagram = heads_diagram([[1.0, 0.0], [0.5, 0.5]], np.ones((2, 3)), "ab")
    >>> print("\\n".join(diagram.description.splitlines()[:3]))
    Diagram: Heads side by side.
    token 1 (1,) -> 1.0000 -> head 0 (3 numbers)
    token 1 (1,) -> 0.5000 -> head 1 (3 numbers)
    """
    weights, contexts = to_array(weights), to_array(contexts)
    heads, width = contexts.shape
    limit = size_of(contexts)
    shown = [f"token {j + 1}" for j in range(len(tokens))]
    names = [f"head {h}" for h in range(heads)]
    blocks = [one_word(name, (j, 0), tokens[j]) for j, name in enumerate(shown)]
    places = [h * max(len(tokens), heads) // heads for h in range(heads)]
    blocks += [
        Block(name, (place, 1), context[None], shape=f"({width} numbers)", limit=limit)
        for name, place, context in zip(names, places, contexts, strict=True)
    ]
    at, shape = (places[-1] + 1, 1) if heads == 1 else (1, 2), f"({contexts.size} numbers)"
    blocks.append(Block("concat", at, contexts.reshape(1, -1), shape=shape, limit=limit))
    arrows = [
        Arrow(token, head, weight=float(weight))
        for head, row in zip(names, weights, strict=True)
        for token, weight in zip(shown, row, strict=True)
        if weight >= FAINTEST
    ]
    arrows.append(Arrow(tuple(names), "concat", "side by side"))
    for place, (question, (vector, word)) in zip(places, (answers or {}).items(), strict=False):
        vector, answer = to_array(vector), f"answer to {question}"
        shape = f"({vector.size} numbers)"
        blocks += [
            Block(question, (place, 3), vector[None], shape=shape, limit=size_of(vector)),
            one_word(answer, (place, 4), word),
        ]
        words = "linear layer" if place == places[0] else ""
        arrows += [Arrow("concat", question, words, via="below"), Arrow(question, answer)]
    return Diagram(title, blocks, arrows)
