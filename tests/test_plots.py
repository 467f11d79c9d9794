import re
import warnings

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure

from chapter3_helpers._figures import labels
from chapter3_helpers._figures.colours import (
    SIGNED_COLOURS,
    WEIGHT_COLOURS,
    ink,
    shade,
)
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.plots import (
    KEY_LABEL,
    QUERY_LABEL,
    bar_panels,
    described_figure,
    head_grid,
    heatmap,
    line_plot,
    to_array,
)
from tests.figures import contrast

WEIGHTS = [[0.75, 0.25, 0.0], [0.125, 0.5, 0.375]]
QUERIES, KEYS = ["q0", "q1"], ["k0", "k1", "k2"]


def bundle(shown):
    return shown._repr_mimebundle_()


def cell_colours(ax):
    """The colours of a heatmap's cells, row by row from the top."""
    ax.figure.draw_without_rendering()
    return ax.collections[0].get_facecolors().reshape(2, 3, 4)


def test_heatmap_puts_queries_on_rows_and_keys_on_columns():
    ax = heatmap(WEIGHTS, QUERIES, KEYS)
    assert ax.get_xlabel() == KEY_LABEL == "key (attended to)"
    assert ax.get_ylabel() == QUERY_LABEL == "query (attending)"
    assert [label.get_text() for label in ax.get_xticklabels()] == KEYS
    assert [label.get_text() for label in ax.get_yticklabels()] == QUERIES
    assert {label.get_ha() for label in ax.get_yticklabels()} == {"right"}, "beside the cells"
    middles = [0.5, 1.5, 2.5]
    assert (ax.get_xticks().tolist(), ax.get_yticks().tolist()) == (middles, middles[:2])
    assert ax.yaxis_inverted(), "the first query stands on top"
    numbers = [text.get_text() for text in ax.texts]
    assert numbers == ["0.75", "0.25", "0.00", "0.12", "0.50", "0.38"]


def test_weights_share_one_scale_from_white_to_one_dark_hue_whatever_their_values():
    cells = cell_colours(heatmap(np.array(WEIGHTS) / 10, QUERIES, KEYS))
    np.testing.assert_allclose(cells[0, 2], [1, 1, 1, 1])
    np.testing.assert_allclose(cells[0, 0], to_rgba(shade(0.075, WEIGHT_COLOURS)), atol=1 / 100)
    cells = cell_colours(heatmap(WEIGHTS, QUERIES, KEYS))
    np.testing.assert_allclose(cells[0, 0], to_rgba(shade(0.75, WEIGHT_COLOURS)), atol=1 / 100)
    dropped = heatmap([[2.0, 0.0]], ["a"], ["a", "b"])
    assert dropped.collections[0].get_clim() == (0.0, 2.0), "weights after dropout go beyond 1"


def test_signed_numbers_are_centred_at_white():
    cells = cell_colours(heatmap([[0.0, 1.0, -2.0], [2.0, 0, 0]], QUERIES, KEYS, signed=True))
    np.testing.assert_allclose(cells[0, 0], [1, 1, 1, 1], atol=1 / 64)
    np.testing.assert_allclose(cells[0, 2], to_rgba(SIGNED_COLOURS[0]), atol=1 / 64)
    np.testing.assert_allclose(cells[1, 0], to_rgba(SIGNED_COLOURS[-1]), atol=1 / 64)


@pytest.mark.parametrize(("lowest", "start"), [(0.5, 0.0), (-0.5, -2.0)])
def test_the_scale_of_scores_shows_a_negative_half_only_where_there_are_some(lowest, start):
    ax = heatmap([[lowest, 2.0]], ["q0"], ["a", "b"], signed=True)
    assert ax.collections[-1].colorbar.ax.get_ylim() == (start, 2.0)


def test_a_number_is_in_contrast_with_the_cell_that_it_stands_in():
    ramp = np.linspace(0, 1, 12).reshape(2, 6)
    for signed, matrix in ((False, ramp), (True, 2 * ramp - 1)):
        ax = heatmap(matrix, list("qr"), list("abcdef"), signed=signed)
        ax.figure.draw_without_rendering()
        grounds = ax.collections[0].get_facecolors()
        pairs = [(to_hex(g), text.get_color()) for g, text in zip(grounds, ax.texts, strict=True)]
        assert min(contrast(*pair) for pair in pairs) >= 4.5


def test_description_holds_every_number_and_the_bundle_carries_it_as_alt_text():
    data, metadata = bundle(heatmap(WEIGHTS, QUERIES, KEYS, title="three keys"))
    assert data["image/png"].startswith(b"\x89PNG")
    text = data["text/plain"]
    assert "three keys" in text
    assert [line.split() for line in text.splitlines()[-2:]] == [
        ["q0", "0.7500", "0.2500", "0.0000"],
        ["q1", "0.1250", "0.5000", "0.3750"],
    ]
    assert metadata["image/png"]["alt"] == text


