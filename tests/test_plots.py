import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from matplotlib import pyplot
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure

from chapter3_helpers import _language, plots
from chapter3_helpers._figures import labels
from chapter3_helpers._figures.colours import (
    SIGNED_COLOURS,
    WEIGHT_COLOURS,
    shade,
)
from chapter3_helpers._figures.said import say_drawn
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

WORDS = {"xlabel": "x", "ylabel": "y", "title": "t"}
POWERS = [2**power for power in range(13)]
WEIGHTS = [[0.75, 0.25, 0.0], [0.125, 0.5, 0.375]]
QUERIES, KEYS = ["q0", "q1"], ["k0", "k1", "k2"]


def bundle(shown):
    return shown._repr_mimebundle_()


def hatched(ax):
    """The column and row of every hatched cell."""
    (patch,) = ax.patches
    assert patch.get_hatch()
    return [tuple(corner) for corner in patch.get_path().vertices[::5]]


def labels_of(axis):
    axis.figure.draw_without_rendering()
    return [tick.get_text() for tick in axis.get_ticklabels()]


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
    places = [text.get_position() for text in ax.texts]
    assert places == [(x, y) for y in middles[:2] for x in middles], "in the middle of each cell"


def test_weights_share_one_scale_from_white_to_one_dark_hue_whatever_their_values():
    for scale in (1, 10):
        cells = cell_colours(heatmap(np.array(WEIGHTS) / scale, QUERIES, KEYS))
        np.testing.assert_allclose(cells[0, 2], [1, 1, 1, 1])
        expected = to_rgba(shade(0.75 / scale, WEIGHT_COLOURS))
        np.testing.assert_allclose(cells[0, 0], expected, atol=1 / 100)
    dropped = heatmap([[2.0, 0.0]], ["a"], ["a", "b"])
    assert dropped.collections[0].get_clim() == (0.0, 2.0), "weights after dropout go beyond 1"


def test_signed_numbers_are_centred_at_white_and_infinity_is_the_largest():
    cells = cell_colours(heatmap([[0.0, np.inf, -2.0], [2.0, 0, 0]], QUERIES, KEYS, signed=True))
    for place, colour in (((0, 0), "#ffffff"), ((0, 2), SIGNED_COLOURS[0])):
        np.testing.assert_allclose(cells[place], to_rgba(colour), atol=1 / 64)
    for place in ((1, 0), (0, 1)):
        np.testing.assert_allclose(cells[place], to_rgba(SIGNED_COLOURS[-1]), atol=1 / 64)


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
    for number, hidden in ((0.0, causal_mask(2)), (-np.inf, None), (np.nan, None)):
        ax = heatmap([[1.0, number], [0.5, 0.5]], ["a", "b"], hidden=hidden)
        assert hatched(ax) == [(1, 0)]
        assert ax.description.splitlines()[-2].split() == ["a", "1.0000", "hidden"]
        assert len(ax.texts) == 3


def test_heatmap_draws_into_given_axes_and_returns_them():
    open_in_pyplot = pyplot.get_fignums()
    figure, axes = described_figure(1, 2, panel=(4.0, 3.0), caption="Two panels.")
    assert figure.get_size_inches().tolist() == [8.0, 3.0]
    assert heatmap(WEIGHTS, QUERIES, KEYS, title="left", ax=axes[0, 0]) is axes[0, 0]
    heatmap(WEIGHTS, QUERIES, KEYS, title="right", ax=axes[0, 1])
    assert re.match("Two panels.*left.*right", bundle(figure)[0]["text/plain"], re.DOTALL)
    ordinary = Figure().subplots()
    assert heatmap(WEIGHTS, QUERIES, KEYS, ax=ordinary) is ordinary
    assert pyplot.get_fignums() == open_in_pyplot


def test_head_grid_gives_every_head_the_same_scale_and_one_colour_bar():
    stack = np.array([np.array(WEIGHTS) / scale for scale in range(1, 6)])
    figure = head_grid(stack, QUERIES, KEYS, columns=2)
    panels, bars = figure.axes[:5], figure.axes[5:]
    assert len(bars) == 1
    assert {ax.collections[0].get_clim() for ax in panels} == {(0.0, 1.0)}
    assert all(ax.yaxis_inverted() for ax in panels), "the first query stands on top"
    specs = [ax.get_subplotspec() for ax in panels]
    places = [(spec.rowspan.start, spec.colspan.start) for spec in specs]
    assert places == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]
    rows = [[tick.get_text() for tick in ax.get_yticklabels()] for ax in panels]
    columns = [[tick.get_text() for tick in ax.get_xticklabels()] for ax in panels]
    assert rows == [QUERIES, []] * 2 + [QUERIES], "each row of heads has words on its left"
    assert columns == 3 * [[]] + 2 * [KEYS], "and each column below"
    assert (figure.get_supxlabel(), figure.get_supylabel()) == (KEY_LABEL, QUERY_LABEL)
    below = head_grid([WEIGHTS] * 2, QUERIES, KEYS, columns=1)
    assert [ax.get_xlabel() for ax in below.axes[:2]] == ["", KEY_LABEL]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.half])
