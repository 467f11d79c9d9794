"""Tick labels and titles for tokens of any script, whatever fonts a machine has.

Used by ``plots``. Characters that no installed font can draw are written as their code points
(``U+6211``) instead of as empty boxes.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from chapter3_helpers._figures.writing import JOINER, LONGEST_LABEL, short, visible

LONGEST_TITLE = 80  # letters


def label_ticks(axis: Any, positions: Iterable[float], labels: Sequence[str], rotation: int):
    axis.set_ticks(positions)
    texts = [printable(label, LONGEST_LABEL) for label in labels]
    slanted = 0 < rotation < 90
    turned = {"rotation": rotation, "rotation_mode": "anchor" if slanted else "default"}
    if axis.axis_name == "x":
        turned["ha"] = "right" if slanted else "center"
    for tick, text in zip(axis.set_ticklabels(texts, **turned), texts, strict=True):
        tick.set(parse_math=False, fontfamily=font_families(text))


def label_in_full(axis: Any) -> None:
    """Put plain numbers at the ticks of a logarithmic axis: 500, not 5 x 10^2."""
    low, high = axis.get_data_interval()
    short = high < 300 * low  # too few powers of ten to read anything off
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if short else (1,)))
    axis.set_minor_locator(NullLocator())
    if low >= 1e-3 and high < 1e5:
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))


def write(put: Text, text: str, longest: int = LONGEST_TITLE) -> None:
    """Give a title, the name of an axis, ... its words: no formula, and in fonts that have them.

    Args:
        put: the text of matplotlib, such as ``ax.set_title("")``.
        text: what to write.
        longest: the letters after which it is cut.
    """
    text = printable(text, longest)
    put.set(text=text, parse_math=False, fontfamily=font_families(text))


def printable(text: str, longest: int | None = None) -> str:
    """Shorten a text, make its invisible characters visible, and replace what no font has.

    >>> printable("uncharacteristically", longest=14), printable("a\\tb")
    ('uncharacteris…', 'a\\\\tb')
    """
    text = visible(text, longest).replace(JOINER, "")
    if font_families(text) is None:
        default = _font_characters(font_manager.findfont("DejaVu Sans"))
        text = "".join(c if ord(c) in default else f"U+{ord(c):04X}" for c in text)
    return text if longest is None else short(text, longest)


@functools.lru_cache(maxsize=4096)
def font_families(text: str) -> tuple[str, ...] | None:
    """Find installed fonts that together have every character of ``text``; None if none do."""
    families = ["DejaVu Sans"]
    missing = set(map(ord, text)) - _font_characters(font_manager.findfont("DejaVu Sans"))
    for entry in font_manager.fontManager.ttflist if missing else ():
        if "Last Resort" in entry.name:  # it has a box for every character
            continue
        if drawn := missing & _font_characters(entry.fname):
            families.append(entry.name)
            missing -= drawn
        if not missing:
            break
    return None if missing else tuple(families)


@functools.lru_cache(maxsize=1024)
def _font_characters(path: str) -> frozenset[int]:
    """Return the code points that a font file can draw."""
    try:
        return frozenset(FT2Font(path).get_charmap())
    except (RuntimeError, OSError):  # a font that matplotlib lists but can't read
        return frozenset()
