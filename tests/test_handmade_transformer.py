"""The transformer made by hand: golden values, a torch oracle, and every weight."""

import itertools
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import torch

from chapter3_helpers.handmade_transformer import (
    MODEL,
    HandmadeTransformer,
    accuracy,
    complete,
    count_operations,
    forward,
    predict_next,
    tokenize,
    untokenize,
)
from tests.golden import golden

TEXTS = ["".join(letters) for n in range(1, 6) for letters in itertools.product("ab", repeat=n)]
SHAPES = {name: weights.shape for name, weights in MODEL.weights().items()}


def essay() -> dict[str, np.ndarray]:
    """The weights as the essay describes them, array by array."""
    by_hand = {name: np.zeros(shape) for name, shape in SHAPES.items()}
    by_hand["token_embedding"][[0, 1], [5, 6]] = 1
    by_hand["position_embedding"][range(5), range(5)] = 1
    by_hand["W_query"][:5, :5] = 1024 * (np.eye(5) + np.eye(5, k=-1))
    by_hand["W_key"][range(5), range(5)] = 1
    by_hand["W_value"][[5, 6], 7] = 1, -1
    by_hand["c_proj"][7, [5, 6]] = -1024, 1024
    by_hand["c_proj_bias"][5] = 1024
    return by_hand


def oracle(ids, model):
    """GPT-2's layer in torch, with packed projections and torch's own attention."""
    w = {name: torch.tensor(weights) for name, weights in model.weights().items()}
    x = w["token_embedding"][ids] + w["position_embedding"][: len(ids)]
    c_attn = torch.cat([w["W_query"], w["W_key"], w["W_value"]], dim=1)
    q, k, v = (x @ c_attn).split(x.shape[1], dim=1)
    later = torch.ones(len(ids), len(ids)).triu(1).double()
    mixed = torch.nn.functional.scaled_dot_product_attention(
        q[None], k[None], v[None], attn_mask=later * -1e10
    )[0]
    x = x + torch.nn.functional.linear(mixed, w["c_proj"].T, w["c_proj_bias"])
    return (x @ w["token_embedding"].T).numpy()


def random_model(d=11, context_length=7, seed=0):
    draw = np.random.default_rng(seed).normal
    matrices = [draw(size=(d, d)) for _ in range(4)]
    return HandmadeTransformer(
        draw(size=(2, d)), draw(size=(context_length, d)), *matrices, draw(size=d)
    )


def rule(text):
    return "a" if "b" in text[-2:] else "b"


def matches_golden(model):
    """Whether a model prints everything that was published."""
    entries, run = golden(), forward(tokenize("aabaa"), model)
    completions = entries["handmade_completions"]["values"].items()
    return (
        all(complete(prompt, 10, model) == expected for prompt, expected in completions)
        and list(accuracy("aab" * 10, model)) == entries["handmade_accuracy"]["values"]
        and np.array_equal(run["logits"], entries["handmade_logits"]["values"])
        and np.allclose(run["weights"], entries["handmade_weights"]["values"], atol=1e-12)
    )


def test_completions_accuracy_logits_and_weights_are_the_published_ones():
    assert matches_golden(MODEL)


def test_accuracy_counts_what_is_wrong():
    # From the third character to the last but one: abab, of which the rule says a a a a.
    assert accuracy("ab" * 3 + "a") == (2, 4)
    assert accuracy("aabb") == (1, 1)  # the last b, which it would miss, is never asked for
    assert accuracy("aabbb") == (1, 2)


def test_every_one_of_the_320_weights_is_as_the_essay_says():
    np.testing.assert_equal(dict(MODEL.weights()), essay())


@pytest.mark.parametrize("n", range(1, 8))
def test_forward_agrees_with_torch_for_random_weights(n):
    model = random_model(d=11, context_length=7, seed=n)
    ids = np.random.default_rng(n).integers(0, 2, size=n)
    run = forward(ids, model)
    np.testing.assert_allclose(run["logits"], oracle(ids.tolist(), model), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(run["context"], run["weights"] @ run["values"])
    np.testing.assert_allclose(run["scores"], run["queries"] @ run["keys"].T / 11**0.5)


def test_the_model_says_what_the_rule_says():
    assert [predict_next(text) for text in TEXTS] == [rule(text) for text in TEXTS]


def test_only_the_last_five_tokens_are_read():
    assert predict_next("b" * 40 + "aa") == "b"
    wide = random_model()
    longer = "abbabab"
    assert predict_next("bb" + longer, wide) == predict_next("aa" + longer, wide)
    assert complete("ab" + longer, 4, wide) == complete("ba" + longer, 4, wide)


def test_equal_logits_say_a():
    silent = MODEL.with_weight("token_embedding", (0, 5), 0).with_weight(
        "token_embedding", (1, 6), 0
    )
    assert np.array_equal(forward([1], silent)["logits"], [[0.0, 0.0]])
    assert predict_next("b", silent) == "a"


def test_operations_are_those_counted_by_hand():
    assert sum(count_operations(5).values()) == 3805
    assert count_operations(3, random_model(d=11), kept=2) == {
        "matmul": 2 * (3 * 11 * 33 + 3 * 11 * 5 + 3 * 5 * 11 + 3 * 11 * 11 + 3 * 11 * 2),
        "add": 33 + 15 + 12 + 33 + 33,  # position, mask, the sums of 3 rows of 5, bias, residual
        "divide": 15 + 15,
        "maximum": 12,
        "subtract": 15,
        "exp": 15,
    }


def test_a_model_never_changes():
    with pytest.raises(FrozenInstanceError):
        MODEL.W_query = np.zeros((8, 8))
    for weights in MODEL.weights().values():
        with pytest.raises(ValueError, match="read-only"):
            weights[...] = 0
    source = np.array(MODEL.W_key)
    model = replace(MODEL, W_key=source)
    source[:] = 7
    assert np.array_equal(model.W_key, MODEL.W_key)


@pytest.mark.parametrize(
    ("name", "place"), [("W_value", np.array([5, 7])), ("c_proj_bias", (5,)), ("c_proj_bias", 5)]
)
def test_with_weight_changes_one_weight_of_a_copy(name, place):
    changed = MODEL.with_weight(name, place, 0.25)
    expected = {other: np.array(weights) for other, weights in MODEL.weights().items()}
    expected[name][tuple(np.atleast_1d(place))] = 0.25
    np.testing.assert_equal(dict(changed.weights()), expected)
    assert matches_golden(MODEL)


def test_ids_and_text_turn_into_each_other():
    assert tokenize("aabba") == [0, 0, 1, 1, 0]
    assert untokenize(np.array([0, 0, 1, 1, 0])) == "aabba"
    assert untokenize([]) == ""
    assert complete("ab", 0) == ""


@pytest.mark.parametrize("token", [-1, 2, 0.5, "a", np.int64(-2)])
def test_an_id_that_stands_for_no_letter_is_refused(token):
    with pytest.raises(ValueError, match=rf"ids must hold only 0 \(a\) and 1 \(b\), got .*{token}"):
        untokenize([0, token, 1])


def test_it_needs_numpy_alone():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from chapter3_helpers.handmade_transformer import complete\n"
        "print(complete('a', 10))\n"
        "print({'matplotlib', 'ipywidgets', 'seaborn'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["baabaabaab", "set()"]