def test_tensors_of_any_type_and_with_a_gradient_are_numbers(dtype):
    weights = torch.tensor(WEIGHTS, dtype=dtype, requires_grad=True)
    np.testing.assert_allclose(to_array(weights), WEIGHTS)
    np.testing.assert_allclose(to_array([list(row) for row in weights]), WEIGHTS)
    np.testing.assert_allclose(to_array(weights.detach().to_sparse()), WEIGHTS)
    eighths = weights.detach().to(torch.float8_e4m3fn)
    np.testing.assert_allclose(to_array(eighths), WEIGHTS)


@pytest.mark.parametrize("tokens", [30, 100, 500])
def test_a_large_heatmap_is_no_wider_than_a_page_and_described_in_a_few_words(tokens):
    names = [f"token {n}" for n in range(tokens)]
    ax = heatmap(np.eye(tokens, k=-1), names, hidden=causal_mask(tokens))  # the token before
    assert max(ax.figure.get_size_inches()) <= 12
    assert not ax.texts
    assert len(ax.patches) == 1, "all that is hidden is one shape, since each on its own is slow"
    assert ax.collections[0].get_array().size <= 450**2
    ticks = [label.get_text() for label in ax.get_xticklabels()]
    assert ticks[0] == "token 0"
    step = int(ticks[1].split()[1])
    assert ticks == names[::step]
    assert ax.get_xticks()[1] / ax.get_xlim()[1] == pytest.approx((step + 0.5) / tokens)
    lines = ax.description.splitlines()
    gone = tokens * (tokens - 1) // 2
    reach = f"{tokens} x {tokens} numbers from 0.0000 to 1.0000, {gone:,} of them hidden."
    assert lines[1] == f"{reach} Some of them:"
    assert lines[-1].split()[-2:] == ["1.0000", "0.0000"], "the last row looks at the one before"
    assert len(ax.description) < 5000
    assert ("Several numbers share a cell" in lines[0]) == (tokens > 450)


def test_a_cell_for_several_numbers_shows_the_one_that_is_farthest_from_zero():
    scores = np.zeros((1000, 900))
    scores[501, 300], scores[999, 1] = -2.0, 1.0
    ax = heatmap(scores, [""] * 1000, [""] * 900, signed=True)
    cells = ax.collections[0].get_array().reshape(450, 450)
    places = np.argwhere(cells).tolist()
    assert places == [[225, 150], [449, 0]]
    assert cells[225, 150] == -2.0


@pytest.mark.parametrize("shape", [(400, 3), (3, 400)])
def test_a_thread_of_numbers_is_wide_enough_to_be_seen(shape, no_warnings):
    ax = heatmap(np.ones(shape), ["a"] * shape[0], ["b"] * shape[1])
    ax.figure.to_png()
    assert min(ax.get_window_extent().size) > 0.5 * ax.figure.dpi
    assert max(ax.figure.get_size_inches()) <= 12


def test_numbers_that_are_asked_for_stand_in_small_cells_as_long_as_they_can_be_read():
    names = [""] * 40
    small = heatmap(np.ones((20, 20)), names[:20], annotate=True)
    assert (len(small.texts), small.texts[0].get_fontsize()) == (400, pytest.approx(6.3))
    assert max(small.figure.get_size_inches()) <= 12
    assert not heatmap(np.ones((40, 40)), names, annotate=True).texts


@pytest.mark.parametrize(("heads", "tokens", "columns"), [(5, 100, 4), (30, 6, 30), (3, 12, 3)])
def test_many_heads_or_tokens_are_no_wider_than_a_page(heads, tokens, columns):
    names = [f"token {n}" for n in range(tokens)]
    figure = head_grid(np.ones((heads, tokens, tokens)), names, columns=columns)
    assert figure.get_size_inches()[0] <= 12
    assert len(figure.description) < 12_000
    assert figure.description.count("head ") == min(heads, 19)
    assert (" 19 of them in numbers:\n" in figure.description) == (heads == 30)
    unsaid = head_grid(np.ones((heads, tokens, tokens)), names, describe_values=False)
    assert "in numbers" not in unsaid.description


