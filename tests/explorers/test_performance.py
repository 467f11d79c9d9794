"""The explorer of performance shows what is counted, and says what is true."""

import pytest

from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.panels import Bars, Facts, Note
from chapter3_helpers.explorers.performance import (
    CONTROLS,
    MACHINES,
    performance_panels,
    performance_state,
)
from tests.explorers import find

DEFAULTS = {control.name: control.default for control in CONTROLS}
CPU, DESKTOP, GPU = MACHINES


def note(**settings):
    return find(Note, performance_panels({**DEFAULTS, **settings})).text


def test_numbers_worked_out_by_hand():
    state = performance_state({**DEFAULTS, "batch": 2, "tokens": 4, "width": 64, "heads": 2})
    assert state["useful"] == 2 * 4 * 8 * 64 * 64 + 2 * 4 * 10 * 64  # 10 = 4 * 5 / 2 scores
    assert state["scores_bytes"] == 4 * 2 * 2 * 4 * 4
    assert state["context_bytes"] == 4 * 2 * 4 * 64


def test_least_time_adds_the_longer_of_two_for_every_step():
    state = performance_state(DEFAULTS)
    project, scores = 2 * 8192 * 768 * 768, 8 * 12 * 1024 * 1024
    compare = max(2 * scores * 64 / 200e9, 4 * (scores + 2 * 8192 * 768) / 20e9)
    softmax = 4 * 12 * scores / 20e9
    assert state["seconds"][1] == pytest.approx(4 * project / 200e9 + 2 * compare + softmax)
    assert state["seconds"][3] == pytest.approx(state["useful"] / 200e9)


def test_the_note_is_true():
    state = performance_state(DEFAULTS)
    gain, busy = state["seconds"][1] / state["seconds"][3], 64.4e9 / 200e9 / state["seconds"][1]
    assert f"fused is {gain:.1f} times as fast as split" in note()
    assert f"for {busy:.0%} of its time" in note()
    assert "for 3% of its time" in note(tokens=1, batch=1, machine=GPU)
    assert "fused is 1.0 times" in note(tokens=1, batch=128, width=4096, heads=1)


def test_the_facts_are_in_the_units_that_they_name():
    facts = find(Facts, performance_panels({**DEFAULTS, "machine": GPU})).values
    assert facts["this machine computes"] == "60,000 GFLOP/s"
    assert facts["and moves"] == "4,000 GB/s"
    assert facts["break-even"] == "15 operations/byte"
    state = performance_state(DEFAULTS)
    assert float(facts["useful operations"].split()[0]) == pytest.approx(
        state["useful"] / 1e9, 0.01
    )
    assert facts["scores (B, H, T, T)"] == "403 MB"  # 8 * 12 * 1024 * 1024 numbers of 4 bytes
    assert facts["contexts (B, T, d)"] == "25.2 MB"


def test_curves_pass_through_the_bars():
    panels = performance_panels({**DEFAULTS, "machine": DESKTOP})
    bars = find(Bars, panels)
    _, curves = (panel for panel in panels if isinstance(panel, Curves))
    at = list(curves.x).index(1024)
    assert curves.lines["split"][at] == pytest.approx(bars.values[1])
    assert curves.lines["fused"][at] == pytest.approx(bars.values[3])


def test_a_post_reaches_up_to_the_roof_where_each_of_two_variants_stands():
    panels = performance_panels({**DEFAULTS, "machine": GPU})
    drawn = next(panel for panel in panels if isinstance(panel, Curves))
    state = performance_state({**DEFAULTS, "machine": GPU})
    assert drawn.x[0] <= 0.1
    assert drawn.x[-1] >= 1000
    for name, place in (("split", 1), ("fused", 3)):
        post = [(x, y) for x, y in zip(drawn.x, drawn.lines[name], strict=True) if y == y]
        assert [x for x, _ in post] == [state["intensities"][place]] * 2
        assert post[0][1] == drawn.lines["roof"][0]
        assert post[1][1] == pytest.approx(min(60e12, state["intensities"][place] * 4e12) / 1e9)
