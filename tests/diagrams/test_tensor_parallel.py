"""Processes side by side."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import cut_diagram, processes_diagram, ring_diagram
from tests.diagrams import check_drawing


def parts(n, T=5, d_out=4):
    generator = np.random.default_rng(0)
    partials = [generator.normal(size=(T, d_out)) for _ in range(n)]
    return {
        "x": generator.normal(size=(T, 3)),
        "contexts": [generator.normal(size=(T, 2)) for _ in range(n)],
        "partials": partials,
        "output": sum(partials),
        "heads": [f"head {process}" for process in range(n)],
    }


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("T", [1, 6])
def test_every_process_has_its_lane_and_goes_into_the_sum(n, T):
    diagram = processes_diagram(**parts(n, T))
    check_drawing(diagram)
    assert diagram.arrows[-1].sources == tuple(f"partial output {p}" for p in range(n))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"output": np.ones((5, 3))}, r"partials must have the shape of output, \(5, 3\)"),
        ({"heads": ["head 0"]}, "contexts must hold 1 labels"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        processes_diagram(**parts(2) | change)


@pytest.mark.parametrize(("devices", "width"), [(2, 8), (3, 6)])
def test_every_weight_says_whose_it_is(devices, width):
    owners = np.arange(width) // (width // devices)
    rows, columns = np.tile(owners[:, None], 3), np.tile(owners, (width, 1))
    diagram = cut_diagram({"W_query": rows, "W_key": rows, "W_value": rows, "out_proj": columns})
    check_drawing(diagram)
    assert diagram["W_query"].values.tolist() == rows.tolist()
    assert all(block.numbers for block in diagram.blocks)
    assert "out_proj" in diagram.description


@pytest.mark.parametrize("devices", [2, 4, 6])
def test_a_ring_is_drawn_on_one_scale(devices):
    start = np.ones((devices, devices))
    diagram = ring_diagram({"at first": start, "added": 2 * start, "all": devices * start})
    check_drawing(diagram)
    assert {(block.limit, block.numbers) for block in diagram.blocks} == {(devices, True)}
    assert diagram.blocks[0].rows[-1] == f"GPU {devices - 1}"
