"""Two questions about one sentence, and heads side by side that each find one answer.

Used by ``06_multihead_wrapper``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Diagram, one_word

FAINTEST = 0.02  # a smaller weight has no arrow


def questions_diagram(sentences: Sequence[Sequence[str]], answers: Mapping[str, int]) -> Diagram:
    """Draw which word of each sentence answers which question.

    Args:
        sentences: their words.
        answers: question -> the place of the word that answers it, in every sentence.

    >>> print(questions_diagram([["Ann", "thanked", "Bob"]], {"who": 0, "whom": 2}))
    Diagram: What is asked.
    word 1 of 1 (1,) -> who 1 (1,)
    word 3 of 1 (1,) -> whom 1 (1,)
    word 1 of 1: Ann
    word 2 of 1: thanked
    word 3 of 1: Bob
    who 1: who? Ann
    whom 1: whom? Bob
    """
    blocks, arrows = [], []
    for number, words in enumerate(sentences, 1):
        row = 2 * number - 2
        names = [f"word {j + 1} of {number}" for j in range(len(words))]
        blocks += [one_word(name, (j, row), words[j]) for j, name in enumerate(names)]
        for question, place in answers.items():
            name, said = f"{question} {number}", f"{question}? {words[place]}"
            blocks.append(one_word(name, (place, row + 1), said))
            arrows.append(Arrow(names[place], name))
    return Diagram("What is asked", blocks, arrows)


def heads_diagram(
    weights: Any, contexts: Any, tokens: Sequence[str], title: str = "Heads side by side"
) -> Diagram:
    """Draw where every head looks from one token, and where it puts what it finds.

    Args:
        weights: the row of that token in every head, (H, T).
        contexts: its context vector from every head, (H, D).
        tokens: the T tokens.
        title: what is drawn.

    >>> import numpy as np
    >>> diagram = heads_diagram([[1.0, 0.0], [0.5, 0.5]], np.ones((2, 3)), "ab")
    >>> print("\\n".join(diagram.description.splitlines()[:3]))
    Diagram: Heads side by side.
    token 1 (1,) -> 1.0000 -> head 0 (3 numbers)
    token 1 (1,) -> 0.5000 -> head 1 (3 numbers)
    """
    weights, contexts = to_array(weights), to_array(contexts)
    heads, width = contexts.shape
    limit = np.abs(contexts).max()
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
    return Diagram(title, blocks, arrows)
