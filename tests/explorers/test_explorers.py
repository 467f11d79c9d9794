"""Every explorer survives whatever its controls can be moved to."""

import gc
import importlib
import os
import pkgutil
import random
from functools import cache

import numpy as np
import psutil
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ipywidgets.widgets import widget as widget_registry
from matplotlib import pyplot

from chapter3_helpers import explorers
from chapter3_helpers.explorers.panels import Panel, render
from chapter3_helpers.explorers.widget import Explorer, Pick, Slider, Steps, Switch, Words

HERE = {module.name for module in pkgutil.iter_modules(explorers.__path__)}
TOPICS = [name.removesuffix("_explorer") for name in explorers.__all__]
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


def values(control):
    """Return a strategy for what a control without options of its own can be moved to."""
    if isinstance(control, Words):
        return st.sampled_from(TEXTS) | st.text(max_size=40)
    if isinstance(control, Switch):
        return st.booleans()
    if isinstance(control, Pick):
        return st.sampled_from(
            [option[1] if isinstance(option, tuple) else option for option in control.options]
        )
    if isinstance(control, Slider):
        steps = round((control.high - control.low) / control.step)
        return st.integers(0, steps).map(lambda k: control.low + k * control.step)
    raise TypeError(control)


def move(subject: Explorer, control, data) -> None:
    widget = subject.controls[control.name]
    if isinstance(control, Steps):
        widget.index = data.draw(st.integers(0, len(widget.options) - 1), label=control.name)
    else:
        widget.value = data.draw(values(control), label=control.name)


def check_code(topic: str, settings: dict) -> None:
    """The lines of the Python button give the numbers that are shown."""
    module = importlib.import_module(f"chapter3_helpers.explorers.{topic}")
    try:
        state = getattr(module, f"{topic}_state")(settings)
    except ValueError:  # a sentence is shown in place of numbers
        return
    state = state if isinstance(state, dict) else vars(state)
    space: dict = {}
    with torch.random.fork_rng(devices=[]):
        exec(explorer(topic).code(settings), space)
    names = [name for name in state if name in space]
    assert names, f"the code of {topic} defines none of {list(state)}"
    for name in names:
        found, shown = space[name], state[name]
        if isinstance(shown, torch.Tensor):
            found = found.detach().reshape(shown.shape)
            torch.testing.assert_close(found, shown, rtol=1e-4, atol=1e-5, equal_nan=True)
        elif isinstance(shown, np.ndarray):
            np.testing.assert_allclose(found, shown, rtol=1e-4, atol=1e-5)
        elif isinstance(shown, str | int | float | tuple | list):
            assert found == shown


@pytest.mark.parametrize("topic", TOPICS)
def test_random_walks_over_all_controls(topic):
    """At least 1,000 settings: no exception, panels or a sentence, nothing left open."""
    subject = explorer(topic)
    seen = 0

    @settings(
        max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
    )
    @given(st.data())
    def walk(data):
        nonlocal seen
        subject.reset()
        for _ in range(11):
            control = data.draw(st.sampled_from(subject.spec), label="control")
            move(subject, control, data)
            assert subject.view.value
            assert all(
                control.enabled(subject.settings) in (True, False) for control in subject.spec
            )
            seen += 1
        check_code(topic, subject.settings)

    walk()
    assert seen >= 1000
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("topic", TOPICS)
def test_memory_stays_flat_and_no_widget_is_left_behind(topic):
    subject, choose = explorer(topic), random.Random(0)

    def wander(steps: int) -> None:
        for _ in range(steps):
            control = choose.choice([c for c in subject.spec if isinstance(c, Slider | Steps)])
            widget = subject.controls[control.name]
            if isinstance(control, Steps):
                widget.index = choose.randrange(len(widget.options))
            else:
                steps = round((control.high - control.low) / control.step)
                widget.value = control.low + choose.randrange(steps + 1) * control.step

    wander(150)
    gc.collect()
    process = psutil.Process(os.getpid())
    before, widgets = process.memory_info().rss, len(widget_registry._instances)
    wander(300)
    gc.collect()
    assert len(widget_registry._instances) == widgets
    assert process.memory_info().rss - before < 12_000_000


@pytest.mark.parametrize("topic", TOPICS)
def test_reset_goes_back_to_the_start(topic):
    subject = explorer(topic)
    subject.reset()
    start, defaults = subject.view.value, subject.settings
    for control in subject.spec:
        widget = subject.controls[control.name]
        if isinstance(control, Steps):
            widget.index = len(widget.options) - 1
        elif isinstance(control, Slider):
            widget.value = control.high
    assert subject.settings != defaults
    subject.reset_button.click()
    assert subject.settings == defaults == {c.name: c.default for c in subject.spec}
    assert subject.view.value == start


