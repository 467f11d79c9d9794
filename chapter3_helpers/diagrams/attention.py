"""From x to context: one head of attention step by step, or several side by side.

Used from ``03_trainable_qkv`` on, and live by ``attention_explorer``.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import size_of, to_array
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers._figures.writing import short
from chapter3_helpers._language import say
from chapter3_helpers.diagrams.core import Arrow, Block, Bracket, Diagram

MOST_LANES = 4  # heads that are drawn below each other
MOST_IN_A_ROW = 4  # steps without projections before them
CELL = 12  # pixels: six tokens and dropout still fit on a screen
KINDS = {"queries": "query", "keys": "key", "keys.T": "key", "values": "value"}
KINDS |= {"weights": "weights", "dropped": "weights"}
# what rows and columns are, if they are not queries and keys
SIDES = dict.fromkeys(("x", "queries", "context"), ("q", ""))
SIDES |= {"keys": ("k", ""), "values": ("k", ""), "keys.T": ("", "k")}
ROLES = ("queries", "keys", "values")
# what makes a step out of the one before
WORDS = {"scaled": "/ sqrt(D)", "masked": "mask", "weights": "softmax", "dropped": "dropout"}


def attention_diagram(
    *,
    x: Any,
    weights: Any,
    context: Any,
    queries: Any = None,
    keys: Any = None,
    values: Any = None,
    scores: Any = None,
    scaled: Any = None,
    hidden: Any = None,
    mask_first: bool = False,
    dropped: Any = None,
    output: Any = None,
    tokens: Sequence[str] | None = None,
    query: int | None = None,
    head: int | None = None,
    live: bool = False,
) -> Diagram:
    """Draw how context vectors come about. What is left out is not drawn.

    Args:
        x: the tokens as they come in, (T, d_in).
        weights: after softmax, (T, T), or (H, T, T) for several heads.
        context: weights times values, (T, D) or (H, T, D).
        queries, keys, values: (T, D) or (H, T, D). x is what is left out of them.
        scores, scaled: before softmax, and divided by sqrt(D), as ``weights``; of one head only.
        hidden: boolean (T, T), True where the mask hides a key.
        mask_first: whether the mask comes before the division, as in the code of the lessons.
        dropped: the weights after dropout, as ``weights``.
        output: what ``out_proj`` makes of several heads, (T, d_out).
        tokens: their names.
        query: the row to be marked. A single query may come alone, too: then ``queries``,
            ``scores``, ``weights`` and ``context`` are vectors.
        head: the head to be marked; of more than four heads it is among those drawn.
        live: whether a browser draws it, which has the letters of the reader's language.

    Raises:
        ValueError: ``tokens`` or ``hidden`` do not fit, or there is no such row or head.

    >>> import numpy as np
    >>> x = np.eye(2)
    >>> print(attention_diagram(x=x, scores=x @ x.T, weights=x, context=x).description[:143])
    Diagram: From x to context.
    x (2, 2) -> @ x.T -> scores (2, 2) -> softmax -> weights (2, 2) -> @ x -> context (2, 2)
    x (2, 2) -> context (2, 2)
    """
    given = {"x": x, "queries": queries, "keys": keys, "values": values, "scores": scores}
    given |= {"scaled": scaled, "weights": weights, "dropped": dropped, "context": context}
    given |= {"output": output}
    arrays = {name: to_array(array) for name, array in given.items() if array is not None}
    words = say if live else say_drawn
    if arrays["weights"].ndim == 3:
        return _heads(arrays, hidden, query, head, words)
    return _one_head(arrays, hidden, mask_first, tokens, query, words)


def _one_head(arrays, hidden, mask_first, tokens, query, say) -> Diagram:
    source = {part: part if part in arrays else "x" for part in ROLES}
    projected = [part for part in ROLES if part in arrays]
    steps = [step for step in ("scores", "scaled") if step in arrays]
    if hidden is not None and steps:
        place = 1 if mask_first else len(steps)
        arrays["masked"] = arrays[steps[place - 1]]
        steps.insert(place, "masked")
    steps += ["weights", "dropped", "context"] if "dropped" in arrays else ["weights", "context"]
    in_rows = projected or len(steps) > MOST_IN_A_ROW
    if in_rows:  # the steps go right, come back one row lower, and end in the row of the values
        spots = [(2, 0), (3, 0), (3, 1), (2, 1), (2, 2), (2, 3)][: len(steps)]
        spots[-1] = (spots[-2][0], max(2, spots[-2][1] + 1))
        places = {"x": (0, 1), "queries": (1, 0), "keys": (1, 1), "values": (1, spots[-1][1])}
    else:
        spots = [(column, 0) for column in range(1, 1 + len(steps))]
        places = {"x": (0, 0)}
    places = {name: spot for name, spot in places.items() if name in arrays}
    places |= dict(zip(steps, spots, strict=True))
    unseen = ("masked", "weights", "dropped", *(["scaled"] if mask_first else []))
    limit = size_of(arrays["scores"]) if "scores" in arrays else None
    rows = len(arrays["x"])

    def block(name: str) -> Block:
        values = arrays[name]
        tall = values.ndim == 2 and len(values) == rows
        return Block(
            name,
            places[name],
            values,
            kind=KINDS.get(name, "signed"),
            caption="query" if name == "queries" and values.ndim == 1 else None,
            rows=tokens if name == "x" else None,
            marked_row=query if tall and name not in ("keys", "values") else None,
            hidden=hidden if name in unseen else None,
            sides=SIDES.get(name, ("q", "k")) if tall else ("", ""),
            limit=limit if name in ("scores", "scaled", "masked") else None,
        )

    arrows = [Arrow("x", name, f"@ W_{KINDS[name]}") for name in projected]
    compared = tuple(dict.fromkeys((source["queries"], source["keys"])))
    first = [f"@ {source['keys']}.T"]
    if steps[0] in WORDS:  # the scores are left out
        first += ["mask"] * (hidden is not None and "masked" not in steps) + [WORDS[steps[0]]]
    arrows.append(Arrow(compared, steps[0], ", ".join(first)))
    words = {**WORDS, "context": f"@ {source['values']}"}
    arrows += [Arrow(a, b, words[b]) for a, b in pairwise(steps)]
    arrows.append(Arrow(source["values"], "context", via=None if in_rows else "below"))
    blocks = [block(name) for name in places]
    title = say("From x to context")
    if query is not None and tokens:
        token = short(tokens[query])
        title = say("From x to context: the query of “{token}”", token=token)
    elif query is not None:
        title = say("From x to context: the query of row {row}", row=query)
    return Diagram(title, blocks, arrows, cell=CELL)


def _heads(arrays, hidden, query, head, say) -> Diagram:
    heads = len(arrays["weights"])
    if head not in (None, *range(heads)):
        raise ValueError(f"head must be from 0 to {heads - 1}, got {head!r}")
    first = min((head or 0) // MOST_LANES * MOST_LANES, max(0, heads - MOST_LANES))
    shown = range(first, min(first + MOST_LANES, heads))
    if "keys" in arrays:
        arrays["keys.T"] = arrays["keys"].swapaxes(-1, -2)
    mixer = "dropped" if "dropped" in arrays else "weights"
    parts = [p for p in ("queries", "keys.T", mixer, "values", "context") if p in arrays]
    wide = {"marked_row": query, "sides": SIDES["x"]}  # of all heads together
    blocks = [Block("x", (0, 0), arrays["x"], **wide)]
    arrows, brackets = [], []
    for lane, number in enumerate(shown):
        names = [f"{part} {number}" for part in parts]
        blocks += [
            Block(
                name,
                (column, lane),
                arrays[part][number],
                kind=KINDS.get(part, "signed"),
                caption="" if lane else part,
                marked_row=None if part in ("keys.T", "values") else query,
                hidden=hidden if part == mixer else None,
                sides=SIDES.get(part, ("q", "k")),
            )
            for column, (part, name) in enumerate(zip(parts, names, strict=True), start=1)
        ]
        frame = say("head {head}", head=number)
        arrows.append(Arrow("x", frame))
        for (before, after), ends in zip(pairwise(parts), pairwise(names), strict=True):
            words = _on_the_way(before, after, parts)
            arrows.append(Arrow(*ends, words, sign=words == "@"))
        state = "lit" if number == head else "known"
        brackets.append(Bracket(frame, tuple(names), state))
    joined = np.concatenate(list(arrays["context"]), axis=-1)  # (T, H * D)
    blocks.append(Block("concat", (len(parts), len(shown)), joined, **wide))
    arrows.append(Arrow(tuple(f"context {number}" for number in shown), "concat", via="right"))
    if "output" in arrays:
        at = max(1, len(parts) - 3), len(shown)
        blocks.append(Block("output", at, arrays["output"], **wide))
        arrows.append(Arrow("concat", "output", "out_proj"))
    title = say("{heads} heads side by side, joined", heads=heads)
    if len(shown) < heads:
        title = say(
            "{heads} heads side by side, joined; drawn are {first} to {last}",
            heads=heads,
            first=shown[0],
            last=shown[-1],
        )
    return Diagram(title, blocks, arrows, brackets, cell=CELL)


def _on_the_way(before: str, after: str, parts: Sequence[str]) -> str:
    """Return what happens between two neighbours in a lane, where x is what is left out."""
    if KINDS.get(after) == "weights":
        if before == "queries":
            return "@ x.T, softmax"
        return "softmax" if "queries" in parts else "x @ keys.T, softmax"
    if after == "context":
        return "" if before == "values" else "@ x"
    return "@"
