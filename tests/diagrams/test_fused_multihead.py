"""A projection cut into heads: colours follow the tokens, in any size."""

import numpy as np
import pytest
import torch

from chapter3_helpers.diagrams import out_proj_diagram, split_diagram
from chapter3_helpers.fused_multihead import split_heads
from tests.diagrams import check_drawing


def cuts(T, D):
    owners = torch.arange(float(T))[:, None].expand(T, 2 * D).contiguous()
    return {
        "projected": owners,
        "viewed": owners.view(T, 2, D),
        "heads": split_heads(owners, num_heads=2),
        "wrong": owners.view(2, T, D),
        "tokens": ["journey"] * T,
    }


@pytest.mark.parametrize(("T", "D"), [(1, 1), (3, 2), (6, 1), (9, 2)])
def test_it_is_legible(T, D):
    check_drawing(split_diagram(**cuts(T, D)))


def test_a_head_shows_what_it_was_given_and_the_heads_join_to_what_was_projected():
    arrays = cuts(5, 2)
    diagram = split_diagram(**arrays)
    assert (diagram["view alone: head 1"].values == arrays["wrong"][1].numpy()).all()
    assert (diagram["view, transpose: head 0"].values == arrays["heads"][0].numpy()).all()
    assert (diagram["joined"].values == diagram["projected"].values).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wrong": torch.ones(2, 4, 2)}, r"must have shapes .*, got .*\(2, 4, 2\)"),
        ({"viewed": torch.ones(5, 4)}, "must have shapes"),
        ({"tokens": ["a"]}, "tokens must hold 5 labels"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        split_diagram(**cuts(5, 2) | change)


@pytest.mark.parametrize(("H", "D", "d_out"), [(2, 16, 32), (1, 4, 4), (3, 2, 6), (2, 1, 2)])
def test_every_head_owns_a_block_of_columns_and_their_sum_is_the_output(H, D, d_out):
    generator = np.random.default_rng(0)
    found, weight = generator.normal(size=(H, D)), generator.normal(size=(d_out, H * D))
    output = weight @ found.ravel()
    diagram = out_proj_diagram(found, weight, output)
    check_drawing(diagram)
    strips = [block.values[0] for block in diagram.blocks if block.at[1] == 0]
    *columns, drawn = (block.values for block in diagram.blocks if block.at[1] == 1)
    parts = [block @ strip for block, strip in zip(columns, strips, strict=True)]
    np.testing.assert_allclose(np.sum(parts, axis=0), output)
    assert (drawn[:, 0] == output).all()
    assert len(strips) == len(columns) == H
    assert "row sums + bias" in str(out_proj_diagram(found, weight, output, bias=output))


@pytest.mark.parametrize("wrong", [np.ones((4, 5)), np.ones((3, 6)), np.ones(6)])
def test_a_matrix_that_does_not_fit_is_refused(wrong):
    with pytest.raises(ValueError, match="found, weight and output must have shapes"):
        out_proj_diagram(np.ones((2, 3)), wrong, np.ones(4))
