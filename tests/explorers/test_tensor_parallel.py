"""The explorer of heads over devices shows what the formulas give, and only what can be shared."""

import pytest

from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.tensor_parallel import HEAD_DIMS, HEADS, tensor_parallel_explorer
from chapter3_helpers.fused_multihead import count_parameters
from chapter3_helpers.grouped_query import GroupedQueryAttention
from tests.explorers import Shown


def shown(**changed):
    return Shown("tensor_parallel", **changed)


def test_eight_devices_and_a_width_of_4096_by_hand():
    state, whole = shown(feed_forward=False).state, shown().state
    assert state["layer_bytes"] == 14 * 512 * 2 == 14_336
    assert state["token_bytes"] == 32 * 14_336 == 458_752
    assert whole["token_bytes"] == 917_504
    assert 8 * whole["weights"] == 32 * 4096 * (2 * 5120 + 3 * 14336)
    assert state["cache_bytes"] == 32 * 2 * 128 * 2  # layers, key and value, numbers, bytes
    assert (state["heads"][3], state["kv_heads"][3]) == (range(12, 16), range(3, 4))
    assert whole["reading"] == pytest.approx(6.98e9 * 2 / 8 / 3.35e12, rel=1e-3)
    assert whole["sending"] == pytest.approx(64 * 10e-6 + 917_504 / 400e9)
    assert shown(num_processes=1).state["sending"] == 0


def test_the_weights_of_all_devices_are_those_of_the_module():
    heads = {"num_heads": 12, "num_kv_heads": 6, "num_processes": 3}
    state = shown(**heads, feed_forward=False, head_dim=32, num_layers=1).state
    bias = 12 * 32
    assert 3 * state["weights"] == count_parameters(GroupedQueryAttention(12 * 32, 12, 6)) - bias


def test_only_what_can_be_shared_is_offered():
    explorer = tensor_parallel_explorer(num_heads=12)
    assert explorer.widgets["num_kv_heads"].options == (1, 2, 3, 4, 6, 12)
    explorer.set(num_kv_heads=6)
    assert explorer.widgets["num_processes"].options == (1, 2, 3, 6)
    explorer.set(num_kv_heads=1)
    assert explorer.settings["num_processes"] == 1


def test_every_size_on_offer_makes_a_module_that_four_devices_can_share():
    for head_dim in HEAD_DIMS:
        assert GroupedQueryAttention(2 * head_dim, 2).head_dim == head_dim  # rotary wants pairs
    assert all(heads % 4 == 0 for heads in HEADS)


@pytest.mark.parametrize("devices", [1, 2, 8])
def test_the_curves_stand_at_the_present_number(devices):
    drawn = shown(num_processes=devices)
    state, curves = drawn.state, drawn.all(Curves)
    place = curves[0].x.index(devices)
    assert [curve.mark for curve in curves] == [devices] * 3
    assert [[*curve.lines.values()][-1][place] for curve in curves] == pytest.approx(
        [
            1e3 * (state["reading"] + state["sending"]),
            state["weights"] / 1e6,
            state["token_bytes"] / 1e3,
        ]
    )