def test_many_points_bars_and_curves_are_drawn_in_full_and_described_in_part(no_warnings):
    names = [f"_{n}" for n in range(60)]
    ax = line_plot(range(999), {name: range(999) for name in names}, **WORDS)
    ax.figure.to_png()
    assert len(ax.lines) == len(ax.get_legend().get_texts()) == 60
    lines = ax.description.splitlines()
    assert lines[1].startswith("x: 0 1 2")
    assert "49 … 900 others … 950" in lines[1]
    assert lines[-1].startswith("_59: 0.0000")
    assert "… 42 others …" in lines
    assert len(ax.description) < 25_000
    figure = bar_panels([*map(str, range(300))], {name: range(300) for name in names[:3]})
    figure.to_png()
    assert len(figure.axes) == 3
    assert figure.get_size_inches()[0] <= 12
    assert "… 201 others …" in figure.description


def test_numbers_of_any_size_are_drawn(no_warnings):
    values = np.array([1e308, -1e308, np.inf, -np.inf, np.nan, 1e-300])
    names = [*"abcdef"]
    for signed in (False, True):
        ax = heatmap([values], ["row"], names, signed=signed)
        ax.figure.to_png()
        assert ax.texts[0].get_text() == "1.0e+308"
        assert ax.description.endswith("\nrow 1.00e+308 -1.00e+308 inf hidden hidden 0.0000")
    curve([1, 2, 3, 4, 5, 6], values).figure.to_png()
    figure = bar_panels(names, {"any": values})
    figure.to_png()
    assert [text.get_text() for text in figure.axes[0].texts][2:] == ["inf", "-inf", "nan", "0.00"]


def test_numbers_that_differ_from_run_to_run_stand_in_the_alt_text_alone():
    shown = [
        heatmap(WEIGHTS, QUERIES, KEYS, describe_values=False),
        grid(describe_values=False),
        curve([1], [0.375], describe_values=False),
    ]
    for each in shown:
        data, metadata = bundle(each)
        assert "0.375" not in data["text/plain"]
        alt = metadata["image/png"]["alt"]
        assert alt.startswith(data["text/plain"])
        assert alt.count("0.3750") == 1
    own = heatmap(WEIGHTS, QUERIES, KEYS)
    own.description = "The last digits differ."
    assert bundle(own)[0]["text/plain"] == "The last digits differ."
    alt = bundle(own)[1]["image/png"]["alt"]
    assert alt.startswith("The last digits differ.\nHeatmap: attention weights.")


def test_a_figure_says_whether_its_colours_are_numbers():
    def shows(figure):
        return bundle(figure)[1]["image/png"]["shows"]

    mixed, axes = described_figure(1, 2)
    curve([1], [1], ax=axes[0, 0])
    assert shows(mixed) == "ink"
    heatmap(WEIGHTS, QUERIES, KEYS, ax=axes[0, 1])
    assert [*map(shows, (mixed, grid()))] == ["cells", "cells"]
    assert [*map(shows, (curve([1], [1]), bar_panels(["a"], {"b": [1]})))] == ["ink", "ink"]


SCRIPTS = [
    "我", "酸菜鱼", "שלום", "नमस्ते", "สวัสดี", "😀", "👩‍👩‍👧", "é", "e\u0301",
    "$x_1$", "$", "a\tb", "\u202eabc", "\ud800", "{\\alpha}", "%s", "", " ", "\U000e0001",
    "_x", r"$\foo$", "\\", "a\nb", "\x00", "\u2028", "x" * 300,
]  # fmt: skip


@pytest.fixture
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_any_token_is_drawn_without_error_or_warning(no_warnings):
    weights = [[1.0] * len(SCRIPTS)] * 2
    heatmap(weights, SCRIPTS[:2], SCRIPTS, title=SCRIPTS[0]).figure.to_png()
    head_grid([weights] * 2, SCRIPTS[:2], SCRIPTS, titles=SCRIPTS[-2:]).to_png()
    figure = bar_panels(SCRIPTS, dict.fromkeys(SCRIPTS[:2], range(len(SCRIPTS))))
    figure.to_png()
    assert len(figure.description.splitlines()) == 2, "no text begins a line of its own"


