"""Every explorer survives whatever its controls can be moved to."""

import html
import inspect
import re
from functools import cache, partial

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from chapter3_helpers import explorers
from chapter3_helpers.dot_products import attention_scores
from chapter3_helpers.explorers.core.controls import (
    HIGHEST_SEED,
    Buttons,
    Clicked,
    Control,
    DropDown,
    Listed,
    Seed,
    Slider,
    Switch,
    TextField,
)
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.panels import Bars, Matrix, render
from chapter3_helpers.explorers.core.widget import Explorer, OneOf
from chapter3_helpers.sentence import example_inputs
from tests.explorers import run

TOPICS = [
    name.removesuffix("_explorer") for name in explorers.__all__ if name != "model_explorer"
]  # it takes weights
TEXTS = [
    "",
    " ",
    "one",
    '<b>bold</b> & "it\'s"',
    "我想吃酸菜鱼",
    "word " * 200,
    "$x$ \\n {}",
    "a" * 500,
]


@cache
def explorer(topic: str) -> Explorer:
    return getattr(explorers, f"{topic}_explorer")()


def values(subject: Explorer, control: Control) -> list:
    """Return what a control can be moved to at present."""
    if control.kind == "text":
        return TEXTS
    if control.kind == "number":
        return list(range(HIGHEST_SEED + 1))
    return [value for _, value in control.choices(subject.settings)]


def check_code(topic: str, settings: dict) -> None:
    """The first lines of the Python button give the numbers that are shown."""
    subject = explorer(topic)
    try:
        state = subject.state(settings)
    except ValueError:  # a sentence is shown in place of numbers
        return
    call, _ = subject.code(settings).split("\n\n#", 1)
    found = run(call.splitlines())["state"]
    for name in getattr(state, "_fields", None) or vars(state):
        assert_same(getattr(found, name), getattr(state, name))


def assert_same(found, shown) -> None:
    if isinstance(shown, torch.Tensor):
        found = found.detach().reshape(shown.shape)
        torch.testing.assert_close(found, shown, rtol=1e-4, atol=1e-5, equal_nan=True)
    elif isinstance(shown, np.ndarray):
        np.testing.assert_allclose(found, shown, rtol=1e-4, atol=1e-5)
    elif isinstance(shown, float):
        assert found == pytest.approx(shown)
    elif isinstance(shown, str | int | tuple | list):
        assert found == shown


@pytest.mark.parametrize("topic", TOPICS)
def test_random_walks_over_all_controls(topic):
    """200 settings: no exception, a sentence for a bad text alone, and code that agrees."""
    subject = explorer(topic)

    @settings(
        max_examples=20,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],  # to shrink a fault found would take minutes
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def walk(data):
        subject.reset()
        for _ in range(10):
            control = data.draw(st.sampled_from(subject.controls))
            choices = st.sampled_from(values(subject, control))
            if isinstance(control, TextField):
                choices = choices | st.text(max_size=40)
            subject.widgets[control.name].value = data.draw(choices, label=control.name)
            typed = [c for c in subject.controls if isinstance(c, TextField)]
            if subject.said.value:
                assert any(subject.settings[c.name] != c.default for c in typed)
        check_code(topic, subject.settings)

    walk()


@pytest.mark.parametrize("topic", TOPICS)
def test_the_code_agrees_at_both_ends_of_every_control(topic):
    subject = explorer(topic)
    for control in subject.controls:
        subject.reset()
        every = values(subject, control)
        ends = isinstance(control, Seed | Slider | Listed)
        for value in {every[0]: 0, every[-1]: 0} if ends else every:
            subject.set(**{control.name: value})
            check_code(topic, subject.settings)


@pytest.mark.parametrize("topic", TOPICS)
def test_reset_goes_back_to_the_start_and_no_random_number_is_used_up(topic):
    subject = explorer(topic)
    subject.reset()
    start, defaults = subject.view.value, subject.settings
    random_numbers = torch.manual_seed(2718).get_state()  # no explorer starts from this seed
    for control in subject.controls:
        if isinstance(control, Seed | Slider | Listed | Switch):
            subject.widgets[control.name].value = values(subject, control)[-1]
    assert subject.settings != defaults
    subject.reset_button.click()
    assert subject.settings == defaults == {c.name: c.default for c in subject.controls}
    assert subject.view.value == start == render(subject.panels(defaults))
    assert torch.equal(torch.get_rng_state(), random_numbers)  # the reader's are left alone


