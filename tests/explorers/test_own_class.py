"""The big explorer shows a class that a reader wrote in a cell: undecorated, and perhaps edited."""

import inspect
import re
import sys
from pathlib import Path

import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook
from torch import nn

from chapter3_helpers import causal_attention, explorers
from chapter3_helpers.explorers.attention import COMPUTATION, NUMBER
from chapter3_helpers.explorers.core.mechanisms import (
    AT_RANDOM,
    BY_HAND,
    CAUSAL,
    FUSED,
    SPLIT,
    V1,
    V2,
    WRAPPER,
    attention_state,
)
from chapter3_helpers.masking import mask_scores
from tests.explorers import run
from tests.notebook_files import explorer_calls
from tests.regression.stills import first_state


class SelfAttentionOne(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        return self.attention_weights(x) @ (x @ self.W_value)

    def attention_weights(self, x):
        scores = (x @ self.W_query) @ (x @ self.W_key).transpose(-2, -1)
        return torch.softmax(scores / self.W_key.shape[1] ** 0.5, dim=-1)


class SelfAttentionTwo(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        return self.attention_weights(x) @ self.W_value(x)

    def attention_weights(self, x):
        queries, keys = self.W_query(x), self.W_key(x)
        return torch.softmax(queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5, dim=-1)


class Causal(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.attention_weights(x)) @ self.W_value(x)

    def attention_weights(self, x):
        queries, keys = self.W_query(x), self.W_key(x)
        scores = self.mask(queries @ keys.transpose(-2, -1))
        return torch.softmax(scores / self.divisor(keys), dim=-1)

    def mask(self, scores):
        return mask_scores(scores)

    def divisor(self, keys):
        return keys.shape[-1] ** 0.5


class Wrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        head = causal_attention.CausalAttention
        self.heads = nn.ModuleList(
            head(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)

    def attention_weights(self, x):
        return torch.stack([head.attention_weights(x) for head in self.heads], dim=-3)


class Split(Causal):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.num_heads = num_heads
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        context = self.attention_weights(x) @ self.split(self.W_value(x))
        return self.out_proj(context.transpose(-3, -2).flatten(start_dim=-2))

    def attention_weights(self, x):
        queries, keys = self.split(self.W_query(x)), self.split(self.W_key(x))
        scores = mask_scores(queries @ keys.transpose(-2, -1))
        return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2)


class Fused(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_qkv = nn.Linear(d_in, 3 * d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def project(self, x):
        parts = self.W_qkv(x).chunk(3, dim=-1)
        return [part.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2) for part in parts]

    def forward(self, x):
        context = self.attention_weights(x) @ self.project(x)[2]
        return self.out_proj(context.transpose(-3, -2).flatten(start_dim=-2))

    def attention_weights(self, x):
        queries, keys, _ = self.project(x)
        scores = mask_scores(queries @ keys.transpose(-2, -1))
        return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


OWN = {
    **{V1: SelfAttentionOne, V2: SelfAttentionTwo, CAUSAL: Causal},
    **{WRAPPER: Wrapper, SPLIT: Split, FUSED: Fused},
}


class NoMask(Causal):
    def mask(self, scores):
        return scores


class NoScaling(Causal):
    def divisor(self, keys):
        return 1.0


class NoTranspose(Split):
    def split(self, x):
        return x.reshape(*x.shape[:-2], self.num_heads, x.shape[-2], -1)


def shown(explorer) -> str:
    """Return what an explorer shows, without the sentence that says whose class it is."""
    return re.sub(r"This is \w+ as it stands in your notebook\. ", "", explorer.view.value)


def note(explorer) -> str:
    return explorer.panels(explorer.settings)[0].text


@pytest.mark.parametrize("made", [BY_HAND, AT_RANDOM])
@pytest.mark.parametrize("mechanism", OWN)
def test_it_opens_on_the_mechanism_that_the_class_is_and_shows_what_the_package_shows(
    mechanism, made
):
    own = explorers.attention_explorer(OWN[mechanism], made=made)
    package = explorers.attention_explorer(mechanism=mechanism, made=made)
    assert own.settings == package.settings
    assert own.settings["mechanism"] == mechanism
    for settings in ({}, {"show": COMPUTATION}, {"show": NUMBER, "row": 3}, {"text": "one two"}):
        own.set(**settings)
        package.set(**settings)
        assert shown(own) == package.view.value != own.view.value
    assert (
        type(attention_state(own.settings, own.panels.keywords["classes"]).module) is OWN[mechanism]
    )
    own.reset()
    lines = own.lines(own.settings)
    name = OWN[mechanism].__name__
    assert not any("import" in line and name in line for line in lines)
    weights = run(lines, **{name: OWN[mechanism]})["weights"]
    expected = attention_state(package.settings | own.settings).weights
    torch.testing.assert_close(weights.reshape(expected.shape), expected)


def test_every_other_mechanism_is_still_the_packages():
    explorer = explorers.attention_explorer(NoMask, made=AT_RANDOM)
    assert "NoMask" in note(explorer)
    explorer.set(mechanism=SPLIT, num_heads=4)
    package = explorers.attention_explorer(made=AT_RANDOM)
    assert explorer.settings == package.settings
    assert explorer.view.value == package.view.value


@pytest.mark.parametrize("made", [BY_HAND, AT_RANDOM])
def test_a_class_without_its_mask_is_shown_seeing_the_future(made):
    explorer = explorers.attention_explorer(NoMask, made=made)
    assert 'aria-label="hidden"' not in explorer.view.value
    assert "It hides nothing: every token sees the future." in note(explorer)
    explorer.set(show=COMPUTATION)
    assert "masked" not in explorer.view.value
    explorer.set(show=NUMBER, row=0, column=4)
    (path,) = [p for p in explorer.panels(explorer.settings) if hasattr(p, "numbers")]
    state = attention_state(explorer.settings, {CAUSAL: NoMask})
    assert path.numbers["weight"] == pytest.approx(float(state.weights[0, 0, 4]), abs=1e-5)
    assert path.numbers["weight"] > 0


def test_a_class_without_its_scaling_is_told_and_its_numbers_follow():
    explorer = explorers.attention_explorer(NoScaling, made=AT_RANDOM, show=NUMBER, row=5)
    assert "It does not divide the scores by √D." in note(explorer)
    path, matrix = explorer.panels(explorer.settings)[1:]
    assert path.numbers["weight"] == pytest.approx(float(matrix.values[5, 2]), abs=1e-5)
    assert "divided by" not in path.html()
    explorer.set(show=COMPUTATION)
    assert "sqrt" not in explorer.view.value


@pytest.mark.parametrize("show", [COMPUTATION, NUMBER])
def test_of_heads_without_a_transpose_only_the_weights_are_shown(show):
    explorer = explorers.attention_explorer(NoTranspose, show=show)
    assert note(explorer).endswith("only its weights can be shown.")
    assert "one before" not in note(explorer)
    *_, matrix = explorer.panels(explorer.settings)
    module = attention_state(explorer.settings, {SPLIT: NoTranspose}).module
    x = attention_state(explorer.settings).x
    assert torch.equal(matrix.values, module.attention_weights(x)[0].detach())
    assert not torch.equal(matrix.values, attention_state(explorer.settings).weights[0])


def test_a_class_that_makes_something_else_of_the_weights_is_not_explained():
    class Doubled(Causal):
        def forward(self, x):
            return 2 * torch.cat([super().forward(x)] * 2, dim=-1)

    explorer = explorers.attention_explorer(Doubled, made=AT_RANDOM)
    assert "only its weights" in note(explorer)
    state = attention_state(explorer.settings, {CAUSAL: Doubled})
    assert state.context.shape == (7, 16)


def test_an_error_in_the_class_is_a_sentence_and_drawing_goes_on_after_it():
    class Picky(Causal):
        def attention_weights(self, x):
            if len(x) == 2:
                raise RuntimeError("two tokens are too few")
            return super().attention_weights(x)

    explorer = explorers.attention_explorer(Picky)
    before = explorer.view.value
    explorer.set(text="one two")
    assert "Picky: RuntimeError: two tokens are too few" in explorer.view.value
    explorer.reset()
    assert explorer.view.value == before


class Strange(Causal):
    def __init__(self, d_model, d_out):
        super().__init__(d_model, d_out, 4, 0.0)


class NoWeights(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()


class NoLayers(NoWeights):
    def attention_weights(self, x):
        return x


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Causal(3, 2, 6, 0.0), "got a module that was made from one: give Causal itself"),
        ("CausalAttention", "got 'CausalAttention'"),
        (int, "got <class 'int'>"),
        (NoWeights, "with a method attention_weights, got NoWeights, which has none"),
        (NoLayers, "with W_query, W_qkv or heads, got NoLayers with no layers"),
        (Strange, "got Strange, which needs d_model"),
    ],
)
def test_what_is_no_such_class_is_refused(given, words):
    with pytest.raises(TypeError, match=f"^attention_class must be .*{re.escape(words)}$"):
        explorers.attention_explorer(given)


def test_a_still_and_a_recording_run_the_cell_of_the_class_and_no_other(tmp_path, monkeypatch):
    imports = "import torch\nfrom torch import nn\nfrom chapter3_helpers.masking import mask_scores"
    sources = [
        f"{imports}\n1 / 0  # what a cell computes is not needed",
        inspect.getsource(Causal),
        "attention_explorer(Causal, seed=5)",
        f"{inspect.getsource(NoMask)}\nnothing = undefined()",
        "softmax_explorer()",
        "attention_explorer(NoMask)",
    ]
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    first, second, third = [call for call in explorer_calls(notebook) if call]
    names = ["attention_explorer-Causal", "softmax_explorer", "attention_explorer-NoMask"]
    assert [call.name for call in (first, second, third)] == names
    assert (first.build().settings["mechanism"], first.build().settings["seed"]) == (CAUSAL, 5)
    assert "NoMask" not in first.definitions
    page, words = first_state(third.build())
    assert "It hides nothing" in page
    assert words.startswith("Explorer: attention, as NoMask computes it.")

    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "extensions"))
    recordings = __import__("recordings")
    monkeypatch.setattr(recordings, "MOST_STEPS", 3)
    for notebook_name, call in (("05", first), ("06", first), ("05", third)):
        place = recordings.write(call, notebook_name, tmp_path)
        assert f'id="{call.name}"' in place
        assert f"{notebook_name}-{call.name}.js?v=" in place
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == [f"05-{names[0]}.js", f"05-{names[2]}.js", f"06-{names[0]}.js"]
    sys.modules.pop("recordings")