def test_hidden_cells_are_hatched_and_not_described_as_zero():
    ax = heatmap([[1.0, 0.0], [0.5, 0.5]], ["a", "b"], hidden=causal_mask(2))
    (patch,) = ax.patches
    assert patch.get_hatch()
    assert patch.get_xy() == (1, 0)
    assert ax.description.splitlines()[-2].split() == ["a", "1.0000", "hidden"]
    assert len(ax.texts) == 3


@pytest.mark.parametrize("signed", [False, True])
def test_minus_infinity_and_nan_are_hidden_and_plus_infinity_is_not(signed):
    ax = heatmap([[0.5, -np.inf], [np.inf, np.nan]], ["a", "b"], signed=signed)
    assert [patch.get_xy() for patch in ax.patches] == [(1, 0), (1, 1)]
    assert [text.get_text() for text in ax.texts] == ["0.50", "inf"]
    ax.figure.draw_without_rendering()
    top = (SIGNED_COLOURS if signed else WEIGHT_COLOURS)[-1]
    assert to_hex(ax.collections[0].get_facecolors()[2]) == top
    assert ax.texts[1].get_color() == ink(top)
    rows = [line.split() for line in ax.description.splitlines()[-2:]]
    assert rows == [["a", "0.5000", "hidden"], ["b", "inf", "hidden"]]


def test_heatmap_draws_into_given_axes_and_returns_them():
    figure, axes = described_figure(1, 2, panel=(4.0, 3.0), caption="Two panels.")
    assert figure.get_size_inches().tolist() == [8.0, 3.0]
    assert heatmap(WEIGHTS, QUERIES, KEYS, title="left", ax=axes[0, 0]) is axes[0, 0]
    heatmap(WEIGHTS, QUERIES, KEYS, title="right", ax=axes[0, 1])
    text = bundle(figure)[0]["text/plain"]
    assert text.startswith("Two panels.")
    assert text.index("left") < text.index("right")
    ordinary = Figure().subplots()
    assert heatmap(WEIGHTS, QUERIES, KEYS, ax=ordinary) is ordinary


def test_the_same_numbers_give_the_same_bytes_and_leave_no_figure_open_in_pyplot():
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    first, second = (heatmap(WEIGHTS, QUERIES, KEYS).figure.to_png() for _ in range(2))
    assert first == second
    assert pyplot.get_fignums() == before


TICKS = [lambda ax: ax.get_yticklabels(), lambda ax: ax.get_xticklabels()]


def test_head_grid_gives_every_head_the_same_scale_and_one_colour_bar():
    stack = np.array([WEIGHTS, np.array(WEIGHTS) / 10, np.zeros((2, 3))])
    figure = head_grid(stack, QUERIES, KEYS, columns=2)
    panels, bars = figure.axes[:3], figure.axes[3:]
    assert len(bars) == 1
    assert {ax.collections[0].get_clim() for ax in panels} == {(0.0, 1.0)}
    assert all(ax.yaxis_inverted() for ax in panels), "the first query stands on top"
    five = head_grid(np.zeros((5, 2, 3)), QUERIES, KEYS, columns=2).axes[:5]
    places = [
        (ax.get_subplotspec().rowspan.start, ax.get_subplotspec().colspan.start) for ax in five
    ]
    assert places == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]
    rows, columns = ([[t.get_text() for t in ticks(ax)] for ax in five] for ticks in TICKS)
    assert rows == [QUERIES, ["", ""]] * 2 + [QUERIES], "each row of heads has words on its left"
    assert columns == 3 * [["", "", ""]] + 2 * [KEYS], "and each column below"
    assert "head 2" in figure.description
    assert (figure.get_supxlabel(), figure.get_supylabel()) == (KEY_LABEL, QUERY_LABEL)
    below = head_grid([WEIGHTS] * 2, QUERIES, KEYS, columns=1)
    assert [ax.get_xlabel() for ax in below.axes[:2]] == ["", KEY_LABEL]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_tensors_of_any_type_and_with_a_gradient_are_numbers(dtype):
    weights = torch.tensor(WEIGHTS, dtype=dtype, requires_grad=True)
    np.testing.assert_allclose(to_array(weights), WEIGHTS)


SCRIPTS = [
    "我", "酸菜鱼", "שלום", "नमस्ते", "สวัสดี", "😀", "👩‍👩‍👧", "é", "e\u0301",
    "$x_1$", "$", "a\tb", "\u202eabc", "\ud800", "{\\alpha}", "%s", "", " ", "\U000e0001",
]  # fmt: skip


def test_any_token_is_drawn_without_error_or_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = [[1.0] * len(SCRIPTS)] * 2
        heatmap(weights, SCRIPTS[:2], SCRIPTS, title=SCRIPTS[0]).figure.to_png()
        head_grid([weights] * 2, SCRIPTS[:2], SCRIPTS, titles=SCRIPTS[-2:]).to_png()


def test_a_character_that_no_font_has_reads_as_its_code_point(monkeypatch):
    monkeypatch.setattr(labels, "_font_characters", lambda path: frozenset(range(128)))
    monkeypatch.setattr(labels, "font_families", labels.font_families.__wrapped__)  # not cached
    assert labels.printable("a我") == "aU+6211"


