"""What joins the blocks of a diagram: arrows between them, brackets around them."""

from dataclasses import dataclass

from chapter3_helpers._checks.numbers import check_choice
from chapter3_helpers.diagrams.core.blocks import STATES


@dataclass(frozen=True)
class Arrow:
    """An arrow from one block, or from several, to what is made of them.

    Args:
        source: the name of a block, or several names.
        target: the name of a block, or the text of a bracket: then it ends at the frame, before
            the first of its blocks.
        text: what happens on the way, ``@ W_query``.
        weight: from 0 to 1, how thick a straight line down is to be; its text is said, not drawn.
        via: the way to take: ``right`` leads out and in again at the right, within a column;
            ``below`` out at the bottom and along the gap there, to a row further down or the same.
        sign: whether the text alone is drawn, between two neighbours, as in ``weights @ values``.
    """

    source: str | tuple[str, ...]
    target: str
    text: str = ""
    weight: float | None = None
    via: str | None = None
    sign: bool = False

    def __post_init__(self):
        if self.via is not None:
            check_choice("via", self.via, ("below", "right"))
        if self.weight is not None and not 0 <= self.weight <= 1:
            raise ValueError(f"weight must be from 0 to 1, got {self.weight!r}")

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the blocks that it comes from."""
        return (self.source,) if isinstance(self.source, str) else tuple(self.source)


@dataclass(frozen=True)
class Bracket:
    """A frame around blocks that belong together, such as those of one head.

    Args:
        text: what they are, ``head 0``.
        blocks: their names. Nothing else may stand between them.
        state: as for a block.
    """

    text: str
    blocks: tuple[str, ...]
    state: str = "known"

    def __post_init__(self):
        check_choice("state", self.state, STATES)