@pytest.mark.parametrize("topic", TOPICS)
def test_what_plays_walks_through_all_choices(topic):
    subject = getattr(explorers, f"{topic}_explorer")()  # no option has changed in it
    for control in subject.controls:
        every = values(subject, control)
        if getattr(control, "play", None):
            player = subject.places[control.name].children[0]
            places = range(len(every)) if isinstance(control, Listed) else every
            assert [player.min, player.max] == [places[0], places[-1]]
            assert player.step == getattr(control, "step", 1)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_control_changes_the_picture_where_it_is_shown_and_nothing_where_it_is_hidden(topic):
    subject, hidden, changing = explorer(topic), set(), set()
    controls = [c for c in subject.controls if not isinstance(c, Clicked | TextField)]
    choices = [c for c in controls if isinstance(c, DropDown | Buttons | Switch)]
    starts = [{choice.name: option} for choice in choices for option in values(subject, choice)]
    for start in [{}, *starts]:
        subject.reset()
        subject.set(**start)
        here, shown = subject.settings, render(subject.panels(subject.settings))
        for control in controls:
            every = values(subject, control)
            ends = [end for end in (every[-1], every[0]) if end != here[control.name]]
            if not control.is_shown(here):
                hidden.add(control.name)
                assert subject.places[control.name].layout.display == "none"
                for end in ends[:1]:  # none where an option is the only one
                    moved = {**here, control.name: end}
                    assert render(subject.panels(moved)) == shown, (control.name, here)
                continue
            for end in ends if control.name not in changing else ():
                subject.move(**{control.name: end})
                if render(subject.panels(subject.settings)) != shown:
                    changing.add(control.name)
                subject.reset()
                subject.move(**start)
    assert hidden == {c.name for c in controls if c.shown_if is not Control.shown_if}
    assert changing == {c.name for c in controls}
    subject.reset()


def test_another_token_keeps_its_score_and_a_letter_at_the_end_stays_there():
    softmax = explorers.softmax_explorer()
    before = attention_scores(example_inputs())[1]
    for token in (0, 1, 5):
        softmax.widgets["token"].value = token
        state = softmax.state(softmax.settings)
        torch.testing.assert_close(state.scores, before)
        assert softmax.widgets["score"].label.endswith(" (as it was)")
    softmax.widgets["score"].value = 4.0
    assert softmax.state(softmax.settings).scores[5] == 4
    reader = explorers.induction_heads_explorer()
    reader.widgets["phrase"].value = "everywhereeve"
    assert reader.settings["letter"] == 12
    reader.set(letter=3)
    reader.widgets["phrase"].value = "everywhereever"
    assert reader.settings["letter"] == 3


def test_help_names_every_setting_and_no_other_is_taken():
    function = explorers.attention_explorer
    for control in explorer("attention").controls:
        assert f"{control.name}: {control.tooltip}" in function.__doc__
        assert inspect.signature(function).parameters[control.name].default == control.default
    with pytest.raises(ValueError, match=r"settings must be among .*, got nonsense"):
        function(nonsense=1)


ROW = {"default": 0, "options": lambda tokens: range(tokens)}


# An explorer as somebody writes it, whose settings are tokens and row; each mends or spoils a part.
def built(state=lambda *, tokens: tokens, panels=lambda state, *, row: [], **of_row):
    controls = [
        Slider("tokens", "tokens", 4, "How many", low=1, high=9),
        Buttons("row", "row", tooltip="Which", **{**ROW, **of_row}),
    ]
    return Explorer("even", controls, state, panels)


@pytest.mark.parametrize(
    ("spoiled", "where", "name"),
    [
        ({"state": lambda *, tokns: tokns}, "<lambda>", "tokns"),
        ({"state": lambda *, tokens, rows=3: tokens}, "<lambda>", "rows"),  # a default hides it
        ({"state": partial(pow, mod=None)}, "pow", "base"),
        ({"state": OneOf("row", {0: lambda *, tokns: 1})}, "<lambda>", "tokns"),
        ({"state": OneOf("rows", {0: lambda: 1})}, "OneOf", "rows"),
        ({"panels": lambda state, *, rows=0: []}, "<lambda>", "rows"),
        ({"options": lambda token: [0]}, "options of 'row'", "token"),
        ({"shown_if": lambda token=4: True}, "shown_if of 'row'", "token"),
        ({"returns_to": lambda token: 0}, "returns_to of 'row'", "token"),
        ({"panels": lambda state: [clicked({"q": "rwo"})]}, "a click", "rwo"),
        ({"panels": lambda state: [clicked({"q": "row", "shw": 1})]}, "a click", "shw"),
    ],
)
def test_a_name_that_no_setting_has_is_refused_when_the_explorer_is_made(spoiled, where, name):
    assert built().settings == {"tokens": 4, "row": 0}
    words = f"{where} must name settings, which are tokens, row, got {name!r}"
    with pytest.raises(TypeError, match=re.escape(words)):
        built(**spoiled)


def clicked(click, **sides):
    return Matrix("even", [[1.0]], ["0"], click=click, **sides)


def bars(click, sides):
    return Bars("even", ["0"], [1.0], click=click, side=sides[0])


