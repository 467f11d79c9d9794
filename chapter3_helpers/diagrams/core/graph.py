"""A graph: parts that fit together, and which way each arrow takes, before anything is drawn."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from chapter3_helpers._figures.arrays import check_count
from chapter3_helpers.diagrams.core.parts import Arrow, Block, Bracket, Plane

At = tuple[int, int]  # (column, row)


@dataclass(frozen=True)
class Route:
    """One way from a block to another. Gap ``c`` between columns lies right of column ``c``.

    ``turn`` says where it turns: ``straight`` (nowhere), ``early`` (in the gap beside the source),
    ``late`` (in the gap beside the target), ``side`` (out at the right and in again at the right,
    within a column), ``below`` (out at the bottom, along the gap below the source's row, and into
    the target: from above, or from below where it stands in the same row).
    """

    source: At
    target: At
    turn: str

    @property
    def right(self) -> bool:
        """Whether it leaves its source at the right."""
        return self.target[0] > self.source[0] or self.turn == "side"

    @property
    def falls(self) -> bool:
        return self.target[1] > self.source[1]

    @property
    def upright(self) -> bool:
        """Whether it enters the target from above or below."""
        return self.turn == "straight" and self.source[0] == self.target[0]

    @property
    def word_gap(self) -> int:
        """The gap between columns in which its words stand, beside the target."""
        column = self.target[0]
        return column - 1 if self.target[0] > self.source[0] else column

    @property
    def word_spot(self) -> tuple:
        """What no two arrows may share if both carry words."""
        if self.upright or self.turn == "below":
            return self.turn, self.target[0], self.row_gap
        return "gap", self.word_gap, self.source[1] if self.turn == "late" else self.target[1]

    @property
    def turn_gap(self) -> tuple[int, str] | None:
        """The gap between columns in which it turns, and at which side of that."""
        if self.turn == "early":
            column = self.source[0]
            return (column, "left") if self.right else (column - 1, "right")
        if self.turn == "late":
            return self.word_gap, "right" if self.right else "left"
        return (self.source[0], "right") if self.turn == "side" else None

    @property
    def row_gap(self) -> int:
        """The gap below row ``r`` through which it comes to the target."""
        if self.turn == "below":
            return self.source[1]
        return self.target[1] - 1 if self.falls else self.target[1]


def between(a: int, b: int) -> range:
    """Return the whole numbers strictly between two others.

    >>> list(between(5, 2))
    [3, 4]
    """
    return range(min(a, b) + 1, max(a, b))


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
    taken = set(taken) - {source, target}
    (c0, r0), (c1, r1) = source, target
    rows, columns = between(r0, r1), between(c0, c1)
    if via == "below":
        down = {"straight" if c0 == c1 else "below": [(c1, row) for row in rows]}
        ways = down if r0 <= r1 else {}
    elif via == "right":
        ways = {"side": []} if c0 == c1 else {}
    elif c0 == c1:
        ways = {"straight": [(c0, row) for row in rows], "side": []}
    elif r0 == r1:
        ways = {"straight": [(column, r0) for column in columns]}
    else:
        ways = {
            "early": [(column, r1) for column in columns],
            "late": [(column, r0) for column in columns],
        }
    routes = (Route(source, target, turn) for turn, way in ways.items() if taken.isdisjoint(way))
    return next((route for route in routes if route.word_spot not in words), None)


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Blocks on a grid, the arrows between them, and the brackets around them."""

    title: str
    blocks: Sequence[Block | Plane]
    arrows: Sequence[Arrow] = ()
    brackets: Sequence[Bracket] = ()
    cell: int = 14
    note: str = ""
    # for each arrow that is no beam, and each of its sources, the way from there
    ways: list[tuple[Arrow, str, Route]] = field(default_factory=list, init=False)
    _ends: dict[str, Block | Plane | Bracket] = field(default_factory=dict, init=False)

    def __post_init__(self):
        check_count("the number of blocks", len(self.blocks))
        check_count("cell", self.cell)
        stand: dict[At, str] = {}  # place -> which block
        for thing in self.blocks:
            self._add(thing.name, thing)
            if thing.at in stand:
                raise ValueError(
                    "blocks must have places of their own, got "
                    f"{stand[thing.at]!r} and {thing.name!r} at {thing.at}"
                )
            stand[thing.at] = thing.name
        for bracket in self.brackets:
            self._find(f"bracket {bracket.text!r}", bracket.blocks)
            self._check_inside(bracket)
        for bracket in self.brackets:
            self._add(bracket.text, bracket)
        spots: set[tuple] = set()  # of words on arrows
        for arrow in self.arrows:
            self._find("an arrow", (*arrow.sources, arrow.target))
            self._check_straight(arrow)
            if arrow.weight is None:
                self._find_ways(arrow, stand, spots)

    def _add(self, name: str, end: Block | Plane | Bracket) -> None:
        if name in self._ends:
            raise ValueError(f"blocks and brackets must have names of their own, got two {name!r}")
        self._ends[name] = end

    def _check_inside(self, bracket: Bracket) -> None:
        """Refuse a frame that would go round other blocks, or through another frame."""
        left, right, top, bottom = self.span(bracket)
        for thing in self.blocks:
            column, row = thing.at
            inside = left <= column <= right and top <= row <= bottom
            if inside and thing.name not in bracket.blocks:
                raise ValueError(
                    f"nothing else may stand between the blocks of bracket {bracket.text!r}, got "
                    f"{thing.name!r} at {thing.at}"
                )
        mine = set(bracket.blocks)
        for other in self.brackets:
            common = mine.intersection(other.blocks)
            within = (common == mine) != (common == set(other.blocks))
            if common and not within and other is not bracket:
                raise ValueError(
                    f"brackets must lie one within the other or apart, got {bracket.text!r} and "
                    f"{other.text!r}"
                )

    def _check_straight(self, arrow: Arrow) -> None:
        """Refuse a line or a sign that would stand where it means something else."""
        column, row = self.at(arrow.target)
        for name in arrow.sources:
            start = self.at(name)
            if arrow.weight is not None and start[1] >= row:
                raise ValueError(
                    f"an arrow with a weight must lead down, got {name!r} to {arrow.target!r}"
                )
            if arrow.sign and start not in ((column - 1, row), (column + 1, row)):
                raise ValueError(
                    f"a sign must stand between neighbours, got {name!r} and {arrow.target!r}"
                )

    def _find(self, what: str, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._ends:
                raise ValueError(f"{what} must name blocks that are there, got {name!r}")

    def _find_ways(self, arrow: Arrow, taken: Iterable[At], spots: set[tuple]) -> None:
        for name in arrow.sources:
            words = spots if arrow.text and name == arrow.sources[0] else set()
            route = find_route(self.at(name), self.at(arrow.target), taken, arrow.via, words)
            if route is None:
                raise ValueError(
                    f"arrows must not cross a block, nor words on another arrow, got {name!r} to "
                    f"{arrow.target!r}: move one of them, or choose another way with via"
                )
            words.add(route.word_spot)
            self.ways.append((arrow, name, route))

    def __getitem__(self, name: str) -> Block | Plane | Bracket:
        """Return a block by its name, or a bracket by its text."""
        return self._ends[name]

    def at(self, name: str) -> At:
        """Return where a block stands, or the first block of a bracket: (column, row)."""
        end = self[name]
        return self[end.blocks[0]].at if isinstance(end, Bracket) else end.at

    def span(self, bracket: Bracket) -> tuple[int, int, int, int]:
        """Return the first and last column, and the first and last row, of a bracket."""
        columns, rows = zip(*map(self.at, bracket.blocks), strict=True)
        return min(columns), max(columns), min(rows), max(rows)

    def state_of(self, arrow: Arrow, source: str | None = None) -> str:
        """Return whether an arrow, or its way from one of its sources, is known, lit or grey: grey
        if an end is, else as its target."""
        sources = arrow.sources if source is None else (source,)
        states = [self[name].state for name in (*sources, arrow.target)]
        return "grey" if "grey" in states else states[-1]
