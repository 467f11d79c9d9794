"""A projection cut into heads: colours follow the tokens, in any size."""

import pytest
import torch

from chapter3_helpers.diagrams import split_diagram
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
