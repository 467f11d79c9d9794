"""The core: what fits together, what is said in words, and what both drawings show."""

import re
import warnings
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Polygon
from matplotlib.textpath import TextPath

from chapter3_helpers._figures.arrays import size_of
from chapter3_helpers._figures.colours import KEY_COLOUR, QUERY_COLOUR, VALUE_COLOUR
from chapter3_helpers.diagrams import Arrow, Block, Bracket, Diagram, Plane
from chapter3_helpers.diagrams.core.drawing import draw
from chapter3_helpers.diagrams.core.layout import WIDEST, Layout
from chapter3_helpers.diagrams.core.painting import colours_of
from chapter3_helpers.diagrams.core.routes import find_route
from chapter3_helpers.diagrams.core.scene import Box, Cells, Line, Text, text_width
from tests.diagrams import check_overlaps, crosses, parts_of, text_box

X = np.array([[0.5, -1.25, 0.0], [2.0, 0.125, 1.0]])


def blocks(*names, **more):
    return [Block(name=name, at=(step, 0), values=X, **more) for step, name in enumerate(names)]


def x(**more):
    return Block(**{"name": "x", "values": X} | more)


def plane(**more):
    return Plane(**{"name": "p", "vectors": [[1.0, 2.0]]} | more)


def arrow(*ends, names="xyz", **more):
    return Diagram("t", blocks(*names), [Arrow(*ends, **more)])


