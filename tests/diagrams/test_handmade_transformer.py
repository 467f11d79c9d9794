"""The last letter's way to its logits."""

import pytest

from chapter3_helpers.diagrams import last_row_diagram
from chapter3_helpers.handmade_transformer import forward, tokenize
from tests.diagrams import check_drawing


@pytest.mark.parametrize("text", ["b", "aab", "aabaa"])
def test_the_numbers_are_those_of_the_last_row(text):
    run = forward(tokenize(text))
    diagram = last_row_diagram(run, text)
    check_drawing(diagram)
    assert (diagram["weights"].values @ diagram["values"].values == diagram["v"].values).all()
    total = diagram["update"].values + diagram["embedding"].values
    assert (total == diagram["logits"].values).all()
    assert (diagram["logits"].values == run["logits"][-1]).all()
    assert all(block.numbers for block in diagram.blocks)


def test_other_letters_are_refused():
    with pytest.raises(ValueError, match="tokens"):
        last_row_diagram(forward(tokenize("aab")), "aabb")
