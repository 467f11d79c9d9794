"""How one projection is cut into heads, and how ``out_proj`` brings their findings together.

Used by ``07_fused_multihead``.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import size_of, to_array
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
    for row, (way, cut) in enumerate({"view, transpose": heads, "view alone": wrong}.items()):
        names = tuple(f"{way}: head {head}" for head in range(2))
        blocks += [
            Block(name, (2 + head, row), cut[head], caption=f"head {head}", **cells)
            for head, name in enumerate(names)
        ]
        brackets.append(Bracket(way, names))
    arrows = [
        Arrow("projected", "viewed", "view"),
        Arrow("viewed", "view, transpose", "transpose"),
        Arrow("view, transpose: head 1", "joined", "join"),
        Arrow("projected", "view alone", "view"),
    ]
    return Diagram("Whose numbers each head gets", blocks, arrows, brackets)


def out_proj_diagram(contexts: Any, weight: Any, output: Any, bias: Any = None) -> Diagram:
    """Draw how ``out_proj`` makes one vector, (d_out,), of what all heads found for one token.

    Every head owns a block of columns of ``weight``, (d_out, H * D). Their
    ``contexts``, (H, D), first meet in the sum along a row. Whether there is a ``bias`` is said.
    """
    contexts, weight, output = map(to_array, (contexts, weight, output))
    H, D = contexts.shape
    strips = [f"head {head}" for head in range(H)]
    numbers = [f"{h * D} to {h * D + D - 1}" if D > 1 else str(h) for h in range(H)]
    columns = [f"column{'s' * (D > 1)} {places}" for places in numbers]
    limit = size_of(contexts)
    blocks = [
        Block(strip, (h, 0), contexts[h], caption=f"{strip}: {numbers[h]}", limit=limit)
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
    words = "row sums" if bias is None else "row sums + bias"
    arrows.append(Arrow(columns[-1], "output", words))
    joined = Bracket(f"joined: {H * D} numbers", tuple(strips))
    title = "out_proj: where the findings of the heads first meet"
    return Diagram(title, blocks, arrows, [joined], cell=10)
