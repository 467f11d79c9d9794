"""The map: all of attention in one picture, which grows from notebook to notebook.

Its boxes are named by the steps of attention. What a step makes has the name that it has in
``attention_diagram`` too.
"""

from functools import cache
from itertools import pairwise

import numpy as np

from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers._language import in_a_row, to_say
from chapter3_helpers.diagrams.core import Arrow, Block, Bracket, Diagram

# step: the notebook that builds it, its place, the kind of its numbers, its shape in letters (D is
# still d before notebook 03 projects x)
STEPS = {
    "tokens": (1, (0, 0), "tokens", "(T,)"),
    "x": (1, (0, 1), "signed", "(T, d)"),
    "positions": (8, (0, 2), "signed", "(T, d)"),
    "queries": (3, (1, 0), "query", "(T, D)"),
    "keys": (3, (1, 1), "key", "(T, D)"),
    "values": (3, (1, 2), "value", "(T, D)"),
    "scores": (1, (2, 0), "signed", "(T, T)"),
    "mask": (4, (3, 0), "signed", "(T, T)"),
    "scale": (3, (4, 0), "signed", "(T, T)"),
    "softmax": (2, (4, 1), "weights", "weights (T, T)"),
    "dropout": (5, (3, 1), "weights", "(T, T)"),
    "mix": (2, (2, 2), "signed", "context (T, D)"),
    "concat": (6, (2, 3), "signed", "(T, H·D)"),
    "out_proj": (7, (3, 3), "signed", "(T, d)"),
    "feed-forward": (9, (4, 3), "signed", "(T, d)"),
    "logits": (9, (4, 4), "signed", to_say("(T, vocabulary)")),
}
MADE_BY = {
    "scale": "scaled",
    "mask": "masked",
    "softmax": "weights",
    "dropout": "dropped",
    "mix": "context",
}
HEAD = ("queries", "keys", "values", "scores", "mask", "scale", "softmax", "dropout", "mix")
# Before notebook 03 a token is query, key and value itself: the map has these steps alone, here.
FIRST = {"tokens": (0, 0), "x": (0, 1), "scores": (1, 0), "softmax": (2, 0), "mix": (2, 1)}
ARROWS = (
    Arrow("tokens", "x"),
    Arrow("positions", "x", "+"),
    Arrow("x", "queries"),
    Arrow("x", "keys"),
    Arrow("x", "values"),
    Arrow(("queries", "keys"), "scores"),
    *(Arrow(*ends) for ends in pairwise(("scores", "mask", "scale", "softmax", "dropout"))),
    Arrow(("dropout", "values"), "mix"),
    Arrow("mix", "concat"),
    Arrow("concat", "out_proj"),
)
FIRST_ARROWS = (
    Arrow("tokens", "x"),
    Arrow("x", "scores"),
    Arrow("scores", "softmax"),
    Arrow(("softmax", "x"), "mix"),
)
# From notebook 09 on the map is that of a block: what is added, and put out at the end.
ARROWS_OF_A_BLOCK = (
    Arrow("out_proj", "feed-forward", "+ x"),
    Arrow("feed-forward", "logits", "+ x, output"),
)
NORMS = to_say(
    "A norm stands before queries, keys and values, before feed-forward, and before output."
)
BRACKETS = {"heads": (6, HEAD), "cache": (12, ("keys", "values"))}
BUILT_IN = {name: notebook for name, (notebook, *_) in {**BRACKETS, **STEPS}.items()}
# what the other notebooks are about, of what stands on the map
ABOUT = {
    0: ("scores", "softmax", "mix"),
    10: ("x", "scores", "softmax", "mix"),
    11: ("x", "positions", "queries", "keys", "values", "out_proj"),
    13: ("scores", "mask", "scale", "softmax", "dropout", "mix"),
    14: ("heads", "out_proj"),
    15: tuple(STEPS),
    16: ("heads", "scores", "softmax", "mix", "out_proj"),
}
LAST = 16
LETTERS = {
    "T": to_say("T = how many tokens"),
    "d": to_say("d = numbers for each"),
    "D": to_say("D = numbers of a query, key, value"),
    "H": to_say("H = heads"),
}


