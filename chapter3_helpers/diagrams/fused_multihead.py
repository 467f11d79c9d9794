"""How one projection is cut into heads, and whose numbers each head gets.

Used by ``07_fused_multihead``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from chapter3_helpers._figures.arrays import check_labels, to_array
from chapter3_helpers.diagrams.core import Arrow, Block, Bracket, Diagram


def split_diagram(
    projected: Any, viewed: Any, heads: Any, wrong: Any, tokens: Sequence[str]
) -> Diagram:
    """Follow the numbers of every token, by colour, through a cut into two heads and back.

    All numbers are the rows of the tokens that they belong to: 0, 1, 2, ...

    Args:
        projected: (T, 2 * D).
        viewed: (T, 2, D), the same numbers cut by ``view``.
        heads: (2, T, D), that transposed.
        wrong: (2, T, D), cut by ``view`` alone.
        tokens: their names.

    Raises:
        ValueError: shapes do not fit.

    >>> import numpy as np
    >>> owners = np.array([[0, 0], [1, 1]])
    >>> viewed = owners.reshape(2, 2, 1)
    >>> heads, wrong = viewed.transpose(1, 0, 2), owners.reshape(2, 2, 1)
    >>> diagram = split_diagram(owners, viewed, heads, wrong, ["cat", "dog"])
    >>> diagram["view alone: head 0"].values.tolist()  # both rows are those of cat
    [[0.0], [0.0]]
    """
    projected, viewed, heads, wrong = map(to_array, (projected, viewed, heads, wrong))
    T, _, D = viewed.shape if viewed.ndim == 3 else (0, 0, 0)
    shapes = (projected.shape, viewed.shape, heads.shape, wrong.shape)
    if shapes != ((T, 2 * D), (T, 2, D), (2, T, D), (2, T, D)):
        raise ValueError(
            "projected, viewed, heads and wrong must have shapes (T, 2 * D), (T, 2, D), "
            f"(2, T, D) and (2, T, D), got {', '.join(map(str, shapes))}"
        )
    check_labels(T, tokens=tokens)
    cells = {"kind": "owner", "numbers": True}
    blocks = [
        Block(name="projected", values=projected, rows=tokens, **cells),
        Block(
            name="viewed",
            at=(1, 0),
            values=viewed.reshape(2 * T, D),
            shape=str(viewed.shape),
            **cells,
        ),
        Block(name="joined", at=(4, 0), values=np.concatenate(list(heads), axis=1), **cells),
    ]
    brackets = []
    for row, (way, cut) in enumerate({"view, transpose": heads, "view alone": wrong}.items()):
        names = tuple(f"{way}: head {head}" for head in range(2))
        blocks += [
            Block(name=name, at=(2 + head, row), values=cut[head], caption=f"head {head}", **cells)
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
