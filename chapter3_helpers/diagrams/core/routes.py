"""Which ways arrows take between blocks on a grid."""

from collections.abc import Iterable
from dataclasses import dataclass

from chapter3_helpers.diagrams.core.parts import Arrow

At = tuple[int, int]  # (column, row)


@dataclass(frozen=True)
class Route:
    """One way from a block to another. Gap ``c`` between columns lies right of column ``c``.

    ``turn`` says where it turns: ``nowhere``, ``early`` (in the gap beside the source), ``late``
    (in the gap beside the target), ``right`` (out at the right and in again at the right, within a
    column), ``below`` (out at the bottom, along the gap below the source's row, and into the
    target: from above, or from below where it stands in the same row).
    """

    source: At
    target: At
    turn: str

    @property
    def leaves_right(self) -> bool:
        return self.target[0] > self.source[0] or self.turn == "right"

    @property
    def falls(self) -> bool:
        return self.target[1] > self.source[1]

    @property
    def upright(self) -> bool:
        """Whether it enters the target from above or below, without a turn."""
        return self.turn == "nowhere" and self.source[0] == self.target[0]

    @property
    def gap_of_words(self) -> int:
        """The gap between columns in which its words stand, beside the target."""
        column = self.target[0]
        return column - 1 if column > self.source[0] else column

    @property
    def spot_of_words(self) -> tuple:
        """What no two arrows may share if both carry words."""
        if self.upright or self.turn == "below":
            return self.turn, self.target[0], self.row_gap
        return "gap", self.gap_of_words, self.source[1] if self.turn == "late" else self.target[1]

    @property
    def turn_gap(self) -> tuple[int, str] | None:
        """The gap between columns in which it turns, and at which side of that."""
        column = self.source[0]
        if self.turn == "right":
            return column, "right"
        if self.turn == "early":
            return (column, "left") if self.leaves_right else (column - 1, "right")
        if self.turn == "late":
            return self.gap_of_words, "right" if self.leaves_right else "left"
        return None

    @property
    def row_gap(self) -> int:
        """The gap below row ``r`` through which it comes to the target."""
        if self.turn == "below":
            return self.source[1]
        return self.target[1] - 1 if self.falls else self.target[1]


@dataclass(frozen=True)
class Way:
    """How an arrow gets from one of its sources to its target."""

    arrow: Arrow
    source: str
    route: Route
    state: str

    @property
    def words(self) -> str:
        """What is written on it; of several sources only the first has the words."""
        return self.arrow.text if self.source == self.arrow.sources[0] else ""

    @property
    def stretch(self) -> tuple[str, str]:
        """Whose turns lie on each other: those of all ways from a source, or to a target."""
        single = len(self.arrow.sources) == 1
        return ("from", self.source) if single else ("to", self.arrow.target)


def find_route(
    source: At,
    target: At,
    taken: Iterable[At],
    via: str | None = None,
    words: Iterable[tuple] = (),
) -> Route | None:
    """Return the first way that crosses no other block; None if there is none.

    Args:
        source, target: where it starts and ends.
        taken: where blocks stand.
        via: the way to take, as for ``Arrow``.
        words: spots at which its own words could not stand, since others do.

    >>> find_route((0, 0), (2, 1), taken=[(1, 1)]).turn
    'late'
    """
    (c0, r0), (c1, r1) = source, target
    columns = range(min(c0, c1) + 1, max(c0, c1))
    down = {(c1, row) for row in range(min(r0, r1) + 1, max(r0, r1))}
    early, late = ({(column, row) for column in columns} for row in (r1, r0))
    if source == target or (via == "right" and c0 != c1) or (via == "below" and r0 > r1):
        turns = {}
    elif via == "right":
        turns = {"right": set()}
    elif c0 == c1 or (r0 == r1 and via is None):
        turns = {"nowhere": down | early}
    elif via == "below":
        turns = {"below": down}
    else:
        turns = {"early": early, "late": late}
    routes = (Route(source, target, turn) for turn, way in turns.items() if way.isdisjoint(taken))
    return next((route for route in routes if route.spot_of_words not in words), None)