def test_reset_goes_back_to_settings_of_ones_own():
    subject = explorers.attention_explorer(seed=7, d_out=6, num_heads=3)
    start, shown = subject.settings, subject.view.value
    subject.set(seed=8, d_out=4, text="one two", dropout=0.5)
    assert subject.settings != start
    subject.reset_button.click()
    assert subject.settings == start
    assert (start["seed"], start["d_out"], start["num_heads"]) == (7, 6, 3)
    assert subject.view.value == shown


@pytest.mark.parametrize("topic", TOPICS)
def test_the_python_button_shows_code_that_runs(topic):
    subject = explorer(topic)
    subject.reset()
    assert "<pre>" not in subject.code_view.value or subject.code_view.layout.display == "none"
    subject.code_button.value = True
    assert subject.code_view.layout.display != "none"
    code = subject.code(subject.settings)
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    exec(code, {})
    subject.code_button.value = False


@pytest.mark.parametrize("topic", TOPICS)
def test_what_is_shown_is_a_function_of_the_settings(topic):
    subject = explorer(topic)
    subject.reset()
    panels = subject.panels(subject.settings)
    assert all(isinstance(panel, Panel) for panel in panels)
    assert render(panels) == render(subject.panels(dict(subject.settings))) == subject.view.value


@pytest.mark.parametrize("topic", TOPICS)
def test_every_control_has_a_label_a_tooltip_and_a_readout(topic):
    for control in explorer(topic).spec:
        widget = explorer(topic).controls[control.name]
        assert control.label
        assert widget.description == control.label
        assert len(control.tooltip) > 10
        if isinstance(control, Slider | Steps):
            assert widget.readout


@pytest.mark.parametrize("topic", TOPICS)
def test_markup_that_a_reader_types_is_escaped(topic):
    subject = explorer(topic)
    for control in subject.spec:
        if isinstance(control, Words):
            subject.set(**{control.name: "<i>x</i> <script>y</script>"})
            subject.code_button.value = True
            for view in (subject.view, subject.code_view):
                assert "<i>" not in view.value
                assert "<script>" not in view.value
            subject.code_button.value = False
    subject.reset()


@pytest.mark.parametrize("topic", TOPICS)
def test_unknown_settings_are_refused(topic):
    with pytest.raises(ValueError, match=r"settings must be among .*, got nonsense"):
        explorer(topic).set(nonsense=1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("mechanism", "none"), ("seed", 5000), ("seed", "x"), ("num_heads", 7), ("text", 3)],
        *[("dropout", 0.05), ("dropout", 0.9001), ("dropout", float("nan")), ("d_out", 2.5)],
    ],
)
def test_values_that_no_control_offers_are_refused(name, value):
    with pytest.raises(ValueError, match=rf"{name} must be a value that its control offers, got"):
        explorers.attention_explorer(**{name: value})


@pytest.mark.parametrize("refused", [{"d_out": 999}, {"dropout": 0.25}, {"num_heads": 5}])
def test_a_refused_change_moves_nothing(refused):
    subject = explorers.attention_explorer(d_out=6, num_heads=3, head=2)
    before, shown = subject.settings, subject.view.value
    with pytest.raises(ValueError, match="that its control offers"):
        subject.set(**{"text": "one two", "seed": 5, "d_out": 4, "num_heads": 2, **refused})
    assert subject.settings == before
    assert subject.view.value == shown
    subject.controls["seed"].value = 6  # and the controls still work
    assert subject.view.value != shown


@pytest.mark.parametrize("topic", TOPICS)
def test_every_step_of_a_slider_is_accepted(topic):
    subject = explorer(topic)
    for control in subject.spec:
        if isinstance(control, Slider):
            steps = round((control.high - control.low) / control.step)
            for k in {*range(min(steps, 25)), steps}:
                value = control.low + k * control.step
                subject.set(**{control.name: value})
                assert subject.settings[control.name] == value
                subject.set(**{control.name: round(value, 6)})  # as a reader would write it
    subject.reset()


def test_two_explorers_share_nothing():
    first, second = explorers.attention_explorer(), explorers.attention_explorer(seed=5)
    before = second.view.value
    first.controls["seed"].value = 7
    assert second.view.value == before
    assert first.settings["seed"] == 7
    assert second.settings["seed"] == 5


def test_every_topic_has_an_explorer():
    assert set(TOPICS) <= HERE


def test_explorers_are_found_by_name_and_nothing_else_is():
    assert "attention_explorer" in dir(explorers)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = explorers.nonsense
