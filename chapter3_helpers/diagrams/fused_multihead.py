"""How one projection is cut into heads, and how ``out_proj`` brings their findings together.

Used by ``07_fused_multihead``.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import size_of, to_array
from chapter3_helpers._figures.said import say_drawn
from chapter3_helpers._language import to_say
from chapter3_helpers.diagrams.core import Arrow, Block, Bracket, Diagram


def split_diagram(
    projected: Any, viewed: Any, heads: Any, wrong: Any, tokens: Sequence[str]
) -> Diagram:
    """Follow the numbers of every token, by colour, through a cut into two heads and back.

    Each number is the row of the token that it belongs to: of ``projected`` (T, 2 * D), of
    ``viewed`` (T, 2, D), of ``heads``, that transposed, and of ``wrong`` (2, T, D), cut by ``view``
    alone.
    """
    projected, viewed, heads, wrong = map(to_array, (projected, viewed, heads, wrong))
    T, _, D = viewed.shape
    cells = {"kind": "owner", "numbers": True}
    joined = np.concatenate(list(heads), axis=1)
    blocks = [
        Block("projected", (0, 0), projected, rows=tokens, **cells),
        Block("viewed", (1, 0), viewed.reshape(2 * T, D), shape=str(viewed.shape), **cells),
        Block("joined", (4, 0), joined, **cells),
    ]
    brackets = []
    right, alone = "view, transpose", say_drawn("view alone")
    captions = [say_drawn("head {head}", head=head) for head in range(2)]
    for row, (way, cut) in enumerate({right: heads, alone: wrong}.items()):
        names = tuple(f"{way}: {caption}" for caption in captions)
        blocks += [
            Block(name, (2 + head, row), cut[head], caption=captions[head], **cells)
            for head, name in enumerate(names)
        ]
        brackets.append(Bracket(way, names))
    arrows = [
        Arrow("projected", "viewed", "view"),
        Arrow("viewed", right, "transpose"),
        Arrow(f"{right}: {captions[-1]}", "joined", say_drawn("join")),
        Arrow("projected", alone, "view"),
    ]
    return Diagram(say_drawn("Whose numbers each head gets"), blocks, arrows, brackets)


def out_proj_diagram(contexts: Any, weight: Any, output: Any, bias: Any = None) -> Diagram:
    """Draw how ``out_proj`` makes one vector, (d_out,), of what all heads found for one token.

    Every head owns a block of columns of ``weight``, (d_out, H * D). Their
    ``contexts``, (H, D), first meet in the sum along a row. Whether there is a ``bias`` is said.
    """
    contexts, weight, output = map(to_array, (contexts, weight, output))
    H, D = contexts.shape
    strips = [say_drawn("head {head}", head=head) for head in range(H)]
    if D > 1:
        whose = to_say("head {head}: {first} to {last}")
        where = to_say("columns {first} to {last}")
    else:
        whose, where = to_say("head {head}: {first}"), to_say("column {first}")
    places = [{"first": h * D, "last": h * D + D - 1} for h in range(H)]
    columns = [say_drawn(where, **place) for place in places]
    captions = [say_drawn(whose, head=h, **place) for h, place in enumerate(places)]
    limit = size_of(contexts)
    blocks = [
        Block(strip, (h, 0), contexts[h], caption=captions[h], limit=limit)
        for h, strip in enumerate(strips)
    ]
    limit = size_of(weight)
    blocks += [
        Block(name, (h, 1), weight[:, h * D : h * D + D], limit=limit)
        for h, name in enumerate(columns)
    ]
    blocks.append(Block("output", (H, 1), output[:, None]))
    arrows = [Arrow(strip, block, "@") for strip, block in zip(strips, columns, strict=True)]
    arrows += [Arrow(*pair, "+", sign=True) for pair in pairwise(columns)]
    words = say_drawn("row sums") if bias is None else say_drawn("row sums + bias")
    arrows.append(Arrow(columns[-1], "output", words))
    joined = Bracket(say_drawn("joined: {count} numbers", count=H * D), tuple(strips))
    title = say_drawn("out_proj: where the findings of the heads first meet")
    return Diagram(title, blocks, arrows, [joined], cell=10)