def test_any_title_and_any_name_of_an_axis_or_a_curve_is_drawn(no_warnings):
    figure, axes = described_figure(2, len(SCRIPTS) // 2)
    for ax, text in zip(axes.flat, SCRIPTS, strict=True):
        curves = {text: [1, 2], "other": [2, 1]}
        line_plot([1, 2], curves, xlabel=text, ylabel=text, title=text, ax=ax)
        names = ax.get_legend().get_texts()
        assert [name.get_text() for name in names] == [labels.printable(text, 40), "other"]
        assert not any(put.get_parse_math() for put in (ax.title, ax.xaxis.label, *names))
        assert len(ax.description.splitlines()) == 4
        assert len(ax.description) < 1000
    figure.to_png()


def test_a_character_that_no_font_has_reads_as_its_code_point(monkeypatch):
    monkeypatch.setattr(labels, "_font_characters", lambda path: frozenset(range(128)))
    monkeypatch.setattr(labels, "font_families", labels.font_families.__wrapped__)  # not cached
    assert labels.printable("a我") == "aU+6211"


@pytest.mark.parametrize("columns", [1, 2])
def test_names_of_axes_are_written_in_fonts_that_have_them(monkeypatch, no_warnings, columns):
    monkeypatch.setattr(plots, "QUERY_LABEL", "查询")
    monkeypatch.setattr(plots, "KEY_LABEL", "键")
    head_grid([WEIGHTS, WEIGHTS], QUERIES, KEYS, columns=columns).to_png()


@pytest.mark.parametrize(
    ("families", "said"), [(("SimSun",), "“我” 的查询"), (None, "the query of “我”")]
)
def test_words_that_no_font_has_stand_in_english(monkeypatch, families, said):
    chinese = {"the query of “{token}”": "“{token}” 的查询"}
    monkeypatch.setattr(_language, "_CATALOGUE", SimpleNamespace(gettext=chinese.get))
    monkeypatch.setattr(labels, "font_families", lambda text: families)
    assert say_drawn("the query of “{token}”", token="我") == said


def test_long_texts_are_cut_and_characters_that_draw_nothing_are_escaped():
    texts = {"x" * 30: "x" * 13 + "…", "a\nb": "a\\nb", "a\u0378": "a\\u0378"}
    assert [labels.printable(text, longest=14) for text in texts] == [*texts.values()]


def test_line_plot_describes_its_curves():
    ax = line_plot([1, 2], {"up": [1.0, 2.0], "down": [2.0, 1.0]}, **WORDS)
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "linear")
    assert ax.description.splitlines()[-2:] == ["up: 1.0000 2.0000", "down: 2.0000 1.0000"]


def curve(x, values, **options):
    return line_plot(x, {"one": values}, **WORDS, **options)


def grid(**changed):
    return head_grid(**{"weights": [WEIGHTS], "queries": QUERIES, "keys": KEYS} | changed)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: heatmap([1.0, 2.0], ["a"]), "weights must have shape (queries, keys), got (2,)"),
        (lambda: heatmap(WEIGHTS, ["a"]), "queries must hold 2 labels, got 1"),
        (lambda: heatmap(WEIGHTS, QUERIES, KEYS, hidden=causal_mask(2)), "(2, 3), got (2, 2)"),
        (lambda: heatmap([[1.0 + 5.0j]], ["a"]), "weights must be real numbers, got complex128"),
        (lambda: grid(weights=WEIGHTS), "weights must have shape (heads, queries, keys), got (2"),
        (lambda: grid(hidden=[False] * 3), "hidden must have shape (2, 3) or (1, 2, 3), got (3,)"),
        (lambda: grid(titles=["a", "b"]), "titles must hold 1 labels, got 2"),
        (lambda: grid(keys=None), "keys must hold 3 labels, got 2"),
        (lambda: bar_panels(["a"], {"score": [1.0, 2.0]}), "labels must hold 2 labels"),
        (lambda: bar_panels(["a"], {}), "the number of panels must be an integer of at least 1"),
        (lambda: heatmap(np.zeros((0, 3)), [], KEYS), "must hold a number at least, got (0, 3)"),
        (lambda: grid(columns=0), "columns must be an integer of at least 1, got 0"),
        (lambda: curve([1, 2], [1]), "line 'one' must have shape (2,), got (1,)"),
        (lambda: curve([[1]], [1]), "x must have shape (numbers,), got (1, 1)"),
        (lambda: curve([1], [1j]), "line 'one' must be real numbers, got complex128"),
        (lambda: curve([1], [0], logy=True), "each line must hold a number above 0"),
        (lambda: curve([0], [1], logx=True), "x must hold a number above 0"),
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
    ax = curve(values, values, marker="", logx=True, logy=True)
    for axis in (ax.xaxis, ax.yaxis):
        assert labels <= {*labels_of(axis)}
        assert not any("\\mathdefault" in label for label in labels_of(axis))


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
    few, many = (curve(points, points, logx=True) for points in ([0.5, 512, 4096], POWERS))
    assert labels_of(few.xaxis) == ["0.5", "512", "4096"]
    assert "512" not in labels_of(many.xaxis)


def test_millions_are_written_out_beside_a_line_plot():
    ax = curve([1, 2], [1_500_000, 2_000_000])
    assert "2,000,000" in labels_of(ax.yaxis)
    assert not ax.yaxis.get_offset_text().get_text()
