"""The last letter's way to its logits."""

from chapter3_helpers.diagrams import last_row_diagram
from chapter3_helpers.handmade_transformer import forward, tokenize


def test_the_numbers_are_those_of_the_last_row():
    run = forward(tokenize("aabaa"))
    diagram = last_row_diagram(run, "aabaa")
    assert (diagram["weights"].values @ diagram["values"].values == diagram["v"].values).all()
    total = diagram["update"].values + diagram["embedding"].values
    assert (total == diagram["logits"].values).all()
    assert (diagram["logits"].values == run["logits"][-1]).all()
    assert all(block.numbers for block in diagram.blocks)
