"""Whatever a reader has switched in torch, explorers show what they always show."""

import contextlib
from functools import cache

import pytest
import torch

from chapter3_helpers import explorers
from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.explorers.core.controls import Listed, Slider
from tests.explorers import run
from tests.explorers.test_explorers import TOPICS, assert_same
from tests.switches import GROUPS, SWITCHES


def switched():
    """Return how torch stands."""
    return (
        torch.get_default_dtype(),
        torch.empty(0).device,
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.is_anomaly_enabled(),
    )


@pytest.mark.parametrize("switch", SWITCHES)
def test_what_a_reader_has_switched_is_put_back_after_an_error_too(switch):
    usual = switched()
    with SWITCHES[switch]():
        before = switched()
        with as_torch_starts():
            assert switched() == usual
        with contextlib.suppress(InterruptedError), as_torch_starts():
            raise InterruptedError
        assert switched() == before
    assert switched() == usual


WEIGHTS = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.25, 0.75]]]])


def made(topic):
    given = (WEIGHTS, ["a", "b"]) if topic == "model" else ()
    return getattr(explorers, f"{topic}_explorer")(*given)


def pages(topic: str) -> list[str]:
    """Return what is shown at the start, with each control moved to its end, and after a click."""
    subject = made(topic)
    shown = [subject.view.value]
    for control in subject.controls:
        widget = subject.widgets[control.name]
        if isinstance(control, Listed):
            widget.index = len(widget.options) - 1
        elif isinstance(control, Slider):
            widget.value = control.high
        shown.append(subject.view.value)
        subject.reset()
    subject.click({name: 1 for name in ("query", "key") if name in subject.widgets})
    shown += [subject.view.value, subject.said.value]
    subject.close()
    return shown


usual = cache(pages)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("topic", [*TOPICS, "model"])
def test_an_explorer_shows_what_it_always_shows(topic, group):
    expected, random_numbers = usual(topic), torch.get_rng_state()
    with GROUPS[group]():
        found = pages(topic)
    assert found == expected
    assert torch.equal(torch.get_rng_state(), random_numbers)


@pytest.mark.parametrize("switch", ["float64", "another device", "inference mode"])
@pytest.mark.parametrize("topic", TOPICS)
def test_the_lines_of_python_give_the_numbers_that_are_always_shown(topic, switch):
    subject = made(topic)
    state = subject.state(subject.settings)
    call, _ = subject.code(subject.settings).split("\n\n#", 1)
    with SWITCHES[switch]():
        found = run(call.splitlines())["state"]
    for name in getattr(state, "_fields", None) or vars(state):
        assert_same(getattr(found, name), getattr(state, name))