@pytest.mark.parametrize(
    ("panel", "click", "sides", "words"),
    [
        (clicked, {"q": "row"}, ("", "key"), "are key, got {'q': 'row'}, where 'q' means a query"),
        (clicked, {"r": "row"}, ("query", "key"), "which are query and key, got {'r': 'row'}"),
        (clicked, {"k": "row"}, ("", ""), "which are none"),
        (clicked, {"q": "row"}, ("Query", "key"), "query, key, row, column or empty, got 'Query'"),
        (clicked, None, ("token", "key"), "got 'token'"),
        (bars, {"q": "row"}, ("key",), "where 'q' means a query"),
    ],
)
def test_a_click_on_a_side_that_a_picture_has_not_is_refused_when_the_explorer_is_made(
    panel, click, sides, words
):
    with pytest.raises(TypeError, match=re.escape(words)):
        built(panels=lambda state: [panel(click, sides=sides)])


@pytest.mark.parametrize(
    ("panel", "labelled", "got"),
    [
        (lambda: Matrix("even", np.eye(4), "ab"), (2, 2), (4, 4)),  # it would be drawn in part
        (lambda: Matrix("even", np.eye(2), "ab", "abc"), (2, 3), (2, 2)),
        (lambda: Matrix("even", [0.5, 0.5], "ab"), (2, 2), (2,)),
        (lambda: Bars("even", "abc", [0.5, 0.5]), (3,), (2,)),
        (lambda: Lines("even", np.eye(2), "ab", "a"), (2, 1), (2, 2)),
    ],
)
def test_labels_that_do_not_fit_are_refused_when_the_explorer_is_made(panel, labelled, got):
    words = f"“even” has labels for values of shape {labelled}, got {got}"
    with pytest.raises(TypeError, match=re.escape(words)):
        built(panels=lambda state: [panel()])


def test_two_controls_of_one_name_are_refused():
    seeds = [Seed("seed", label, 1, "Draws") for label in ("first", "second")]
    with pytest.raises(TypeError, match="must have different names, got 'seed' twice"):
        Explorer("even", seeds, lambda *, seed: seed, lambda state: [])


@pytest.mark.parametrize(
    "control",
    [
        Buttons("row", "row", 9, "Which", options=range(4)),
        DropDown("row", "row", 9, "Which", options=("a", "b")),
        Slider("row", "row", 9, "Which", low=0, high=4),
        Slider("row", "row", 9, "Which", low=0, high=20, step=5),
    ],
)
def test_a_default_that_its_control_does_not_offer_is_refused(control):
    with pytest.raises(ValueError, match="row must be a value that its control offers, got 9"):
        Explorer("even", [control], lambda *, row: row, lambda state: [])


def test_rows_answer_by_their_side_whatever_the_corner_calls_them():
    page = built(panels=lambda state: [clicked({"q": "row"}, corner=("Token", "word"))]).view.value
    assert "<tr data-q=0>" in page
    assert "Token ↓" in page
    silent = built(panels=lambda state: [clicked(None, corner=("token", "key"), sides=("", ""))])
    assert "data-q" not in silent.view.value


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        (["c", "a"], "c"),  # names have no order: not a, which comes before b in the alphabet
        (["c", "b"], "b"),
        ([5, 1, 2], 2),  # of b, which is 3
    ],
)
def test_where_an_option_goes_the_nearest_lower_number_or_the_first_name_is_chosen(kept, left):
    old = "b" if "c" in kept else 3
    subject = built(options=lambda tokens: kept if tokens == 1 else [old, *kept], default=old)
    subject.set(tokens=1)
    assert subject.settings["row"] == left
    subject.set(tokens=4)
    assert subject.settings["row"] == old


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("mechanism", "none"), ("seed", 5000), ("seed", "x"), ("num_heads", 7), ("text", 3)],
        *[("dropout", 0.9001), ("dropout", 0.25), ("dropout", float("nan"))],
        *[("d_out", 2.5), ("d_out", 999)],
    ],
)
def test_a_value_that_no_control_offers_is_refused_and_nothing_moves(name, value):
    subject = explorers.attention_explorer(d_out=6, num_heads=3, head=2, made="at random")
    before, shown = subject.settings, subject.view.value
    with pytest.raises(ValueError, match=rf"{name} must be a value that its control offers, got"):
        subject.set(**{"text": "one two", "seed": 5, "d_out": 4, "num_heads": 2, name: value})
    assert (subject.settings, subject.view.value) == (before, shown)
    subject.widgets["seed"].value = 6  # and the controls still work
    assert subject.view.value != shown


