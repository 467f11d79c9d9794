"""The explorer of heads over devices shows what the formulas give, and only what can be shared."""

import re

import pytest

from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.panels import Note
from chapter3_helpers.explorers.tensor_parallel import (
    CONTROLS,
    Devices,
    tensor_parallel_explorer,
    tensor_parallel_panels,
    tensor_parallel_state,
)
from chapter3_helpers.fused_multihead import count_parameters
from chapter3_helpers.grouped_query import GroupedQueryAttention
from tests.explorers import find

DEFAULTS = {control.name: control.default for control in CONTROLS}
ATTENTION = {**DEFAULTS, "feed_forward": False}


def note(settings):
    return find(Note, tensor_parallel_panels(settings)).text


def test_eight_devices_and_a_width_of_4096_by_hand():
    state = tensor_parallel_state(ATTENTION)
    assert state["layer_bytes"] == 14 * 512 * 2 == 14_336
    assert state["token_bytes"] == 32 * 14_336 == 458_752
    assert tensor_parallel_state(DEFAULTS)["token_bytes"] == 917_504
    assert 8 * tensor_parallel_state(DEFAULTS)["weights"] == 32 * 4096 * (2 * 5120 + 3 * 14336)
    assert state["cache_bytes"] == 32 * 2 * 128 * 2  # layers, key and value, numbers, bytes
    assert state["heads"][3] == range(12, 16)
    assert state["kv_heads"][3] == range(3, 4)


def test_the_weights_of_all_devices_are_those_of_the_module():
    settings = {**ATTENTION, "num_heads": 12, "num_kv_heads": 6, "num_processes": 3}
    settings |= {"head_dim": 32, "num_layers": 1}
    module = GroupedQueryAttention(12 * 32, 12, 6)
    bias = 12 * 32
    assert 3 * tensor_parallel_state(settings)["weights"] == count_parameters(module) - bias


def test_only_what_can_be_shared_is_offered():
    explorer = tensor_parallel_explorer(num_heads=12)
    assert explorer.widgets["num_kv_heads"].options == (1, 2, 3, 4, 6, 12)
    explorer.set(num_kv_heads=6)
    assert explorer.widgets["num_processes"].options == (1, 2, 3, 6)
    explorer.set(num_kv_heads=1)
    assert explorer.settings["num_processes"] == 1
    assert note(explorer.settings) == (
        "One device holds every head and sends nothing; a single kv head can't be shared."
    )


@pytest.mark.parametrize("devices", [1, 2, 4, 8])
def test_the_note_and_the_curves_stand_at_the_present_number(devices):
    settings = {**DEFAULTS, "num_processes": devices}
    state = tensor_parallel_state(settings)
    waits, held, sent = (p for p in tensor_parallel_panels(settings) if isinstance(p, Curves))
    place = sent.x.index(devices)
    assert waits.mark == sent.mark == held.mark == devices
    together = 1e3 * (state["reading"] + state["sending"])
    assert waits.lines["together"][place] == pytest.approx(together)
    assert sent.lines["kB sent"][place] == state["token_bytes"] / 1e3
    assert held.lines["millions of parameters"][place] == state["weights"] / 1e6
    if devices == 1:
        assert "sends nothing; up to 8 could share" in note(settings)
    else:
        assert f"A token takes {together:.2f} ms instead of 4.17" in note(settings)


def test_a_token_waits_for_weights_and_for_the_others_by_hand():
    state = tensor_parallel_state(DEFAULTS)
    assert state["reading"] == pytest.approx(6.98e9 * 2 / 8 / 3.35e12, rel=1e-3)
    assert state["sending"] == pytest.approx(64 * 10e-6 + 917_504 / 400e9)
    assert "1.16 ms instead of 4.17: 3.6 times as fast, and 55% of it" in note(DEFAULTS)
    assert tensor_parallel_state({**DEFAULTS, "num_processes": 1})["sending"] == 0


def test_every_head_stands_once_in_the_box_of_its_device_under_its_kv_head():
    state = tensor_parallel_state(
        {**DEFAULTS, "num_heads": 12, "num_kv_heads": 4} | {"num_processes": 2}
    )
    boxes = Devices(state["heads"], state["kv_heads"]).html().split("device ")[1:]
    assert len(boxes) == 2
    for device, box in enumerate(boxes):
        assert box.startswith(f"{device}</b>")
        groups = re.split("<caption[^>]*>kv ", box)[1:]
        assert [int(group.split("<")[0]) for group in groups] == list(state["kv_heads"][device])
        heads = [[int(head) for head in re.findall(r"<td[^>]*>(\d+)", group)] for group in groups]
        assert [head for group in heads for head in group] == list(state["heads"][device])
        assert [len(group) for group in heads] == [3, 3]
