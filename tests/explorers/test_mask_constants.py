"""The explorer of mask constants shows what the package computes."""

import math
import re
from itertools import product

import pytest
import torch

from chapter3_helpers.explorers.mask_constants import ADDED, CONSTANTS, DTYPES, OVER, SIZES
from chapter3_helpers.sentence import TOKENS
from tests.explorers import Shown

COMBINATIONS = list(product(DTYPES, CONSTANTS))


@pytest.mark.parametrize(("dtype", "constant"), COMBINATIONS)
@pytest.mark.parametrize("padding", [False, True])
def test_small_scores_against_torch(dtype, constant, padding):
    state = Shown("mask_constants", dtype=dtype, constant=constant, size=1, padding=padding).state
    assert state["weights"].dtype == DTYPES[dtype]
    hidden = torch.ones(6, 6, dtype=torch.bool).triu(1)
    expected = torch.softmax(state["scores"].float().masked_fill(hidden, -math.inf), dim=-1)
    assert torch.allclose(state["weights"][1:].float(), expected[1:], atol=4e-3)
    first = state["weights"][0].float()
    if not padding:
        assert first.tolist() == [1, 0, 0, 0, 0, 0]
    elif math.isinf(state["stored"]):
        assert first.isnan().all()
    else:
        assert torch.allclose(first, torch.full((6,), 1 / 6), atol=1e-3)


def test_where_the_default_leaks():
    """Rows 0 to 2 see nothing above -1e4, rows 3 to 5 do: the key "with"."""
    state = Shown("mask_constants").state
    visible = state["scores"].float().masked_fill(state["hidden"], -math.inf).amax(dim=-1)
    assert (visible < -1e4).tolist() == [True, True, True, False, False, False]
    assert torch.allclose(state["leak"], torch.tensor([1.0, 1, 1, 0, 0, 0]), atol=1e-3)


def test_the_curve_stands_at_the_worst_row():
    for size in SIZES:
        state = Shown("mask_constants", dtype="float32", size=size).state
        assert state["worst_leaks"][SIZES.index(size)] == state["leak"].max()


@pytest.mark.parametrize(("dtype", "constant"), COMBINATIONS)
def test_the_note_is_true(dtype, constant):
    for way, padding, size in product((OVER, ADDED), (False, True), SIZES):
        shown = Shown(
            "mask_constants", dtype=dtype, constant=constant, way=way, padding=padding, size=size
        )
        state, text = shown.state, shown.note
        for pattern, rows in (
            (r"weight in the rows? of (.*?)\.", state["leak"] > 1e-4),
            (r"No weights exist for (.*?):", state["weights"].isnan().any(dim=-1)),
        ):
            found = re.search(pattern, text)
            named = found.group(1).split(", ") if found else []
            assert named == [t for t, bad in zip(TOKENS, rows.tolist(), strict=True) if bad]
        assert ("Nothing leaks" in text) == bool((state["leak"] <= 1e-4).all())
        assert ("does not fit" in text) == (dtype == "float16" and constant not in ("-1e4", "-inf"))


def test_added_to_a_blind_row_the_constant_cancels():
    state = Shown("mask_constants", way=ADDED, padding=True, size=1, dtype="float32").state
    expected = torch.softmax(state["scores"][0], dim=-1)
    assert torch.allclose(state["weights"][0], expected, atol=1e-3)
