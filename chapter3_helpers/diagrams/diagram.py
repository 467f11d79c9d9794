"""A diagram: blocks, arrows and brackets that fit together, to be shown as a picture or live."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chapter3_helpers._checks.numbers import check_size
from chapter3_helpers.diagrams.blocks import Arrow, Block, Bracket, Plane
from chapter3_helpers.diagrams.routes import Route, find_route
from chapter3_helpers.diagrams.words import describe


@dataclass(frozen=True, eq=False, repr=False)
class Diagram:
    """Blocks on a grid, the arrows between them, and the brackets around them.

    Standing on the last line of a cell it is shown as a picture with its description in words;
    an explorer shows it by ``svg``.

    Args:
        title: one line on what it shows.
        blocks: ``Block`` and ``Plane``, in the order in which they are read.
        arrows: ``Arrow``.
        brackets: ``Bracket``.
        cell: how large a cell is at most, in pixels.

    Raises:
        TypeError, ValueError: two blocks have one name or one place, an arrow or a bracket names
            a block that is not there, an arrow could not get through without crossing a block, or
            something else stands within a bracket.
    """

    title: str
    blocks: Sequence[Block | Plane]
    arrows: Sequence[Arrow] = ()
    brackets: Sequence[Bracket] = ()
    cell: int = 14
    _routes: dict[Arrow, tuple[Route, ...]] = field(default_factory=dict, init=False)

    def __post_init__(self):
        check_size("cell", self.cell)
        for name, kind in (
            ("blocks", Block | Plane),
            ("arrows", Arrow),
            ("brackets", Bracket),
        ):
            things = tuple(getattr(self, name))
            for thing in things:
                if not isinstance(thing, kind):
                    raise TypeError(f"{name} must hold {_names(kind)}, got {type(thing).__name__}")
            object.__setattr__(self, name, things)
        if not self.blocks:
            raise ValueError("blocks must hold at least one block, got none")
        things: dict[str, Block | Plane] = {}
        places: dict[tuple[int, int], str] = {}
        for thing in self.blocks:
            if thing.name in things:
                raise ValueError(f"blocks must have names of their own, got two {thing.name!r}")
            if thing.at in places:
                raise ValueError(
                    f"blocks must have places of their own, got {places[thing.at]!r} and "
                    f"{thing.name!r} at {thing.at}"
                )
            things[thing.name], places[thing.at] = thing, thing.name
        for bracket in self.brackets:
            self._check_bracket(bracket, things)
            things.setdefault(bracket.text, things[bracket.blocks[0]])  # where arrows to it end
        for arrow in self.arrows:
            self._check_arrow(arrow, things, places)

    def _check_arrow(self, arrow: Arrow, things: dict, places: dict) -> None:
        for name in (*arrow.sources, arrow.target):
            if name not in things:
                raise ValueError(f"arrows must join blocks that are there, got {name!r}")
        routes = []
        for name in arrow.sources:
            source, target = things[name].at, things[arrow.target].at
            if source == target:
                raise ValueError(f"arrows must join two blocks, got {name!r} twice")
            route = find_route(source, target, places, arrow.via)
            if arrow.weight is None and route is None:
                raise ValueError(
                    f"arrows must not cross a block, got {name!r} to {arrow.target!r}: "
                    "move one of them, or choose another way with via"
                )
            if arrow.sign and (route.turn != "straight" or abs(source[0] - target[0]) != 1):
                raise ValueError(
                    f"sign must stand between neighbours in a row, got {name!r} and "
                    f"{arrow.target!r}"
                )
            routes.append(route)
        self._routes[arrow] = tuple(routes)

    def _check_bracket(self, bracket: Bracket, things: dict) -> None:
        for name in bracket.blocks:
            if name not in things:
                raise ValueError(f"brackets must hold blocks that are there, got {name!r}")
        if not bracket.blocks:
            raise ValueError(f"bracket {bracket.text!r} must hold at least one block, got none")
        columns, rows = zip(*(things[name].at for name in bracket.blocks), strict=True)
        for name, thing in things.items():
            inside = min(columns) <= thing.at[0] <= max(columns) and min(rows) <= thing.at[
                1
            ] <= max(rows)
            if inside and name not in bracket.blocks:
                raise ValueError(
                    f"bracket {bracket.text!r} must hold all that stands in it, "
                    f"got {name!r} besides"
                )

    def bracket(self, name: str) -> Bracket | None:
        """Return a bracket by its text; None if no bracket is called so, or a block is."""
        if any(thing.name == name for thing in self.blocks):
            return None
        return next((bracket for bracket in self.brackets if bracket.text == name), None)

    def __getitem__(self, name: str) -> Block | Plane:
        """Return a block by its name."""
        return next(thing for thing in self.blocks if thing.name == name)

    def ways(self, arrow: Arrow) -> tuple[Route, ...]:
        """Return the ways that an arrow takes, one from each of its sources."""
        return self._routes[arrow]

    def state_of(self, arrow: Arrow) -> str:
        """Return whether an arrow is known, lit or grey."""
        if arrow.state is not None:
            return arrow.state
        ends = [self.bracket(name) or self[name] for name in (*arrow.sources, arrow.target)]
        states = [end.state for end in ends]
        return "grey" if "grey" in states else states[-1]

    @property
    def description(self) -> str:
        """The diagram in words: arrows, then the numbers of its blocks."""
        return describe(self)

    def figure(self) -> Any:
        """Return the picture for the page, a matplotlib figure with its description."""
        from chapter3_helpers.diagrams.page import draw  # here, so that live needs no figures

        return draw(self)

    def svg(self) -> str:
        """Return the drawing as SVG, for an explorer; it follows the theme of JupyterLab."""
        from chapter3_helpers.diagrams.live import draw

        return draw(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        return self.figure()._repr_mimebundle_(include, exclude)

    def __repr__(self) -> str:
        return self.description


def _names(kind: Any) -> str:
    return " and ".join(part.__name__ for part in getattr(kind, "__args__", (kind,)))
