"""Processes side by side."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import processes_diagram
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
