"""A projection cut into heads, and the matrix that joins what they found."""

import numpy as np
import torch

from chapter3_helpers.diagrams import out_proj_diagram, split_diagram
from chapter3_helpers.fused_multihead import split_heads
from tests.diagrams import numbers


def test_a_head_shows_what_it_was_given_and_the_heads_join_to_what_was_projected():
    owners = torch.arange(5.0)[:, None].expand(5, 4).contiguous()
    heads, wrong = split_heads(owners, num_heads=2), owners.view(2, 5, 2)
    diagram = split_diagram(owners, owners.view(5, 2, 2), heads, wrong, ["journey"] * 5)
    assert (diagram["view alone: head 1"].values == wrong[1].numpy()).all()
    assert (diagram["view, transpose: head 0"].values == heads[0].numpy()).all()
    assert (diagram["joined"].values == diagram["projected"].values).all()


def test_every_head_owns_a_block_of_columns_and_their_sum_is_the_output():
    found, weight = numbers(2, 16), numbers(8, 32)
    output = weight @ found.ravel()
    diagram = out_proj_diagram(found, weight, output)
    parts = [
        diagram[columns].values @ diagram[head].values[0]
        for head, columns in (("head 0", "columns 0 to 15"), ("head 1", "columns 16 to 31"))
    ]
    np.testing.assert_allclose(np.sum(parts, axis=0), output)
    assert (diagram["output"].values[:, 0] == output).all()
    assert "row sums -> output" in str(diagram)
    assert "row sums + bias -> output" in str(out_proj_diagram(found, weight, output, bias=output))
