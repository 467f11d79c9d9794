"""What the explorers of dropout and of heads say in words and numbers."""

import pytest
import torch

from chapter3_helpers.explorers import dropout, fused_multihead, multihead_wrapper
from chapter3_helpers.explorers.core.panels import Facts, Matrix, Note
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.training import who_whom
from chapter3_helpers.training.trained import Trained
from tests.explorers import find


def start(module, **changed):
    return {control.name: control.default for control in module.CONTROLS} | changed


@pytest.mark.parametrize("training", [True, False])
def test_sums_are_those_of_the_rows(training):
    settings = start(dropout, training=training)
    state = dropout.dropout_state(settings)
    sums = find(Facts, dropout.dropout_panels(settings)).values
    for name, weights in (("this draw", state["dropped"]), ("mean so far", state["mean"])):
        said = [float(part.split()[-1]) for part in sums[name].split(" · ")]
        assert said == pytest.approx(weights.sum(dim=1).tolist(), abs=0.006)
        assert training or said == [1.0] * 6


@pytest.mark.parametrize(("draw", "said"), [(1, "mean of 1 draw"), (2, "mean of 2 draws")])
def test_draws_are_counted(draw, said):
    panels = dropout.dropout_panels(start(dropout, draw=draw))
    first, mean, _ = [panel.title for panel in panels if isinstance(panel, Matrix)]
    assert (first, mean) == (f"draw {draw}: what is left, divided by 1 - p", said)


def test_a_head_that_has_learned_is_asked_by_the_full_stop(monkeypatch):
    torch.manual_seed(0)
    heads = MultiHeadAttentionWrapper(who_whom.D_IN, 16, who_whom.T, 0.0, 2)
    reader = who_whom.WhoWhomReader(heads)
    learned = Trained({400: reader}, [0.5] * 399 + [0.25])
    monkeypatch.setattr(who_whom, "trained_reader", lambda learners: learned)
    settings = start(multihead_wrapper, kind="learned")
    panels = multihead_wrapper.multihead_wrapper_panels(settings)
    assert find(Note, panels).text.startswith("After 400 batches, “Ann thanked Bob” – who? “")
    assert find(Note, panels).text.endswith(". The loss on one batch is 0.25.")
    state = multihead_wrapper.multihead_wrapper_state(settings)
    assert torch.equal(find(Matrix, panels).values, state["weights"][:, 3])


def test_random_heads_name_the_tokens_that_they_prefer():
    settings = start(multihead_wrapper, kind="random", row=3)
    state = multihead_wrapper.multihead_wrapper_state(settings)
    said = find(Note, multihead_wrapper.multihead_wrapper_panels(settings)).text
    asked, listed = said.split(", the heads give their largest weight to: ")
    assert asked == "Asked by “with”"
    found = [state["tokens"][key] for key in state["weights"][:, 3].argmax(dim=-1)]
    assert sorted(listed.rstrip(".").split(", ")) == sorted({f"“{token}”" for token in found})
    first = find(Note, multihead_wrapper.multihead_wrapper_panels(settings | {"row": 0})).text
    assert first == "“Your” comes first and sees only itself, in every head."


def test_the_divisor_is_the_root_of_a_head_and_not_of_all():
    settings = start(fused_multihead, d_out=12, num_heads=2)
    facts = find(Facts, fused_multihead.fused_multihead_panels(settings)).values
    assert list(facts.values()) == ["(6, 12)", "(2, 6, 6)", "sqrt(6) = 2.449"]
