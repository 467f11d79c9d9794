"""The explorer of the four ingredients says what each is for, and computes what it shows."""

from itertools import product

import pytest
import torch

from chapter3_helpers.explorers.drawings import Curves
from chapter3_helpers.explorers.panels import Facts, Heads, Matrix
from chapter3_helpers.explorers.transformer_block import (
    CONTROLS,
    NOTHING,
    SCALES,
    transformer_block_code,
    transformer_block_explorer,
    transformer_block_panels,
    transformer_block_state,
)
from chapter3_helpers.transformer_block import MinimalLanguageModel
from tests.explorers import run

DEFAULTS = {control.name: control.default for control in CONTROLS}
SWITCHES = ("attention", "mask", "positions", "relu")
ALL = [dict(zip(SWITCHES, on, strict=True)) for on in product([True, False], repeat=4)]


def note(settings):
    return transformer_block_panels(settings)[0].text


@pytest.mark.parametrize("seed", [123, 7])
@pytest.mark.parametrize("switches", ALL)
def test_each_verdict_depends_on_its_ingredients_alone(switches, seed):
    settings = {**DEFAULTS, **switches, "seed": seed}
    state = transformer_block_state(settings)
    reach = state["reach"]
    T = len(state["tokens"])
    assert int((reach.tril(-1) > NOTHING).sum()) == (
        T * (T - 1) // 2 if switches["attention"] else 0
    )
    can_copy = switches["attention"] and not switches["mask"]
    assert int((reach.triu(1) > NOTHING).sum()) == (T * (T - 1) // 2 if can_copy else 0)
    assert (reach.diagonal() > NOTHING).all()  # a word's own prediction always hears it
    assert (state["swap"] > NOTHING) == (switches["attention"] and switches["positions"])
    steps = state["lines"].diff(dim=0)
    assert torch.allclose(steps, steps[:1], rtol=0, atol=1e-9) == (not switches["relu"])
    text = note(settings)
    assert ("no word hears another" in text) == (not switches["attention"])
    assert ("can read its own answer" in text) == can_copy
    cannot_tell = not (switches["attention"] and switches["positions"])
    assert ("cannot tell that two words changed places" in text) == cannot_tell
    assert ("one linear map" in text) == (not switches["relu"])
    assert text.startswith("Nothing is lost") == all(switches.values())


@pytest.mark.parametrize("switches", ALL)
def test_the_code_gives_the_logits(switches):
    settings = {**DEFAULTS, **switches, "seed": 5, "text": "one two one three"}
    state = transformer_block_state({**settings, "first": 0, "second": 1})
    assert torch.equal(run(transformer_block_code(settings))["logits"], state["logits"])
    at_one = int((SCALES - 1).abs().argmin())
    torch.testing.assert_close(state["lines"][at_one], state["logits"][-1])


def test_with_all_four_it_is_the_model_of_the_package():
    state = transformer_block_state(DEFAULTS)
    torch.manual_seed(DEFAULTS["seed"])
    model = MinimalLanguageModel(5, 8, 6, 2).double()
    ids = torch.tensor([state["vocabulary"].index(token) for token in state["tokens"]])
    torch.testing.assert_close(state["logits"], model(ids).detach())
    torch.testing.assert_close(state["weights"], model.attention_weights(ids).detach())


def test_reach_is_what_another_word_does():
    """Change the word of one place by hand, as `reach` says it does for all at once."""
    state = transformer_block_state(DEFAULTS)
    torch.manual_seed(DEFAULTS["seed"])
    model = MinimalLanguageModel(5, 8, 6, 2).requires_grad_(False).double()
    x = model.embedding(torch.tensor([state["vocabulary"].index(t) for t in state["tokens"]]))
    changed = x.clone()
    changed[2] += 1
    before, after = (
        model.output(model.feed_forward(model.attention(model.positions(row))))
        for row in (x, changed)
    )
    torch.testing.assert_close((after - before).abs().amax(dim=-1), state["reach"][:, 2])


def test_swapping_a_word_with_itself_is_no_loss():
    same = {**DEFAULTS, "first": 0, "second": 3}  # "the" and "the"
    assert transformer_block_state(same)["swap"] < NOTHING
    assert note(same).startswith("Nothing is lost")


def test_sentences_that_cannot_be_read_are_refused_in_words():
    for text, message in (("", "at least one word"), ("word " * 100, "has 100 tokens")):
        with pytest.raises(ValueError, match=message):
            transformer_block_state({**DEFAULTS, "text": text})
    one = {**DEFAULTS, "text": "alone", "first": 0, "second": 0}
    assert transformer_block_state(one)["reach"].shape == (1, 1)


def test_the_widget_starts_where_it_is_told():
    explorer = transformer_block_explorer(mask=False)
    assert "can read its own answer" in explorer.view.value
    kinds = [type(panel) for panel in transformer_block_panels(DEFAULTS)]
    assert kinds[1:] == [Matrix, Heads, Curves, Facts]