@pytest.mark.parametrize(
    ("text", "shown"), [("x" * 30, "x" * 13 + "…"), ("a\nb", "a\\nb"), ("a\u0378", "a\\u0378")]
)
def test_long_texts_are_cut_and_characters_that_draw_nothing_are_escaped(text, shown):
    assert labels.printable(text, longest=14) == shown


def test_line_plot_describes_its_curves():
    words = {"xlabel": "n", "ylabel": "s", "title": "t"}
    ax = line_plot([1, 2], {"up": [1.0, 2.0], "down": [2.0, 1.0]}, **words)
    assert ax.get_legend() is not None
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "linear")
    assert ax.description.splitlines()[-2:] == ["up: 1.0000 2.0000", "down: 2.0000 1.0000"]
    timed = line_plot([1], {"up": [0.123]}, **words, describe_values=False)
    assert "0.12" not in timed.description


def grid(**changed):
    return head_grid(**{"weights": [WEIGHTS], "queries": QUERIES, "keys": KEYS} | changed)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: heatmap([1.0, 2.0], ["a"]), "weights must have shape (queries, keys), got (2,)"),
        (lambda: heatmap(WEIGHTS, ["a"]), "queries must hold 2 labels, got 1"),
        (lambda: heatmap(WEIGHTS, QUERIES, ["a"]), "keys must hold 3 labels, got 1"),
        (lambda: heatmap(WEIGHTS, QUERIES, KEYS, hidden=causal_mask(2)), "(2, 3), got (2, 2)"),
        (lambda: heatmap([[1.0 + 5.0j]], ["a"]), "weights must be real numbers, got complex128"),
        (lambda: grid(weights=WEIGHTS), "weights must have shape (heads, queries, keys), got (2"),
        (lambda: grid(hidden=[False] * 3), "hidden must have shape (2, 3) or (1, 2, 3), got (3,)"),
        (lambda: grid(titles=["a", "b"]), "titles must hold 1 labels, got 2"),
        (lambda: grid(queries=["a"]), "queries must hold 2 labels, got 1"),
        (lambda: grid(keys=None), "keys must hold 3 labels, got 2"),
        (lambda: bar_panels(["a"], {"score": [1.0, 2.0]}), "labels must hold 2 labels"),
    ],
)
def test_what_would_be_drawn_wrongly_is_refused(draw, words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        draw()


def test_heads_hide_the_same_cells_or_each_its_own():
    one, other = np.zeros((2, 3), bool), np.zeros((2, 3), bool)
    one[0, 2], other[1, 0], other[1, 1] = True, True, True
    same = head_grid([WEIGHTS, WEIGHTS], QUERIES, KEYS, hidden=one)
    own = head_grid([WEIGHTS, WEIGHTS], QUERIES, KEYS, hidden=[one, other])
    assert [ax.description.count("hidden") for ax in same.axes[:2]] == [1, 1]
    assert [ax.description.count("hidden") for ax in own.axes[:2]] == [1, 2]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ((512, 1024, 2048, 4096), {"500", "1000", "2000"}),
        ((1, 10, 1000), {"1", "10", "100", "1000"}),
        ((0.01, 0.3), {"0.01", "0.1", "0.2"}),
    ],
)
def test_logarithmic_axes_have_plain_numbers(values, labels):
    words = {"xlabel": "x", "ylabel": "y", "title": "t"}
    ax = line_plot(values, {"one": values}, **words, marker="", logx=True, logy=True)
    ax.figure.canvas.draw()
    for axis in (ax.xaxis, ax.yaxis):
        found = {tick.get_text() for tick in axis.get_ticklabels()}
        assert labels <= found
        assert not any("\\mathdefault" in label for label in found)


def test_bars_are_as_high_as_their_numbers():
    scores = torch.tensor([2.0, -1.0])
    figure = bar_panels(["a", "b"], {"score": scores, "e to the score": scores.exp()})
    heights = [[bar.get_height() for bar in ax.patches] for ax in figure.axes]
    np.testing.assert_allclose(heights, torch.stack([scores, scores.exp()]))
    assert bundle(figure)[0]["text/plain"].splitlines() == [
        "Bars: score. a 2.0000, b -1.0000",
        "Bars: e to the score. a 7.3891, b 0.3679",
    ]


def test_a_few_marked_points_have_their_ticks_under_them():
    def labels(points):
        numbers = {"xlabel": "x", "ylabel": "y", "title": "t", "logx": True}
        ax = line_plot(points, {"one": points}, **numbers)
        ax.figure.canvas.draw()
        return [tick.get_text() for tick in ax.xaxis.get_ticklabels()]

    assert labels([0.5, 512, 4096]) == ["0.5", "512", "4096"]
    assert "512" not in labels([2**k for k in range(13)])


def test_millions_are_written_out_beside_a_line_plot():
    ax = line_plot([1, 2], {"parameters": [1_500_000, 2_000_000]}, xlabel="x", ylabel="y", title="")
    ax.figure.draw_without_rendering()
    assert "2,000,000" in [label.get_text() for label in ax.get_yticklabels()]
    assert not ax.yaxis.get_offset_text().get_text()
