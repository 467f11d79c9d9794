"""The map: all of attention in one picture, which grows from notebook to notebook."""

from functools import cache

import numpy as np

from chapter3_helpers._checks.numbers import check_size
from chapter3_helpers.diagrams.core import Arrow, Block, Bracket, Diagram

# step -> the notebook that builds it
BUILT_IN = {
    "tokens": 1,
    "x": 1,
    "scores": 1,
    "softmax": 2,
    "mix": 2,
    "queries": 3,
    "keys": 3,
    "values": 3,
    "scale": 3,
    "mask": 4,
    "dropout": 5,
    "heads": 6,
    "concat": 6,
    "out_proj": 7,
    "positions": 8,
    "feed-forward": 9,
    "cache": 11,
}
# what the other notebooks are about, of what stands on the map
ABOUT = {
    0: ("scores", "softmax", "mix"),
    10: ("x", "positions", "queries", "keys", "values", "out_proj"),
    12: ("scores", "scale", "mask", "softmax", "dropout", "mix"),
    13: ("heads", "out_proj"),
}
LAST = 13


def attention_map(notebook: int) -> Diagram:
    """Draw the map of attention as it stands at the start of a notebook.

    What the notebook is about is lit, what the ones before it built is in colour, the rest is
    grey. The numbers in it are those of three tokens; shapes are in letters.

    Args:
        notebook: its number, 0 to 13.

    Returns:
        The diagram, to be the last line of a cell.

    Raises:
        TypeError, ValueError: there is no such notebook.

    >>> attention_map(4).description.splitlines()[1]
    'Framed: mask.'
    """
    notebook = check_size("notebook", notebook, 0)
    if notebook > LAST:
        raise ValueError(f"notebook must be at most {LAST}, got {notebook}")
    masked = state_in(notebook, "mask") != "grey"
    values = example_values(masked)

    # no weight is hidden before a mask is known; the box of the mask is, always
    hatched = ("mask", "softmax", "dropout") if masked else ("mask",)

    def block(name: str, column: int, row: int, shape: str, kind: str = "signed") -> Block:
        return Block(
            name=name,
            at=(column, row),
            values=values[name],
            kind=kind,
            shape=shape,
            state=state_in(notebook, name),
            hidden=values["hidden"] if name in hatched else None,
            limit=values["limit"] if name in ("scores", "scale", "mask") else None,
        )

    return Diagram(
        _title(notebook),
        cell=12,
        blocks=[
            block("tokens", 0, 0, "(T,)", "tokens"),
            block("x", 0, 1, "(T, d)"),
            block("positions", 0, 2, "(T, d)"),
            block("queries", 1, 0, "(T, D)", "query"),
            block("keys", 1, 1, "(T, D)", "key"),
            block("values", 1, 2, "(T, D)", "value"),
            block("scores", 2, 0, "(T, T)"),
            block("scale", 3, 0, "(T, T)"),
            block("mask", 4, 0, "(T, T)"),
            block("softmax", 4, 1, "weights (T, T)", "weights"),
            block("dropout", 3, 1, "(T, T)", "weights"),
            block("mix", 2, 2, "context (T, D)"),
            block("concat", 2, 3, "(T, H·D)"),
            block("out_proj", 3, 3, "(T, d)"),
            block("feed-forward", 4, 3, "(T, d)"),
        ],
        arrows=[
            Arrow("tokens", "x"),
            Arrow("positions", "x", "+"),
            Arrow("x", "queries"),
            Arrow("x", "keys"),
            Arrow("x", "values"),
            Arrow(("queries", "keys"), "scores"),
            Arrow("scores", "scale"),
            Arrow("scale", "mask"),
            Arrow("mask", "softmax"),
            Arrow("softmax", "dropout"),
            Arrow(("dropout", "values"), "mix"),
            Arrow("mix", "concat"),
            Arrow("concat", "out_proj"),
            Arrow("out_proj", "feed-forward"),
        ],
        brackets=[
            Bracket(
                "heads",
                (
                    *("queries", "keys", "values", "scores", "scale", "mask", "softmax"),
                    *("dropout", "mix"),
                ),
                state_in(notebook, "heads"),
            ),
            Bracket("cache", ("keys", "values"), state_in(notebook, "cache")),
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
    lit = (step for step in BUILT_IN if state_in(notebook, step) == "lit")
    *most, last = ABOUT.get(notebook, lit)  # in the order of the way through the map
    return f"You are here: {' and '.join([', '.join(most), last] if most else [last])}"


@cache
def example_values(masked: bool = True) -> dict:
    """Compute the numbers that the map shows, for one head of three tokens."""
    generator = np.random.default_rng(4)
    x, positions = generator.normal(size=(2, 3, 3))
    queries, keys, values = (x @ generator.normal(size=(3, 2)) for _ in range(3))
    scores = queries @ keys.T
    scaled = scores / np.sqrt(2)
    hidden = np.triu(np.ones((3, 3), bool), 1)
    exponentials = np.exp(np.where(hidden & masked, -np.inf, scaled))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    kept = [[1, 0, 0], [0, 1, 0], [1, 0, 1]]
    context = (weights * kept) @ values
    return {
        "tokens": ["the", "cat", "sat"],
        "x": x,
        "positions": positions,
        "queries": queries,
        "keys": keys,
        "values": values,
        "scores": scores,
        "scale": scaled,
        "mask": scaled,
        "softmax": weights,
        "dropout": weights * kept,
        "mix": context,
        "concat": np.concatenate([context, generator.normal(size=(3, 2))], axis=1),
        "out_proj": generator.normal(size=(3, 3)),
        "feed-forward": generator.normal(size=(3, 3)),
        "hidden": hidden,
        "limit": np.abs(scores).max(),
    }
