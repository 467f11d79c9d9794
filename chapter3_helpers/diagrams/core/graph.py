"""A graph: blocks, arrows and brackets that fit together, before anything is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from chapter3_helpers.diagrams.core.arrows import Arrow, Bracket
from chapter3_helpers.diagrams.core.blocks import Block, Plane
from chapter3_helpers.diagrams.core.routes import Route, find_route


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Blocks on a grid, the arrows between them, and the brackets around them."""

    title: str
    blocks: Sequence[Block | Plane]
    arrows: Sequence[Arrow] = ()
    brackets: Sequence[Bracket] = ()
    cell: int = 14
    note: str = ""
    _ends: dict[str, Block | Plane | Bracket] = field(default_factory=dict, init=False)
    _routes: dict[Arrow, tuple[Route, ...]] = field(default_factory=dict, init=False)

    def __post_init__(self):
        stand: dict[tuple[int, int], str] = {}  # place -> which block
        for thing in self.blocks:
            if thing.name in self._ends:
                raise ValueError(f"blocks must have names of their own, got two {thing.name!r}")
            self._ends[thing.name] = thing
            if thing.at in stand:
                raise ValueError(
                    "blocks must have places of their own, got "
                    f"{stand[thing.at]!r} and {thing.name!r} at {thing.at}"
                )
            stand[thing.at] = thing.name
        for bracket in self.brackets:
            for name in bracket.blocks:
                if name not in self._ends:
                    raise ValueError(
                        f"bracket {bracket.text!r} must hold blocks that are there, got {name!r}"
                    )
        self._ends.update({bracket.text: bracket for bracket in self.brackets} | self._ends)
        spots: set[tuple] = set()  # of words on arrows
        for arrow in self.arrows:
            self._find_ways(arrow, spots)

    def _find_ways(self, arrow: Arrow, spots: set) -> None:
        for name in (*arrow.sources, arrow.target):
            if name not in self._ends:
                raise ValueError(f"arrows must join blocks that are there, got {name!r}")
        routes, places = [], [thing.at for thing in self.blocks]
        for name in arrow.sources:
            source, target = self.at(name), self.at(arrow.target)
            worded = arrow.text and not routes and arrow.weight is None
            route = find_route(source, target, places, arrow.via, spots if worded else ())
            if arrow.weight is None and route is None:
                raise ValueError(
                    f"arrows must not cross a block, nor words on another arrow, got {name!r} to "
                    f"{arrow.target!r}: move one of them, or choose another way with via"
                )
            if worded:
                spots.add(route.word_spot)
            routes.append(route)
        self._routes[arrow] = tuple(routes)

    def __getitem__(self, name: str) -> Block | Plane | Bracket:
        """Return a block by its name, or a bracket by its text."""
        return self._ends[name]

    def at(self, name: str) -> tuple[int, int]:
        """Return where a block stands, or the first block of a bracket: (column, row)."""
        end = self[name]
        return self[end.blocks[0]].at if isinstance(end, Bracket) else end.at

    def span(self, bracket: Bracket) -> tuple[int, int, int, int]:
        """Return the first and last column, and the first and last row, of a bracket."""
        columns, rows = zip(*map(self.at, bracket.blocks), strict=True)
        return min(columns), max(columns), min(rows), max(rows)

    def ways(self, arrow: Arrow) -> tuple[Route, ...]:
        """Return the ways that an arrow takes, one from each of its sources."""
        return self._routes[arrow]

    def state_of(self, arrow: Arrow, source: str | None = None) -> str:
        """Return whether an arrow, or its way from one of its sources, is known, lit or grey: grey
        if an end is, else as its target."""
        sources = arrow.sources if source is None else (source,)
        states = [self[name].state for name in (*sources, arrow.target)]
        return "grey" if "grey" in states else states[-1]
