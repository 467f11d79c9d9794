"""What explorers say beside a picture is true: sentences as they stand, and facts in numbers."""

import re

import pytest
import torch

from chapter3_helpers.explorers.attention.mechanisms import AT_RANDOM, SIMPLE, V2, WRAPPER
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.panels import Bars, Matrix
from chapter3_helpers.explorers.masking import RANDOM
from chapter3_helpers.explorers.trainable_qkv import DRAWS, WIDTHS
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.tasks import who_whom
from chapter3_helpers.tasks.training import Trained
from tests.explorers import Shown

# (explorer, what is changed in it, what its note says); " ... " stands for what is left out
SAID = [
    ("dot_products", {}, "Less than a right angle: the shadow falls along b, dot product 0.75."),
    ("dot_products", {"angle": 90}, "a casts no shadow: the dot product is 0"),
    ("dot_products", {"length_a": 0.0, "length_b": 0.0}, "a and b have length 0 and so no direct"),
    ("softmax", {}, "“journey” gets most, 28% of the total ... shares from −58% to 43%"),
    ("softmax", {"score": 4.0}, "“step” gets most, 78% of the total ... give most to “step”, 42%."),
    ("softmax", {"temperature": 100.0}, "−58% to 43%. In brackets: each score divided by the temp"),
    ("trainable_qkv", {"head_dim": 64}, "slope of softmax is 0."),
    ("attention", {"made": AT_RANDOM, "scale": 4}, "chance; the inputs are multiplied by 4, so"),
    ("attention", {"made": AT_RANDOM, "scale": 1}, "what a head prefers is chance."),
    ("attention", {"mechanism": SIMPLE, "scale": 1}, "a token attends to what resembles it."),
    ("pronouns", {"batches": 0}, "After 0 batches “sour” looks at everything nearly alike, and"),
    (
        *("pronouns", {"batches": 500}),
        "After 500 batches “sour” looks most at “milk” ... says “sie”, which is right: “milk” is",
    ),
    ("masking", {}, "“sour” looks most at “milk”"),
    (
        "masking",
        {"matrices": RANDOM, "text": "so so so"},
        "“so” looks at all 3 tokens equally (0.33",
    ),
    ("masking", {"tokens_read": 7}, "The rows above will not change any more."),
    ("induction_heads", {}, "next, most likely: “d”, ... Last time “d” came after “i”."),
    ("induction_heads", {"letter": 3, "layers": "one layer"}, "“i” stands here for the first"),
    (
        *("handmade_transformer", {}),
        "From 1024 to 0: “aabaa” goes on with “bababababa” instead of “baabaabaab”, and 19 of 27",
    ),
    (
        *("handmade_transformer", {"row": 2, "column": 1, "prompt": "bb"}),
        "instead of “aabaabaaba”, and yet 27 of 27 letters",
    ),
]


@pytest.mark.parametrize(("topic", "changed", "words"), SAID)
def test_the_note_says(topic, changed, words):
    note = Shown(topic, **changed).note
    assert re.search(".*".join(map(re.escape, words.split(" ... "))), note), note


# (explorer, what is changed in it, some of its facts)
FACTS = [
    (
        *("dot_products", {}),
        ["(0.75, 1.30)", "(1.00, 0.00)", "(0.75)(1.00) + (1.30)(0.00) = 0.75", "1.0 · 0.75 = 0.75"],
    ),
    (
        *("fused_multihead", {"d_out": 12, "num_heads": 2}),
        ["(6, 12)", "(2, 6, 6)", "sqrt(6) = 2.449"],  # the root of a head and not of all
    ),
    ("masking", {}, ["mask_scores of chapter3_helpers, not by a cell of yours"]),
    ("masking", {"tokens_read": 7}, ["28 of 49"]),
    *(  # in positions, the third head, where theta is 100
        ("positions", {"scheme": scheme, "head": 2, "theta": 100.0}, [told])
        for scheme, told in (
            ("learned", "a row of an untrained table (512, 4), times ten"),
            ("sinusoids", "cosine and sine of a fast and of a slow hand"),
            ("ALiBi", "−0.125 for each position between query and key"),  # 1/2, 1/4, 1/8
            ("rotary", "1 and 0.1 radians for each position"),  # the root of 100 below 1
        )
    ),
    ("attention", {"mechanism": SIMPLE}, [0]),  # parameters
    ("attention", {"mechanism": V2, "d_out": 4}, ["36", (7, 7)]),  # three of 3 x 4
    ("attention", {"mechanism": WRAPPER, "d_out": 4, "num_heads": 2}, ["72", (2, 7, 7)]),
]


@pytest.mark.parametrize(("topic", "changed", "facts"), FACTS)
def test_the_facts_are(topic, changed, facts):
    at_random = {"made": AT_RANDOM} if topic == "attention" else {}
    assert set(facts) <= set(Shown(topic, **at_random, **changed).facts.values())


