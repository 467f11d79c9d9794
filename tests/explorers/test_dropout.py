"""The explorer of dropout drops the weights that the lesson's function drops."""

import re

import pytest
import torch

from chapter3_helpers.dropout import dropout_mask
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Matrix
from chapter3_helpers.explorers.dropout import TOKENS
from chapter3_helpers.masking import causal_mask
from tests.explorers import Shown


@pytest.mark.parametrize("coins", ["native", "mkl"])
def test_draws_are_dropped_scaled_and_averaged(coins):
    state = Shown("dropout", draw=3, p=0.25, seed=7, coins=coins).state
    scores = (state.queries @ state.keys.T / 2**0.5).masked_fill(causal_mask(6), -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    torch.testing.assert_close(state.weights, weights)
    draws = torch.where(dropout_mask((3, 6, 6), 0.25, 7, coins), weights / 0.75, 0.0)
    torch.testing.assert_close(state.dropped, draws[2])
    torch.testing.assert_close(state.mean, (draws[0] + draws[1] + draws[2]) / 3)


@pytest.mark.parametrize(("p", "lost"), [(0.0, False), (0.8, True)])
def test_the_tokens_that_lost_everything_are_named(p, lost):
    shown = Shown("dropout", p=p)
    gone = [not row.any() for row in shown.state.dropped]
    assert [f"“{token}”" in shown.note for token in TOKENS] == gone
    assert any(gone) == lost != ("every token keeps something" in shown.note)


def test_in_evaluation_nothing_is_dropped():
    shown = Shown("dropout", training=False, p=0.9, query=5, key=1)
    assert torch.equal(shown.state.dropped, shown.state.weights)
    assert torch.equal(shown.state.mean, shown.state.weights)
    assert shown.only(NumberPath).times is None


@pytest.mark.parametrize("cell", [(5, 1), (5, 5), (1, 4)])
def test_a_click_says_how_the_mean_comes_about(cell):
    shown = Shown("dropout", draw=7, p=0.4, query=cell[0], key=cell[1])
    (what, how, said), state = shown.only(NumberPath).steps()[-1], shown.state
    times, each = map(float, re.fullmatch(r"kept in (\d): \1 · (\S+) / 7", how).groups())
    weight, mean = float(state.weights[cell]), float(state.mean[cell])
    assert what == "mean of 7 draws"
    assert (each, float(said)) == pytest.approx((weight / 0.6, mean), abs=0.006)
    assert mean == pytest.approx(times * weight / 0.6 / 7, abs=1e-6)
    assert all(m.click for m in shown.all(Matrix))
