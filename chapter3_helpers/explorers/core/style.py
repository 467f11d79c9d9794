"""How an explorer looks: the colour of a number, how it is written, and the CSS of all explorers.

The rules stand in ``explorers.css``; here those are written of which there is one a colour.
"""

import base64
import html
import importlib.resources
import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from PIL import Image

from chapter3_helpers._figures.arrays import hidden_cells, to_array
from chapter3_helpers._figures.colours import (
    CELL_BORDER,
    KEY_COLOUR,
    LEVELS,
    QUERY_COLOUR,
    SIGNED_COLOURS,
    WEIGHT_COLOURS,
    ink,
    levels,
    palette,
)
from chapter3_helpers._language import in_a_row, say

MOST_NAMED = 3  # tokens that are named where their weights are equal

# Places in the palette of a small picture behind those of weights; hidden cells are seen on a light
# and on a dark page.
HIDDEN, NOTHING = LEVELS + 1, LEVELS + 2
_PALETTE = b"".join(bytes.fromhex(colour[1:]) for colour in palette(WEIGHT_COLOURS))
_PALETTE += bytes((176, 176, 176, 0, 0, 0))

_WEIGHTS = np.array([f"w{level}" for level in range(LEVELS + 1)])
_SIGNED = np.array([f"s{level}" for level in range(LEVELS + 1)])


def colour_classes(values: np.ndarray, hidden: Any = None, signed: bool = False) -> np.ndarray:
    """Return the CSS class of every cell: ``w0`` to ``w100`` for weights, ``s0`` to ``s100`` for
    signed numbers (``s50`` is zero), ``h`` for hidden ones."""
    hide = hidden_cells(values, hidden)
    return np.where(hide, "h", (_SIGNED if signed else _WEIGHTS)[levels(values, hide, signed)])


def _colour_rules(prefix: str, colours: tuple[str, ...]) -> str:
    """Write a CSS rule for every colour, with the ink that is legible on it."""
    return "".join(
        f".c3 td.{prefix}{level}{{background:{ground};color:{ink(ground)}}}"
        for level, ground in enumerate(palette(colours))
    )


_RULES = importlib.resources.files(__package__).joinpath("explorers.css").read_text("utf-8")
CSS = (
    f"{_RULES}.c3{{--cell-border:{CELL_BORDER};--query:{QUERY_COLOUR};--key:{KEY_COLOUR}}}"
    + _colour_rules("w", WEIGHT_COLOURS)
    + _colour_rules("s", SIGNED_COLOURS)
)
STYLE = f"<style>{CSS}</style>"


def png(places: np.ndarray, indexed: bool = False) -> str:
    """Return places in the palette (rows, columns) as the address of a PNG that is all in it, a
    pixel for each; ``indexed`` keeps the places, from which ``hands.js`` reads weights.

    Twenty-four heads as tables took ten milliseconds of every step of a slider; as pictures they
    take one. A browser enlarges them without smoothing.
    """
    image, file = Image.fromarray(places.astype(np.uint8), "P"), io.BytesIO()
    image.putpalette(_PALETTE)
    if indexed:
        image.save(file, "PNG", transparency=NOTHING, compress_level=6)
    else:
        image.convert("RGB").save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def decimals_for(values: Any) -> int:
    """Return how many decimals to write: two, or four where two show hardly any difference.

    >>> decimals_for([0.1, 0.7]), decimals_for([0.1652, 0.1678])
    (2, 4)
    """
    finite = to_array(values)
    finite = finite[np.isfinite(finite)]
    return 4 if finite.size and 0 < np.ptp(finite) < 0.1 else 2


def written(number: float, decimals: int = 2) -> str:
    """Write a number as all explorers do: with the sign of minus, and none before a zero.

    >>> written(-0.58), written(-0.001)
    ('−0.58', '0.00')
    """
    return f"{float(number):z.{decimals}f}".replace("-", "−")


def brief(number: float) -> str:
    """Write a number with no more digits than it needs.

    >>> brief(-2048.0), brief(0.5)
    ('−2048', '0.5')
    """
    return f"{number:zg}".replace("-", "−")


def named(tokens: Sequence[str], n: int) -> str:
    """Return a token, with its place as on the buttons where it stands at another one too."""
    return f"{n} {tokens[n]}" if list(tokens).count(tokens[n]) > 1 else tokens[n]


def largest(weights: Any, tokens: Sequence[str]) -> tuple[list[str], str]:
    """Return the names of the tokens with the largest weight (T,), and how it is written.

    >>> largest([0.375, 0.25, 0.375], ["the", "milk", "the"])
    (['0 the', '2 the'], '0.38')
    """
    said = [written(weight) for weight in weights]
    most = said[int(to_array(weights).argmax())]
    return [named(tokens, n) for n, weight in enumerate(said) if weight == most], most


def listed(names: Iterable[str]) -> str:
    """Return names as they stand in a sentence, the first three if there are more.

    >>> listed("a"), listed("ab"), listed("abcde")
    ('a', 'a and b', 'a, b, c and 2 others')
    """
    *before, last = names
    if len(before) >= MOST_NAMED:
        others = len(before) + 1 - MOST_NAMED
        more = say("1 other") if others == 1 else say("{count} others", count=others)
        before, last = before[:MOST_NAMED], more
    return in_a_row([*before, last])


def quoted(name: str) -> str:
    """Return a name between quotation marks."""
    return say("“{name}”", name=name)


def escape(text: str) -> str:
    """Make a text safe inside HTML, in attributes too."""
    return html.escape(str(text), quote=True)