@pytest.mark.parametrize("change", [{}, {"length_a": 0.1}, {"length_a": 2.0, "length_b": 2.0}])
def test_the_scale_of_the_dot_product_stays_from_minus_4_to_4(change):
    curve = Shown("dot_products", **change).all(Curves)[0].html()
    ticks = re.findall(r'text-anchor="end">([^<]+)<', curve)
    assert (ticks[0], ticks[-1]) == ("−4", "4")


def test_arrows_without_a_length_have_no_angle():
    shown = Shown("dot_products", angle=60, length_a=0.0, length_b=0.0)
    assert "nan" not in "".join(panel.html() for panel in shown.panels[1:])


def test_softmax_and_the_quotient_each_sum_to_1():
    for change in ({}, {"score": 4.0}, {"score": 20.0}, {"temperature": 100.0}):
        sums = [float(bars.values.sum()) for bars in Shown("softmax", **change).all(Bars)]
        assert sums[:2] == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("head_dim", WIDTHS)
def test_the_slope_is_the_length_of_the_jacobian_that_autograd_finds(head_dim):
    state = Shown("trainable_qkv", head_dim=head_dim, seed=5).state
    torch.manual_seed(5)
    first, others = torch.randn(2, 6, head_dim), torch.randn(DRAWS - 1, 2, 6, head_dim)
    queries, keys = torch.cat([first[None], others]).unbind(1)
    scores = queries @ keys.mT
    for way, (name, divisor) in enumerate((("unscaled", 1.0), ("scaled", head_dim**0.5))):
        weights = torch.softmax(scores / divisor, dim=-1)
        torch.testing.assert_close(getattr(state, name), weights[0])
        torch.testing.assert_close(state.queries @ state.keys.mT, scores[0])
        torch.testing.assert_close(state.largest[way], weights.amax(dim=-1).mean())
        jacobians = torch.func.vmap(torch.func.jacrev(lambda row: torch.softmax(row, dim=-1)))(
            (scores / divisor).flatten(0, 1)
        )  # (rows, 6, 6)
        lengths = jacobians.flatten(1).norm(dim=-1)
        torch.testing.assert_close(state.slopes[way], lengths.mean(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("seed", [123, 0, 1, 2, 3])
def test_without_the_division_the_slope_falls_at_every_wider_key(seed):
    states = [Shown("trainable_qkv", head_dim=width, seed=seed).state for width in WIDTHS[1:]]
    slopes = [float(state.slopes[0]) for state in states]
    assert slopes == sorted(slopes, reverse=True)


@pytest.mark.parametrize("training", [True, False])
def test_sums_after_dropout_are_those_of_the_rows_and_draws_are_counted(training):
    shown = Shown("dropout", training=training, draw=2)
    for name, weights in (("this draw", "dropped"), ("mean so far", "mean")):
        said = [float(part.split()[-1]) for part in shown.facts[name].split(" · ")]
        assert said == pytest.approx(getattr(shown.state, weights).sum(dim=1).tolist(), abs=0.006)
        assert training or said == [1.0] * 6
    for draw, mean in ((1, "mean of 1 draw"), (2, "mean of 2 draws")):
        assert Shown("dropout", draw=draw).all(Matrix)[1].title == mean


def test_a_head_that_has_learned_is_asked_by_the_full_stop(monkeypatch):
    torch.manual_seed(0)
    heads = MultiHeadAttentionWrapper(who_whom.D_IN, 16, who_whom.T, 0.0, 2)
    learned = Trained({400: who_whom.WhoWhomReader(heads)}, [0.5] * 399 + [0.25])
    monkeypatch.setattr(who_whom, "trained_reader", lambda learners: learned)
    shown = Shown("multihead_wrapper")
    assert shown.note.startswith("After 400 batches, “Ann thanked Bob” – who? “")
    assert shown.note.endswith(". The loss on one batch is 0.25.")
    assert torch.equal(shown.only(Matrix).values, shown.state.weights[:, 3])


def test_what_both_translators_wrote_and_which_of_it_is_right():
    shown = Shown("recurrent", word="unpredictably", read=13)
    table, right = shown.only(Matrix), "YLBATCIDERPNU"
    assert table.texts == [right, shown.state.plain, shown.state.better]
    counts = [sum(a == b for a, b in zip(text, right, strict=True)) for text in table.texts]
    assert table.values.sum(dim=1).tolist() == counts
    assert f"one state {counts[1]} of 13, looking back {counts[2]} of 13" in shown.note
    assert counts[1] < counts[2] < 13
    lines = shown.only(Lines)
    assert (lines.queries[0][-1], lines.keys[0][-1]) == (shown.state.better[0], "u")
    assert torch.allclose(lines.values.sum(dim=1), torch.ones(13))
