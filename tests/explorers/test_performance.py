"""The explorer of performance shows what is counted, and says what is true."""

import pytest

from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.panels import Bars
from chapter3_helpers.explorers.performance import MACHINES
from tests.explorers import Shown

CPU, DESKTOP, GPU = MACHINES


def shown(**settings):
    return Shown("performance", **settings)


def test_numbers_worked_out_by_hand():
    state = shown(batch=2, tokens=4, width=64, heads=2).state
    assert state["useful"] == 2 * 4 * 8 * 64 * 64 + 2 * 4 * 10 * 64  # 10 = 4 * 5 / 2 scores
    assert state["scores_bytes"] == 4 * 2 * 2 * 4 * 4
    assert state["context_bytes"] == 4 * 2 * 4 * 64


def test_least_time_adds_the_longer_of_two_for_every_step():
    state = shown().state
    project, scores = 2 * 8192 * 768 * 768, 8 * 12 * 1024 * 1024
    compare = max(2 * scores * 64 / 200e9, 4 * (scores + 2 * 8192 * 768) / 20e9)
    softmax = 4 * 12 * scores / 20e9
    assert state["seconds"][1] == pytest.approx(4 * project / 200e9 + 2 * compare + softmax)
    assert state["seconds"][3] == pytest.approx(state["useful"] / 200e9)


def test_the_note_is_true():
    state, note = shown().state, shown().note
    gain, busy = state["seconds"][1] / state["seconds"][3], 64.4e9 / 200e9 / state["seconds"][1]
    assert f"fused is {gain:.1f} times as fast as split" in note
    assert f"for {busy:.0%} of its time" in note
    assert "for 3% of its time" in shown(tokens=1, batch=1, machine=GPU).note
    assert "fused is 1.0 times" in shown(tokens=1, batch=128, width=4096, heads=1).note


def test_a_time_is_written_with_a_decimal_where_it_would_matter():
    for tokens, decimals in ((64, 1), (1024, 0)):
        bars = shown(tokens=tokens).only(Bars)
        assert (max(bars.values) < 100, bars.decimals) == (decimals == 1, decimals)


def test_curves_pass_through_the_bars_and_posts_reach_up_to_the_roof():
    drawn = shown(machine=GPU)
    state, bars = drawn.state, drawn.only(Bars)
    roof, times = drawn.all(Curves)
    at = list(times.x).index(1024)
    assert roof.x[0] <= 0.1
    assert roof.x[-1] >= 1000
    for name, place in (("split", 1), ("fused", 3)):
        assert times.lines[name][at] == pytest.approx(bars.values[place])
        post = [(x, y) for x, y in zip(roof.x, roof.lines[name], strict=True) if y == y]
        assert [x for x, _ in post] == [state["intensities"][place]] * 2
        assert post[0][1] == roof.lines["roof"][0]
        assert post[1][1] == pytest.approx(min(60e12, state["intensities"][place] * 4e12) / 1e9)