def attention_map(notebook: int | None = None, shapes: dict[str, str] | None = None) -> Diagram:
    """Draw the map of attention as it stands at the start of a notebook, or the whole of it.

    What the notebook is about is lit and large, what the ones before it built is in colour. The
    rest is grey and has no shape yet. Before notebook 03 only its first five steps are there, and
    before notebook 09 nothing of what makes a block of them. The numbers are those of three
    tokens; shapes are in letters, which the line below the title explains.

    Args:
        notebook: its number, 0 to 16; without one, every step is known and none is lit.
        shapes: what stands below a step in place of its shape in letters, by the step's name.

    Returns:
        The diagram, to be the last line of a cell.

    Raises:
        ValueError: there is no such notebook.

    >>> print("\\n".join(attention_map(2).description.splitlines()[:3]))
    Diagram: You are here: softmax and mix.
    T = how many tokens, d = numbers for each
    Framed: softmax, mix.
    """
    if notebook is None:
        notebook = LAST + 1  # after all of them
    elif notebook not in range(LAST + 1):
        raise ValueError(f"notebook must be from 0 to {LAST}, got {notebook!r}")
    built = (state_in(notebook, step) != "grey" for step in ("queries", "mask", "dropout"))
    projected, masked, dropped = built
    whole = state_in(notebook, "logits") != "grey"
    rest = ARROWS_OF_A_BLOCK if whole else (Arrow("out_proj", "feed-forward"),)
    numbers = example_numbers(projected, masked, dropped)

    # the box of the mask is always hatched, the weights only once there is a mask
    hatched = ("mask", "scale", "softmax", "dropout") if masked else ("mask",)
    blocks, written = [], ""
    for name, (_, at, kind, shape) in STEPS.items():
        if not projected:
            if name not in FIRST:
                continue
            at = FIRST[name]
        elif name == "logits" and not whole:
            continue
        state = state_in(notebook, name)
        shape = "" if state == "grey" else shape if projected else shape.replace("D", "d")
        written += shape
        blocks.append(
            Block(
                name,
                at,
                numbers[MADE_BY.get(name, name)],
                kind=kind,
                shape=(shapes or {}).get(name, say_drawn(shape)),
                state=state,
                zoom=2 if state == "lit" else 1,
                hidden=numbers["hidden"] if name in hatched else None,
                limit=numbers["limit"] if name in ("scores", "scale", "mask") else None,
            )
        )
    letters = [say_drawn(words) for letter, words in LETTERS.items() if letter in written]
    notes = [] if shapes else [say_drawn(", ").join(letters)]
    notes += [say_drawn(NORMS)] if whole else []
    return Diagram(
        _title(notebook),
        note=say_drawn(". ").join(notes),
        cell=12,
        blocks=blocks,
        arrows=(*ARROWS, *rest) if projected else FIRST_ARROWS,
        brackets=[
            Bracket(name, blocks, state_in(notebook, name))
            for name, (_, blocks) in BRACKETS.items()
            if projected
        ],
    )


def state_in(notebook: int, step: str) -> str:
    """Return whether a notebook is about a step, comes after it, or before it.

    >>> state_in(3, "queries"), state_in(3, "scores"), state_in(3, "mask")
    ('lit', 'known', 'grey')
    """
    if step in ABOUT.get(notebook, ()) or BUILT_IN[step] == notebook:
        return "lit"
    return "known" if BUILT_IN[step] < notebook else "grey"


def _title(notebook: int) -> str:
    if notebook > LAST:
        return say_drawn("All of attention")
    lit = (step for step in BUILT_IN if state_in(notebook, step) == "lit")
    if ABOUT.get(notebook) == tuple(STEPS):
        return say_drawn("You are here: the whole model")
    steps = [*ABOUT.get(notebook, lit)]  # in the order of the way through the map
    return say_drawn("You are here: {steps}", steps=in_a_row(steps, say_drawn))


@cache
def example_numbers(projected: bool, masked: bool, dropped: bool) -> dict:
    """Compute the numbers that the map shows, for one head of three tokens.

    A step that is not known yet changes nothing: without projections, queries, keys and values
    are x, and nothing is scaled.
    """
    generator = np.random.default_rng(4)
    x, positions = generator.normal(size=(2, 3, 3))
    queries, keys, values = (x @ generator.normal(size=(3, 2)) for _ in range(3))
    if not projected:
        queries = keys = values = x
    scores = queries @ keys.T
    scaled = scores / np.sqrt(2) if projected else scores
    hidden = np.triu(np.ones((3, 3), bool), 1)
    exponentials = np.exp(np.where(hidden & masked, -np.inf, scaled))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    kept = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 1]]) if dropped else 1
    context = (weights * kept) @ values
    return {
        "tokens": ["the", "cat", "sat"],
        "x": x,
        "positions": positions,
        "queries": queries,
        "keys": keys,
        "values": values,
        "scores": scores,
        "masked": scores,
        "scaled": scaled,
        "weights": weights,
        "dropped": weights * kept,
        "context": context,
        "concat": np.concatenate([context, generator.normal(size=(3, 2))], axis=1),
        "out_proj": generator.normal(size=(3, 3)),
        "feed-forward": generator.normal(size=(3, 3)),
        "logits": generator.normal(size=(3, 4)),
        "hidden": hidden,
        "limit": np.abs(scores).max(),
    }
