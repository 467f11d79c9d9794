import warnings

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from chapter3_helpers._figures.labels import font_families, printable
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.plots import (
    KEY_LABEL,
    QUERY_LABEL,
    described_figure,
    head_grid,
    heatmap,
    line_plot,
    to_array,
)

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
    assert ax.yaxis_inverted(), "the first query stands on top"
    assert [text.get_text() for text in ax.texts] == [
        "0.75",
        "0.25",
        "0.00",
        "0.12",
        "0.50",
        "0.38",
    ]


def test_weights_share_one_scale_from_0_to_1_whatever_their_values():
    faint = cell_colours(heatmap(np.array(WEIGHTS) / 10, QUERIES, KEYS))
    scale = matplotlib.colormaps["viridis"]
    np.testing.assert_allclose(faint[0, 0], scale(0.075), atol=1 / 128)
    np.testing.assert_allclose(
        cell_colours(heatmap(WEIGHTS, QUERIES, KEYS))[0, 0], scale(0.75), atol=1 / 128
    )


def test_signed_numbers_are_centred_at_zero():
    colours = cell_colours(heatmap([[0.0, 1.0, -2.0], [2.0, 0, 0]], QUERIES, KEYS, signed=True))
    scale = matplotlib.colormaps["RdBu_r"]
    np.testing.assert_allclose(colours[0, 0], scale(0.5), atol=1 / 64)
    np.testing.assert_allclose(colours[0, 2], scale(0.0), atol=1 / 64)


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


def test_picture_of_the_same_numbers_is_the_same_to_the_byte():
    assert (
        heatmap(WEIGHTS, QUERIES, KEYS).figure.to_png()
        == heatmap(WEIGHTS, QUERIES, KEYS).figure.to_png()
    )


def test_hidden_cells_are_hatched_and_not_described_as_zero():
    weights = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    ax = heatmap(weights, ["a", "b"], hidden=causal_mask(2))
    assert len(ax.patches) == 1
    assert ax.patches[0].get_hatch()
    assert ax.patches[0].get_xy() == (1, 0)
    assert ax.description.splitlines()[-2].split() == ["a", "1.0000", "hidden"]
    assert len(ax.texts) == 3


def test_infinite_scores_count_as_hidden():
    ax = heatmap([[0.5, -np.inf], [1.0, np.nan]], ["a", "b"], signed=True)
    assert len(ax.patches) == 2


def test_heatmap_draws_into_given_axes_and_returns_them():
    figure, axes = described_figure(1, 2, caption="Two panels.")
    assert heatmap(WEIGHTS, QUERIES, KEYS, title="left", ax=axes[0, 0]) is axes[0, 0]
    heatmap(WEIGHTS, QUERIES, KEYS, title="right", ax=axes[0, 1])
    text = bundle(figure)[0]["text/plain"]
    assert text.startswith("Two panels.")
    assert text.index("left") < text.index("right")


def test_heatmap_draws_into_ordinary_axes_too():
    ax = Figure().subplots()
    assert heatmap(WEIGHTS, QUERIES, KEYS, ax=ax) is ax


def test_no_figure_is_left_open_in_pyplot():
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    heatmap(WEIGHTS, QUERIES, KEYS).figure.to_png()
    head_grid([WEIGHTS], QUERIES, KEYS).to_png()
    assert pyplot.get_fignums() == before


def test_head_grid_gives_every_head_the_same_scale_and_one_colour_bar():
    stack = np.array([WEIGHTS, np.array(WEIGHTS) / 10, np.zeros((2, 3))])
    figure = head_grid(stack, QUERIES, KEYS, columns=2)
    panels, bars = figure.axes[:3], figure.axes[3:]
    assert len(bars) == 1
    assert {ax.images[0].get_clim() for ax in panels} == {(0.0, 1.0)}
    assert "head 2" in figure.description
    assert "0.0750" in figure.description


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_tensors_of_any_type_with_or_without_gradient_are_drawn(dtype):
    weights = torch.tensor(WEIGHTS, dtype=dtype, requires_grad=True)
    np.testing.assert_allclose(to_array(weights), WEIGHTS)
    assert (
        heatmap(weights, QUERIES, KEYS).description == heatmap(WEIGHTS, QUERIES, KEYS).description
    )


SCRIPTS = [
    "我", "酸菜鱼", "שלום", "नमस्ते", "สวัสดี", "😀", "👩‍👩‍👧", "é", "e\u0301",
    "$x_1$", "$", "a\tb", "\u202eabc", "\ud800", "{\\alpha}", "%s", "", " ", "\U000e0001",
]  # fmt: skip