def bracket(*names, among="x", **others):
    """Blocks side by side, with a bracket around some of them, and others."""
    brackets = [Bracket("b", names), *(Bracket(text, inside) for text, inside in others.items())]
    return Diagram("t", blocks(*among), brackets=brackets)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: x(values=np.ones((2, 3, 5))), r"vector or a matrix, got \(2, 3, 5\)"),
        (lambda: x(kind="queries"), "kind must be one of"),
        (lambda: x(state="hidden"), "state must be one of"),
        (lambda: x(marked_row=2), "marked_row must be from 0 to 1, got 2"),
        (lambda: x(marked_column=3), "marked_column must be from 0 to 2"),
        (lambda: x(rows=["a"]), "rows must hold 2 labels"),
        (lambda: x(columns=["a"]), "columns must hold 3 labels"),
        (lambda: x(hidden=X[:, :2] > 0), "hidden must have shape"),
        (lambda: plane(vectors=[[1.0, np.nan]]), r"finite and \(n, 2\)"),
        (lambda: plane(labels=[]), "labels must hold 1 labels"),
        (lambda: Arrow("x", "y", via="left"), "via must be one of"),
        (lambda: Diagram("t", blocks("x", "x")), "brackets must have names of their own, got two"),
        (lambda: arrow("x", "w"), "that are there, got 'w'"),
        (lambda: Diagram("t", [x(), x(name="y")]), "places of their own, got 'x' and 'y' at "),
        (lambda: arrow("x", "z"), "must not cross a block"),
        (lambda: x(values=np.ones(3) * 1j), "must be real numbers"),
        (lambda: x(at=(-1, 0)), r"at of 'x' must be \(column, row\), counted from 0, got \(-1, 0"),
        (lambda: x(limit=np.nan), "limit must be a finite number from 0 on, got nan"),
        (lambda: x(zoom=0), "zoom must be an integer of at least 1, got 0"),
        (lambda: x(sides=("query", "")), "side must be one of"),
        (lambda: x(kind="owner", values=[0.5]), "owners of block 'x' must be whole numbers"),
        (lambda: plane(kinds=["weights"]), "kind must be one of"),
        (lambda: plane(shadow=(0, 1)), "shadow must be from 0 to 0, got 1"),
        (lambda: plane(angle=(0, -1)), "angle must be from 0 to 0, got -1"),
        (lambda: plane(ghosts=[[np.inf, 0.0]]), r"ghosts of plane 'p' must be finite and \(n, 2"),
        (lambda: plane(reach=0), "reach must be a finite number above 0, got 0"),
        (lambda: arrow("x", "x"), "must lead from one block to another, got 'x' to 'x'"),
        (lambda: arrow((), "x"), r"must lead from one block to another, got \(\) to 'x'"),
        (lambda: arrow("x", "y", weight=np.nan), "weight must be a finite number from 0 on, got n"),
        (lambda: arrow("x", "y", weight=0.5), "with a weight must lead down, got 'x' to 'y'"),
        (lambda: arrow("x", "z", "@", sign=True), "between neighbours, got 'x' and 'z'"),
        (lambda: bracket(), "bracket 'b' must go round a block, got none"),
        (lambda: bracket("x", "z", among="xyz"), r"blocks of bracket 'b', got 'y' at \(1, 0\)"),
        (lambda: bracket("x", "y", among="xyz", c="yz"), "or apart, got 'b' and 'c'"),
        (lambda: bracket("x", c="x"), "or apart, got 'b' and 'c'"),
        (lambda: bracket("x", among="xy", x="xy"), "brackets must have names of their own"),
        (lambda: Diagram("t", []), "the number of blocks must be an integer of at least 1, got 0"),
        (lambda: Diagram("t", blocks("x"), cell=0), "cell must be an integer of at least 1"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(make, words):
    with pytest.raises(TypeError if "real numbers" in words else ValueError, match=words):
        make()


def test_words_say_every_arrow_shape_and_number():
    diagram = Diagram(
        "Words",
        [
            Block(name="x", values=X, at=(0, 0), rows=["a", "b"], marked_row=1),
            Block(name="y", values=[0.25, 0.75], at=(1, 0), kind="weights", hidden=[False, True]),
            Block(name="z", values=X, shape="(T, d)", at=(2, 0), state="lit"),
            Block(name="later", values=X, at=(3, 0), state="grey"),
            Block(name="text", values=["one", "two"], at=(1, 1), kind="tokens"),
        ],
        [Arrow("x", "y", "@ W"), Arrow(("y", "text"), "z"), Arrow("z", "later")],
        [Bracket("head 0", ("x", "y"))],
    )
    assert diagram.description.splitlines() == [
        "Diagram: Words.",
        "Framed: z.",
        "Known: x, y, text, head 0.",
        "Still to come: later.",
        "x (2, 3) -> @ W -> y (2,)",
        "y (2,) and text (2,) -> z (T, d) -> later (2, 3)",
        "head 0: x, y.",
        "x (2, 3), row 1 (b) marked:",
        "a 0.5000 -1.2500 0.0000",
        "b 2.0000  0.1250 1.0000",
        "y (2,):",
        "0.2500 hidden",
        "text: one two",
    ]


TEXTS = [
    "_x", "$", r"$\foo$", "\\", "a\nb", "酸菜鱼", "😀", "שלום", "", "\x00", "\ud800", "&<\"'",
    "a b" * 99,
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_drawn_in_both_forms_on_one_line_and_in_a_picture_of_some_width(text):
    parts = [
        Block(text, (0, 0), X, rows=[text] * 2, columns=[text] * 3),
        Block("y", (1, 0), [text, "b"], kind="tokens", caption=text, shape=text),
        Plane("p", (2, 0), [[1.0, 2.0]], labels=[text]),
    ]
    brackets = [Bracket(f"b{text}", (text, "y"))]
    diagram = Diagram(text, parts, [Arrow(text, "y", text)], brackets, note=text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = diagram.figure()
        figure.to_png()
    assert figure.get_size_inches()[0] < 14
    svg = diagram.svg().encode().decode()
    ElementTree.fromstring(re.sub(r"=([\w.#-]+)(?=[\s>/])", r'="\1"', svg))
    assert len(diagram.description.splitlines()) == 9 + bool(text), "no text begins a line"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_one_number_that_is_not_finite_or_very_large_leaves_the_others_their_colours(bad):
    values = np.array([[bad, 1.0, -2.0]])
    diagram = Diagram("t", [Block("x", (0, 0), values, numbers=True, limit=size_of(values))])
    figure = diagram.figure()
    assert figure.get_size_inches()[0] < 6
    assert len(diagram.description) < 100
    colours = colours_of(diagram["x"])[0].tolist()
    if abs(bad) != 1e300:
        assert colours[1:] == colours_of(Block("x", (0, 0), [[0.0, 1.0, -2.0]]))[0, 1:].tolist()


def test_the_picture_carries_its_words():
    data, metadata = Diagram("t", blocks("x"))._repr_mimebundle_()
    assert data["image/png"].startswith(b"\x89PNG")
    assert data["text/plain"] == metadata["image/png"]["alt"]
    assert "0.1250" in data["text/plain"]


def test_shadow_and_angle_are_computed_from_the_vectors():
    plane = Plane(
        name="p", vectors=[[3.0, 4.0], [2.0, 0.0]], labels=["a", "b"], shadow=(0, 1), angle=(0, 1)
    )
    assert Diagram("t", [plane]).description.splitlines()[1:] == [
        "p:",
        "a: (3.0000, 4.0000)",
        "b: (2.0000, 0.0000)",
        "shadow of a on the line of b: length 3.0000",
        "angle between a and b: 53.1 degrees",
    ]
    turned = Plane(name="p", vectors=[[-3.0, 4.0], [2.0, 0.0]], shadow=(0, 1))
    assert "length -3" in Diagram("t", [turned]).description


@pytest.mark.parametrize(
    ("kind", "colour"), [("query", QUERY_COLOUR), ("key", KEY_COLOUR), ("value", VALUE_COLOUR)]
)
def test_queries_keys_and_values_have_a_colour_each_and_white_is_zero(kind, colour):
    (colours,) = colours_of(Block(name="x", values=[2.0, 0.0, -2.0], kind=kind))
    assert colours[0] == colour.lower()
    assert colours[1] == "#ffffff"
    red, green, blue = (int(colours[2][i : i + 2], 16) for i in (1, 3, 5))
    assert red == green == blue < 100, "what is negative is grey"


def test_a_shared_limit_gives_two_blocks_one_scale():
    large, small = (Block(name="x", values=X * k, limit=2.0) for k in (1.0, 0.5))
    assert colours_of(large)[0, 0] == colours_of(small)[1, 2]
    assert colours_of(Block(name="x", values=X * 0.5))[1, 0] == colours_of(large)[1, 0]


def test_grey_shows_no_number_and_hidden_cells_are_crossed_out():
    grey = Diagram("t", blocks("x", state="grey")).svg()
    assert "0.1250" not in Diagram("t", blocks("x", state="grey")).description
    assert len(set(re.findall(r"fill=(#\w+) />", grey))) == 1
    masked = Diagram("t", [Block(name="x", values=[0.5, -np.inf])]).svg()
    assert "<title>0.5000 hidden</title>" in masked
    assert len(re.findall(r"fill=#\w+ />", masked)) == 1, "what is hidden is ground under crosses"


@pytest.mark.parametrize(
    "changes",
    [
        *({"marked_row": 1}, {"caption": "y"}, {"kind": "weights"}, {"state": "lit"}, {"zoom": 2}),
        *({"columns": "c"}, {"rows": "de"}, {"shape": "(T, 1)"}, {"hidden": [[True], [False]]}),
    ],
)
def test_whatever_is_said_of_a_block_is_drawn(changes):
    plain, same, other = (parts_of(x(values=[[0.1], [0.7]], **more)) for more in ({}, {}, changes))
    assert plain == same
    assert plain != other


def test_live_blocks_have_names_cells_have_numbers_and_arrows_are_said():
    name = 'a "<b>" & c'
    first, second = blocks(name, "y")
    lit = replace(second, state="lit")
    diagram = Diagram("t<", [first, lit], [Arrow(name, "y", "@ W <i>")], note="T = 2")
    shown = ElementTree.fromstring(re.sub(r"=([\w.#-]+)(?=[\s>/])", r'="\1"', diagram.svg()))
    groups = [part for part in shown.iter("g") if part.get("role") == "img"]
    assert [group.get("aria-label") for group in groups] == [f"{name} (2, 3)", "y (2, 3)"]
    notes = [title.text for title in groups[0].iter("title")]
    assert notes == [f"{name} (2, 3)", "0.5000 -1.2500 0.0000", "2.0000 0.1250 1.0000"]
    assert shown.get("aria-label") == "Diagram: t<."
    assert shown.find("desc").text.startswith("T = 2\nFramed: y.")
    assert f"{name} (2, 3) -> @ W <i> -> y (2, 3)" in shown.find("desc").text
    assert {text.text for text in shown.iter("text")} >= {name, "(2, 3)", "@ W <i>", "t<", "T = 2"}
    firm = Block(name="x", values=["R&D"], kind="tokens")
    assert "<title>R&amp;D</title>" in Diagram("t", [firm]).svg()


@pytest.mark.parametrize(
    ("target", "taken", "via", "turn"),
    [
        ((2, 0), [(0, 0), (2, 0)], None, "nowhere"),
        ((2, 0), [(1, 0)], None, None),
        ((0, 2), [(1, 1)], None, "nowhere"),
        ((0, 2), [(0, 1)], None, None),
        ((0, 2), [(0, 1)], "right", "right"),
        ((2, 1), [], "right", None),
        ((2, 1), [(1, 0)], None, "early"),
        ((2, 1), [(1, 1)], None, "late"),
        ((2, 2), [(1, 0), (1, 2), (0, 1)], None, None),
        ((0, 0), [], None, None),
        ((2, 1), [(1, 0), (1, 1)], "below", "below"),
        ((2, 2), [(2, 1)], "below", None),
        ((2, 0), [(1, 0)], "below", "below"),
    ],
)
def test_an_arrow_takes_the_first_way_that_is_free(target, taken, via, turn):
    route = find_route((0, 0), target, taken, via)
    assert (route and route.turn) == turn


@st.composite
def diagrams(draw):
    """Blocks of any sizes on a small grid, and arrows wherever one gets through."""
    spots = st.tuples(st.integers(0, 4), st.integers(0, 3))
    placed = []
    for index, at in enumerate(draw(st.lists(spots, min_size=2, max_size=9, unique=True))):
        shape = draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
        name = f"block {index}" * draw(st.integers(1, 2))
        rows = ["word"] * shape[0] if draw(st.booleans()) else None
        state = draw(st.sampled_from(["known", "lit", "grey"]))
        look = {"numbers": draw(st.booleans()), "rows": rows, "state": state}
        placed.append(Block(name, at, np.ones(shape), **look))
    diagram, used = Diagram("any", placed), set()
    for source in placed:
        target = draw(st.sampled_from(placed))
        if source is target or {source.at, target.at} & used:
            continue
        text, via = draw(st.sampled_from([("", None), ("@ W_query", None), ("", "below")]))
        arrow = Arrow(source.name, target.name, text, via=via)
        with suppress(ValueError):  # no way for it
            diagram = Diagram("any", placed, [*diagram.arrows, arrow])
            used |= {source.at, target.at}
    return diagram


@settings(max_examples=100, deadline=None, derandomize=True)
@given(diagrams())
def test_nothing_overlaps_wherever_blocks_stand(diagram):
    check_overlaps(diagram)


def test_words_on_arrows_leave_room_for_those_that_turn_or_stand_beside_them():
    names = [(f"{row}{column}", (column, row)) for row in range(5) for column in range(2)]
    points = [Block(name, at, [0.0], caption="", shape="") for name, at in names]
    turning = [Arrow(f"{row}0", f"{(row + 2) % 5}1", "@ W_query") for row in range(5)]
    check_overlaps(Diagram("t", points, turning))
    upright = [Arrow(f"0{column}", f"1{column}", "what happens here") for column in range(2)]
    check_overlaps(Diagram("t", points, upright))


def test_where_names_alone_are_too_wide_cells_take_no_more_room():
    def width(cell):
        named = [Block(f"{n}" * 40, (n, 0), np.ones((1, 30))) for n in range(4)]
        return Layout(Diagram("t", named, cell=cell)).width

    assert width(30) == width(3) > WIDEST


def test_every_text_is_nine_pixels_high_in_a_window_of_900():
    in_lab = 468 / (WIDEST + 20)  # of the width that a cell's output has there
    parts = parts_of(*blocks("x", "y", rows=["a", "b"], numbers=True))
    sizes = [part.size for part in parts if isinstance(part, Text)]
    assert min(sizes) * in_lab >= 9


@pytest.mark.parametrize("text", ["journey", "(T, d)", "@ W_query"])
def test_a_text_is_given_the_room_that_it_takes(text):
    takes = TextPath((0, 0), text, size=12).get_extents().width
    assert takes <= text_width(text) <= 1.3 * takes


def scene_items(diagram, kind):
    return [part for part in parts_of(diagram) if isinstance(part, kind)]


def test_brackets_within_one_another_leave_room_for_their_words():
    names = ("x", "y", "z")
    brackets = [Bracket(f"first {n}", names[:n]) for n in (1, 2, 3)]
    diagram = Diagram("", blocks(*names), (), brackets)
    check_overlaps(diagram)
    tops = sorted(box.y for box in scene_items(diagram, Box) if box.radius == 8)
    assert min(np.diff(tops)) >= 15


def test_hidden_cells_are_crossed_out_from_corner_to_corner():
    block = Block(name="x", values=[[1.0, -np.inf], [np.nan, 2.0]])
    diagram = Diagram("t", [block], cell=10)
    (cells,) = scene_items(diagram, Cells)
    x, y = cells.x, cells.y
    assert "width=20 height=20 " in diagram.svg()
    assert cells.crosses() == [((x + 10, y + 10), (x + 20, y)), ((x, y + 20), (x + 10, y + 10))]
    (drawn,) = [c for c in diagram.figure().axes[0].collections if isinstance(c, LineCollection)]
    assert [segment.tolist() for segment in drawn.get_segments()] == [
        [[*start], [*end]] for start, end in cells.crosses()
    ]


def test_both_drawings_put_cells_and_arrows_where_the_layout_has_them():
    slanting = Plane(name="p", vectors=[[3.0, 1.0]], at=(1, 0))
    diagram = Diagram("t", [*blocks("x"), slanting], [Arrow("x", "p")])
    (cells,), scene = scene_items(diagram, Cells), draw(diagram)
    figure, (wide, high) = diagram.figure(), cells.cell
    page = plt.imread(BytesIO(figure.to_png()))
    edge = (page.shape[1] - scene.width) / 2
    for i, row in enumerate(cells.colours):
        for j, colour in enumerate(row):
            x, y = cells.x + (j + 0.5) * wide, cells.y + (i + 0.5) * high
            assert to_hex(page[int(y + edge), int(x + edge)]) == colour
    svg = diagram.svg()
    rows = re.findall(r"translate\(([\d.]+) ([\d.]+)\)", svg)
    spots = [(float(x), float(y)) for x, y in rows]
    assert np.allclose(spots, [(cells.x, cells.y + i * high) for i in range(len(X))], atol=0.1)

    lines = [line for line in scene_items(diagram, Line) if line.head]
    triangles = re.findall(r'd="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)Z"', svg)
    drawn = [patch.get_xy() for patch in figure.axes[0].patches if type(patch) is Polygon]
    for line, numbers, corners in zip(lines, triangles, drawn, strict=True):
        tip, left, right = np.array(numbers, float).reshape(3, 2)
        np.testing.assert_allclose(corners[:3], [tip, left, right], atol=0.1)
        np.testing.assert_allclose(tip, line.points[-1], atol=0.1)
        along = np.subtract(*reversed(line.points[-2:]))
        assert (left - right) @ along == pytest.approx(0, abs=0.2 * np.linalg.norm(along))
        assert (tip - left) @ along > 4 * np.linalg.norm(along)
        assert np.linalg.norm(left - right) > 4


def test_a_number_is_seen_on_its_colour_and_the_picked_row_has_a_bold_label():
    block = Block(
        name="x", values=[[1.0], [0.0]], kind="weights", rows="ab", marked_row=1, numbers=True
    )
    diagram = Diagram("", [block], cell=20)
    assert "dasharray" not in diagram.svg()
    texts = {text.text: text for text in scene_items(diagram, Text)}
    assert texts["1"].tone != texts["0"].tone
    assert [texts[label].bold for label in "ab"] == [False, True]


@pytest.mark.parametrize("degrees", range(0, 360, 15))
@pytest.mark.parametrize("label", ["q", "journey"])
def test_the_label_of_a_vector_stands_beyond_its_tip_and_within_the_plane(degrees, label):
    turn = np.radians(degrees)
    vector = np.array([np.cos(turn), np.sin(turn)])
    plane = Plane(name="p", vectors=[vector], labels=[label], kinds=["query"])
    diagram = Diagram("t", [plane])
    frame = scene_items(diagram, Box)[0]
    text = next(text for text in scene_items(diagram, Text) if text.text == label)
    left, top, right, bottom = text_box(text)
    assert frame.x <= left <= right <= frame.x + frame.width
    assert frame.y <= top <= bottom <= frame.y + frame.height
    arrow = scene_items(diagram, Line)[-1]
    assert (arrow.head, arrow.tone) == (True, QUERY_COLOUR)
    start, tip = np.array(arrow.points)
    np.testing.assert_allclose(start, (frame.x + plane.size / 2, frame.y + plane.size / 2))
    upwards = vector * (1, -1)  # in pixels y grows downwards
    np.testing.assert_allclose(tip - start, upwards * plane.size / 2 / plane.reach, atol=1e-9)
    assert not crosses((start, start + 0.8 * (tip - start)), (left, top, right, bottom))
    if degrees in (0, 180) and label == "q":  # where there is room, it stands in the arrow's line
        assert top < tip[1] < bottom


def test_the_circle_of_a_clock_is_whole_and_its_radius_is_one():
    plane = Plane(name="p", vectors=[[0.6, 0.8]], circle=True)
    lines = scene_items(Diagram("t", [plane]), Line)
    circle = np.array(next(line.points for line in lines if len(line.points) > 2))
    start, tip = np.array(next(line.points for line in lines if line.head))
    np.testing.assert_allclose(np.hypot(*(circle - start).T), np.hypot(*(tip - start)))
    np.testing.assert_allclose(circle[0], circle[-1])
    assert circle.mean(axis=0) == pytest.approx(start, abs=5)


def test_of_many_rows_the_first_the_last_and_the_marked_one_are_drawn_with_gaps_between():
    names = [f"w{n}" for n in range(40)]
    values = np.arange(240.0).reshape(40, 6)
    block = Block("x", (0, 0), values, rows=names, marked_row=20, sides=("q", ""))
    diagram = Diagram("t", [block])
    check_overlaps(diagram)
    labels = [text.text for text in scene_items(diagram, Text) if text.anchor == "end"]
    assert labels == [*names[:15], "⋮", "w20", "⋮", *names[26:]]
    (cells,) = scene_items(diagram, Cells)
    assert [row[0] for row in cells.notes[14:18]] == ["84", "…", "120", "…"]
    assert {*cells.colours[15], *cells.colours[17]} == {"none"}
    (mark,) = (box for box in scene_items(diagram, Box) if box.edge == "mark")
    assert mark.y == cells.y + 16 * cells.cell[1]
    svg = diagram.svg()
    assert "data-q=20>" in svg
    assert "data-q=21" not in svg
    assert "None" not in svg
    assert svg.count("fill=#") == 30 * 6


def test_a_token_that_is_too_long_is_cut_in_its_block():
    block = Block(name="word", values=["uncharacteristically"], kind="tokens")
    assert "uncharacteris…" in {text.text for text in scene_items(Diagram("t", [block]), Text)}
