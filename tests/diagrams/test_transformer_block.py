"""From words to the next word."""

import numpy as np
import pytest

from chapter3_helpers.diagrams import language_model_diagram
from tests.diagrams import check_drawing


@pytest.mark.parametrize("T", [1, 6])
@pytest.mark.parametrize("d", [2, 8])
def test_it_is_legible_and_holds_what_it_was_given(T, d):
    generator = np.random.default_rng(0)
    x, mixed, worked = generator.normal(size=(3, T, d))
    hidden, logits = generator.normal(size=(T, 4 * d)), generator.normal(size=(T, 3))
    diagram = language_model_diagram(["word"] * T, x, mixed, hidden, worked, logits)
    check_drawing(diagram)
    assert (diagram["mixed"].values == mixed).all()
    assert (diagram["worked"].values == worked).all()
    assert diagram["hidden"].label == f"hidden {hidden.shape}"