def test_a_number_that_is_typed_beside_a_slider_moves_it_to_the_nearest_stop():
    subject = explorers.attention_explorer(made="at random")
    subject.widgets["dropout"].value = 0.27
    assert subject.settings["dropout"] == pytest.approx(0.3)
    moved = explorers.attention_explorer(made="at random", dropout=0.3)
    assert subject.view.value == moved.view.value


def test_a_word_that_is_typed_is_read_to_its_end():
    explorer = explorers.recurrent_explorer()
    for word in ("internationally", "", "cat"):
        explorer.widgets["word"].value = word
    assert explorer.settings["read"] == 3
    explorer.widgets["word"].value = "internationally"
    assert explorer.settings["read"] == 15


@pytest.mark.parametrize(
    ("topic", "text", "words"),
    [
        ("attention", "", "Type at least one word."),
        ("handmade_transformer", "abc", "a and b alone, not “c”"),
        ("handmade_transformer", "a" * 41, "has 41 letters"),
        (
            "masking",
            "The fox saw the gnu",
            "know “fox” or “gnu”. The weight matrices “random”",
        ),
        ("pronouns", "The wolf was shy", "does not know “wolf”.</p><details><summary>The 38 words"),
        ("pronouns", "the " * 30 + "milk was sour", "This sentence has 33 tokens"),
        ("recurrent", "two words", "letters a to z, not a space"),
        ("recurrent", "a" * 25, "has 25 letters"),
        ("induction_heads", "a" * 25, "25 letters"),
        ("induction_heads", "a1", "not “1”"),
    ],
)
def test_a_text_that_cannot_be_read_is_told_why_by_the_field_above_the_last_picture(
    topic, text, words
):
    subject = explorer(topic)
    subject.reset()
    before = subject.view.value
    (field,) = (control for control in subject.controls if isinstance(control, TextField))
    subject.widgets[field.name].value = text
    assert 'role="alert"' in subject.said.value
    assert words in html.unescape(subject.said.value)
    assert subject.view.value.startswith('<div class="c3-stale"')
    assert before in subject.view.value
    bar = subject.places[field.name], subject.said
    assert [child for child in subject.children[1].children if child in bar] == [*bar]
    subject.reset()
    assert subject.view.value == before
    assert subject.said.value == ""


@pytest.mark.parametrize(
    ("topic", "name", "wrong", "control", "value"),
    [
        ("masking", "text", "The wolf", "tokens_read", 7),
        ("masking", "text", "The wolf", "column", 6),
        ("positions", "text", "", "second", 3),
    ],
)
def test_a_control_stays_where_it_is_while_a_text_cannot_be_read(
    topic, name, wrong, control, value
):
    subject = getattr(explorers, f"{topic}_explorer")(**{control: value})
    before, text = subject.view.value, subject.settings[name]
    options = subject.widgets[control].options
    for typed, said in ((wrong, True), ("", True), (text, False)):
        subject.widgets[name].value = typed
        assert subject.settings[control] == value
        assert subject.widgets[control].options == options
        assert bool(subject.said.value) == said
    assert subject.view.value == before


@pytest.mark.parametrize("typed", [1.5, HIGHEST_SEED + 1, -3])
def test_what_is_typed_and_is_no_seed_stays_there_with_a_word_and_changes_nothing(typed):
    subject = explorers.masking_explorer(matrices="random")
    box, before, seed = subject.widgets["seed"], subject.view.value, subject.settings["seed"]
    box.field.value = typed
    assert (box.field.value, subject.settings["seed"], subject.view.value) == (typed, seed, before)
    assert f"a whole number from 0 to {HIGHEST_SEED}" in box.said.value
    subject.reset()
    assert (box.field.value, box.said.value) == (seed, "")
    box.field.value = typed
    for right in (HIGHEST_SEED, 7):
        box.field.value = right
        assert (subject.settings["seed"], box.said.value) == (right, "")
    assert isinstance(subject.settings["seed"], int)
    assert subject.view.value != before


@pytest.mark.parametrize("topic", TOPICS)
def test_minus_is_written_in_one_way(topic):
    subject = explorer(topic)
    for control in subject.controls:
        if isinstance(control, Slider | Listed | DropDown):
            for end in (0, -1):
                subject.reset()
                value = values(subject, control)[end]
                subject.set(**{control.name: value})
                assert not re.search(r">[^<]*(?<![\w.-])-(\d|inf)", subject.view.value)


def test_reset_goes_back_to_settings_of_ones_own_and_moves_no_other_explorer():
    other = explorers.attention_explorer()
    subject = explorers.attention_explorer(seed=7, d_out=6, num_heads=3, made="at random")
    start, shown, beside = subject.settings, subject.view.value, other.view.value
    subject.set(seed=8, d_out=4, text="one two", dropout=0.5)
    subject.reset_button.click()
    assert (subject.settings, subject.view.value) == (start, shown)
    assert start["seed"] == 7
    assert other.view.value == beside != shown
