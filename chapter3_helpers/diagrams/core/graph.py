"""What is drawn: parts that fit together, and what they are in words."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from chapter3_helpers._figures.arrays import check_count
from chapter3_helpers._figures.writing import aligned, excerpt, visible
from chapter3_helpers._language import say, to_say
from chapter3_helpers.diagrams.core.parts import Arrow, Block, Bracket, Plane
from chapter3_helpers.diagrams.core.routes import At, Way, find_route

MOST_DESCRIBED = 100  # numbers of a block; a larger one is described by its shape
STATES = {
    "lit": to_say("Framed: {names}."),
    "known": to_say("Known: {names}."),
    "grey": to_say("Still to come: {names}."),
}


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Blocks on a grid, the arrows between them, and the brackets around them.

    ``graph["x"]`` is the block whose key is ``x``, or the bracket with that text.

    Args:
        title: one line on what it shows.
        blocks: ``Block`` and ``Plane``, in the order in which they are read.
        arrows: ``Arrow``.
        brackets: ``Bracket``.
        cell: how large a cell is at most, in pixels.
        note: what stands below the title, such as what the letters of shapes mean.

    Raises:
        ValueError: two blocks have one key, an arrow names a block that is not there, or could not
            get through without crossing one.
    """

    title: str
    blocks: Sequence[Block | Plane]
    arrows: Sequence[Arrow] = ()
    brackets: Sequence[Bracket] = ()
    cell: int = 14
    note: str = ""
    # of each arrow that has no weight, one from each of its sources
    ways: list[Way] = field(default_factory=list, init=False)
    _ends: dict[str, Block | Plane | Bracket] = field(default_factory=dict, init=False)

    def __post_init__(self):
        check_count("the number of blocks", len(self.blocks))
        check_count("cell", self.cell)
        taken: dict[At, str] = {}  # place -> which block stands there
        for block in self.blocks:
            self._add(block.key, block)
            if block.at in taken:
                raise ValueError(
                    "blocks must have places of their own, got "
                    f"{taken[block.at]!r} and {block.key!r} at {block.at}"
                )
            taken[block.at] = block.key
        for bracket in self.brackets:
            self._check_keys(f"bracket {bracket.text!r}", bracket.blocks)
            self._check_inside(bracket)
        for bracket in self.brackets:
            self._add(bracket.text, bracket)
        spots: set[tuple] = set()  # of words on arrows
        for arrow in self.arrows:
            self._check_keys("an arrow", (*arrow.sources, arrow.target))
            self._check_straight(arrow)
            if arrow.weight is None:
                self._find_ways(arrow, taken, spots)

    def _add(self, key: str, end: Block | Plane | Bracket) -> None:
        if key in self._ends:
            raise ValueError(f"blocks and brackets must have names of their own, got two {key!r}")
        self._ends[key] = end

    def _check_keys(self, owner: str, keys: Iterable[str]) -> None:
        for key in keys:
            if key not in self._ends:
                raise ValueError(f"{owner} must name blocks that are there, got {key!r}")

    def _check_inside(self, bracket: Bracket) -> None:
        """Refuse a frame that would go round other blocks, or through another frame."""
        left, right, top, bottom = self.span(bracket)
        for block in self.blocks:
            column, row = block.at
            inside = left <= column <= right and top <= row <= bottom
            if inside and block.key not in bracket.blocks:
                raise ValueError(
                    f"nothing else may stand between the blocks of bracket {bracket.text!r}, got "
                    f"{block.key!r} at {block.at}"
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
        for key in arrow.sources:
            start = self.at(key)
            if arrow.weight is not None and start[1] >= row:
                raise ValueError(
                    f"an arrow with a weight must lead down, got {key!r} to {arrow.target!r}"
                )
            if arrow.sign and start not in ((column - 1, row), (column + 1, row)):
                raise ValueError(
                    f"a sign must stand between neighbours, got {key!r} and {arrow.target!r}"
                )

    def _find_ways(self, arrow: Arrow, taken: Iterable[At], spots: set[tuple]) -> None:
        for key in arrow.sources:
            others = spots if arrow.text and key == arrow.sources[0] else set()
            route = find_route(self.at(key), self.at(arrow.target), taken, arrow.via, others)
            if route is None:
                raise ValueError(
                    f"arrows must not cross a block, nor words on another arrow, got {key!r} to "
                    f"{arrow.target!r}: move one of them, or choose another way with via"
                )
            others.add(route.spot_of_words)
            self.ways.append(Way(arrow, key, route, self.state_of(arrow, key)))

    def __getitem__(self, key: str) -> Block | Plane | Bracket:
        return self._ends[key]

    def at(self, key: str) -> At:
        """Return where a block stands, or the first block of a bracket: (column, row)."""
        end = self[key]
        return self[end.blocks[0]].at if isinstance(end, Bracket) else end.at

    def span(self, bracket: Bracket) -> tuple[int, int, int, int]:
        """Return the first and last column, and the first and last row, of a bracket."""
        columns, rows = zip(*map(self.at, bracket.blocks), strict=True)
        return min(columns), max(columns), min(rows), max(rows)

    def state_of(self, arrow: Arrow, source: str) -> str:
        """Return whether an arrow's way from one of its sources is known, lit or grey: grey if an
        end is, else as its target."""
        state = self[arrow.target].state
        return "grey" if self[source].state == "grey" else state

    @property
    def description(self) -> str:
        """The diagram in words: arrows, then the numbers of its blocks."""
        return self._described(numbers=True)

    def __repr__(self) -> str:
        return self.description

    def _described(self, numbers: bool) -> str:
        """Return the title, what is lit, the arrows with what happens on them, and the numbers."""
        lines = [say("Diagram: {title}.", title=self.title.rstrip("."))]
        lines += [self.note] if self.note else []
        names: dict[str, list[str]] = {state: [] for state in STATES}
        for block in self.blocks:
            names[block.state].append(block.name)
        for bracket in self.brackets:
            names[bracket.state].append(bracket.text)
        for state, words in STATES.items():
            if names[state] and (state != "known" or names["grey"]):
                lines.append(say(words, names=say(", ").join(names[state])))
        lines += self._described_arrows()
        for bracket in self.brackets:
            inside = say(", ").join(self[key].name for key in bracket.blocks)
            lines.append(say("{frame}: {names}.", frame=bracket.text, names=inside))
        for block in self.blocks if numbers else ():
            lines += _vectors(block) if isinstance(block, Plane) else _numbers(block)
        return "\n".join(map(visible, lines))

    def _described_arrows(self) -> list[str]:
        """Write one line a chain of arrows: ``x (6, 3) -> @ W_query -> queries (6, 2)``."""
        lines: list[str] = []
        end_of_chain = None
        for arrow in self.arrows:
            if arrow.sources != (end_of_chain,):
                lines.append(say(" and ").join(self[key].label for key in arrow.sources))
            target = self[arrow.target].label
            if arrow.sign:
                lines[-1] += f" {arrow.text} {target}"
            else:
                weight = "" if arrow.weight is None else f"{arrow.weight:.4f}"
                lines[-1] = " -> ".join([lines[-1], *filter(None, (arrow.text, weight)), target])
            end_of_chain = arrow.target
        return lines


def _numbers(block: Block) -> list[str]:
    """Write a block's numbers, one line a row; none where its shape is said in letters."""
    if block.state == "grey" or block.in_letters:
        return []
    if block.kind == "tokens":
        return [f"{block.name}: {' '.join(excerpt(block.values[:, 0], MOST_DESCRIBED))}"]
    marked = []
    if block.marked_row is not None:
        row = {"row": block.marked_row}
        if block.rows:
            row["name"] = block.rows[block.marked_row]
            marked.append(say("row {row} ({name}) marked", **row))
        else:
            marked.append(say("row {row} marked", **row))
    if block.marked_column is not None:
        marked.append(say("column {column} marked", column=block.marked_column))
    head = say(", ").join([block.label, *marked])
    if block.values.size > MOST_DESCRIBED:
        return [head] if marked else []
    cells = block.written()
    labels = block.rows or ("",) * len(cells)
    table = [["", *block.columns]] if block.columns else []
    table += [[label, *row] for label, row in zip(labels, cells, strict=True)]
    return [head + ":", *map(str.strip, aligned(table))]


def _vectors(plane: Plane) -> list[str]:
    """Write a plane's vectors, and how long the shadow is."""
    names = [label or str(index) for index, label in enumerate(plane.labels)]
    faint = [(say("faint"), ghost) for ghost in plane.ghosts]
    pairs = [*zip(names, plane.vectors, strict=True), *faint]
    lines = [f"{plane.name}:", *(f"{name}: ({x:z.4f}, {y:z.4f})" for name, (x, y) in pairs)]
    if plane.shadow is not None:
        falls, ground = plane.shadow
        sign = -1 if plane.vectors[falls] @ plane.vectors[ground] < 0 else 1
        length = sign * np.linalg.norm(plane.shadow_of())
        lines.append(
            say(
                "shadow of {falls} on the line of {ground}: length {length}",
                falls=names[falls],
                ground=names[ground],
                length=f"{length:z.4f}",
            )
        )
    if plane.angle is not None:
        first, second = (names[index] for index in plane.angle)
        lines.append(
            say(
                "angle between {first} and {second}: {degrees} degrees",
                first=first,
                second=second,
                degrees=f"{abs(math.degrees(plane.turned())):.1f}",
            )
        )
    return lines
