"""What the explorers of dropout and of heads say in words and numbers."""

import pytest
import torch

from chapter3_helpers.explorers.core.panels import Matrix
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.training import who_whom
from chapter3_helpers.training.trained import Trained
from tests.explorers import Shown


@pytest.mark.parametrize("training", [True, False])
def test_sums_are_those_of_the_rows(training):
    shown = Shown("dropout", training=training)
    for name, weights in (("this draw", "dropped"), ("mean so far", "mean")):
        said = [float(part.split()[-1]) for part in shown.facts[name].split(" · ")]
        assert said == pytest.approx(shown.state[weights].sum(dim=1).tolist(), abs=0.006)
        assert training or said == [1.0] * 6


@pytest.mark.parametrize(("draw", "said"), [(1, "mean of 1 draw"), (2, "mean of 2 draws")])
def test_draws_are_counted(draw, said):
    first, mean, _ = [matrix.title for matrix in Shown("dropout", draw=draw).all(Matrix)]
    assert (first, mean) == (f"draw {draw}: what is left, divided by 1 - p", said)


def test_a_head_that_has_learned_is_asked_by_the_full_stop(monkeypatch):
    torch.manual_seed(0)
    heads = MultiHeadAttentionWrapper(who_whom.D_IN, 16, who_whom.T, 0.0, 2)
    learned = Trained({400: who_whom.WhoWhomReader(heads)}, [0.5] * 399 + [0.25])
    monkeypatch.setattr(who_whom, "trained_reader", lambda learners: learned)
    shown = Shown("multihead_wrapper", kind="learned")
    assert shown.note.startswith("After 400 batches, “Ann thanked Bob” – who? “")
    assert shown.note.endswith(". The loss on one batch is 0.25.")
    assert torch.equal(shown.only(Matrix).values, shown.state["weights"][:, 3])


def test_random_heads_name_the_tokens_that_they_prefer():
    shown = Shown("multihead_wrapper", kind="random", row=3)
    asked, listed = shown.note.split(", the heads give their largest weight to: ")
    assert asked == "Asked by “with”"
    found = [shown.state["tokens"][key] for key in shown.state["weights"][:, 3].argmax(dim=-1)]
    assert sorted(listed.rstrip(".").split(", ")) == sorted({f"“{token}”" for token in found})
    first = Shown("multihead_wrapper", kind="random", row=0).note
    assert first == "“Your” comes first and sees only itself, in every head."


def test_the_divisor_is_the_root_of_a_head_and_not_of_all():
    facts = Shown("fused_multihead", d_out=12, num_heads=2).facts
    assert list(facts.values()) == ["(6, 12)", "(2, 6, 6)", "sqrt(6) = 2.449"]
