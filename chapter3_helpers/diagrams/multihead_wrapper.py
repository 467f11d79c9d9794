"""One row of weights for two questions or a row for each, and heads side by side.

Used by ``06_multihead_wrapper``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from chapter3_helpers._figures.arrays import size_of, to_array
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram, one_word

FAINTEST = 0.02  # a smaller weight has no arrow


def rows_diagram(
    rows: Mapping[str, Any], tokens: Sequence[str], questions: Sequence[str], title: str
) -> Diagram:
    """Draw rows of weights (T,), named by whose row it is, what each of them mixes, and which
    question that has to answer."""
    look = {"kind": "weights", "columns": tokens, "numbers": True}
    blocks, arrows = [], []
    for i, ((name, row), question) in enumerate(zip(rows.items(), questions, strict=True)):
        row = to_array(row)
        mixed = " + ".join(token for weight, token in zip(row, tokens, strict=True) if weight > 0)
        weights, mixture, asked = f"weights {i + 1}", f"row {i + 1}", f"asked {i + 1}"
        blocks += [
            Block(name, (0, i), row, key=weights, **look),
            one_word(mixture, (1, i), mixed),
            one_word(asked, (2, i), question),
        ]
        arrows += [Arrow(weights, mixture), Arrow(mixture, asked)]
    return Diagram(title, blocks, arrows)


def heads_diagram(
    weights: Any,
    contexts: Any,
    tokens: Sequence[str],
    title: str = "",
    answers: Mapping[str, tuple[Any, str]] | None = None,
) -> Diagram:
    """Draw where every head looks from one token, where it puts what it finds, and what is read.

    ``weights`` (H, T) are the rows of that token, ``contexts`` (H, D) its context vectors.
    ``answers`` has for a question the vector that a linear layer makes of all contexts, and the
    word that is most like this vector.
    """
    weights, contexts = to_array(weights), to_array(contexts)
    heads, width = contexts.shape
    limit = size_of(contexts)
    shown = [say_drawn("token {number}", number=j + 1) for j in range(len(tokens))]
    names = [say_drawn("head {head}", head=h) for h in range(heads)]
    of_each, of_all = (say_drawn("({count} numbers)", count=n) for n in (width, contexts.size))
    blocks = [one_word(name, (j, 0), tokens[j]) for j, name in enumerate(shown)]
    places = [h * max(len(tokens), heads) // heads for h in range(heads)]
    blocks += [
        Block(name, (place, 1), context[None], shape=of_each, limit=limit)
        for name, place, context in zip(names, places, contexts, strict=True)
    ]
    at = (places[-1] + 1, 1) if heads == 1 else (1, 2)
    blocks.append(Block("concat", at, contexts.reshape(1, -1), shape=of_all, limit=limit))
    arrows = [
        Arrow(token, head, weight=float(weight))
        for head, row in zip(names, weights, strict=True)
        for token, weight in zip(shown, row, strict=True)
        if weight >= FAINTEST
    ]
    arrows.append(Arrow(tuple(names), "concat", say_drawn("side by side")))
    for place, (question, (vector, word)) in zip(places, (answers or {}).items(), strict=False):
        vector, asked = to_array(vector), f"question {place}"
        answer = say_drawn("answer to {question}", question=question)
        look = {"shape": say_drawn("({count} numbers)", count=vector.size)}
        look["limit"] = size_of(vector)
        blocks += [
            Block(question, (place, 3), vector[None], key=asked, **look),
            one_word(answer, (place, 4), word),
        ]
        words = say_drawn("linear layer") if place == places[0] else ""
        arrows += [Arrow("concat", asked, words, via="below"), Arrow(asked, answer)]
    return Diagram(title or say_drawn("Heads side by side"), blocks, arrows)