@pytest.mark.parametrize("token", SCRIPTS)
def test_any_token_is_drawn_without_error_or_warning(token):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heatmap([[1.0]], [token], title=token).figure.to_png()
        head_grid([[[1.0]]], [token], titles=[token], title=token).to_png()


def test_a_character_that_no_font_has_reads_as_its_code_point(monkeypatch):
    unassigned = "\u0378"
    assert font_families(unassigned) is None
    assert printable("a" + unassigned) == "aU+0378" or "\\u0378" in printable(unassigned)


def test_long_and_invisible_characters_in_labels():
    assert printable("x" * 30, longest=14) == "x" * 13 + "…"
    assert printable("a\nb") == "a\\nb"


def test_line_plot_describes_its_curves():
    ax = line_plot(
        [1, 2], {"up": [1.0, 2.0], "down": [2.0, 1.0]}, xlabel="n", ylabel="s", title="t"
    )
    assert ax.get_legend() is not None
    assert ax.description.splitlines()[-2:] == ["up: 1.0000 2.0000", "down: 2.0000 1.0000"]
    timed = line_plot(
        [1], {"up": [0.123]}, xlabel="n", ylabel="s", title="t", describe_values=False
    )
    assert "0.12" not in timed.description


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], ["a"]), r"weights must have shape \(queries, keys\), got \(2,\)"),
        (([[]], ["a"]), "weights must have shape"),
        ((WEIGHTS, ["a"]), "queries must hold 2 labels, got 1"),
        ((WEIGHTS, QUERIES, ["a"]), "keys must hold 3 labels, got 1"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        heatmap(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0 + 5.0j]], ["a"]), "weights must be an array of real numbers, got complex128"),
        (([["a"]], ["a"]), "weights must be an array of real numbers, got <U1"),
        ((torch.nn.Linear(1, 1), ["a"]), "weights must be an array of real numbers, got Linear"),
        (([[1.0]], None), "queries must be a sequence of labels, got NoneType"),
    ],
)
def test_what_is_no_matrix_and_no_labels_is_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        heatmap(*arguments)


def test_hidden_and_heads_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"hidden must have shape \(2, 3\), got \(2, 2\)"):
        heatmap(WEIGHTS, QUERIES, KEYS, hidden=causal_mask(2))
    with pytest.raises(ValueError, match=r"weights must have shape \(heads, queries, keys\)"):
        head_grid(WEIGHTS, QUERIES, KEYS)
    with pytest.raises(ValueError, match="titles must hold 1 labels, got 2"):
        head_grid([WEIGHTS], QUERIES, KEYS, titles=["a", "b"])
    expected = r"hidden must have shape \(2, 3\) or \(1, 2, 3\), got "
    with pytest.raises(ValueError, match=expected + r"\(2, 2\)"):
        head_grid([WEIGHTS], QUERIES, KEYS, hidden=causal_mask(2))
    with pytest.raises(ValueError, match=expected + r"\(3,\)"):
        head_grid([WEIGHTS], QUERIES, KEYS, hidden=[False, False, True])
    with pytest.raises(ValueError, match="columns must be at least 1, got 0"):
        head_grid([WEIGHTS], QUERIES, KEYS, columns=0)
    with pytest.raises(TypeError, match=r"columns must be an integer, got 2\.0"):
        head_grid([WEIGHTS], QUERIES, KEYS, columns=2.0)


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
@pytest.mark.parametrize("side", ["x", "y"])
def test_logarithmic_axes_have_plain_numbers(values, labels, side):
    x, y = (values, range(len(values))) if side == "x" else (range(len(values)), values)
    logs = {"logx": side == "x", "logy": side == "y"}
    ax = line_plot(x, {"one": y}, xlabel="x", ylabel="y", title="t", marker="", **logs)
    axis = ax.xaxis if side == "x" else ax.yaxis
    ax.figure.canvas.draw()
    found = {tick.get_text() for tick in axis.get_ticklabels()}
    assert labels <= found
    assert not any("\\mathdefault" in label for label in found)


def test_a_few_marked_points_have_their_ticks_under_them():
    def labels(points):
        numbers = {"xlabel": "x", "ylabel": "y", "title": "t", "logx": True}
        ax = line_plot(points, {"one": points}, **numbers)
        ax.figure.canvas.draw()
        return [tick.get_text() for tick in ax.xaxis.get_ticklabels()]

    assert labels([0.5, 512, 4096]) == ["0.5", "512", "4096"]
    assert "512" not in labels([2**k for k in range(13)])
