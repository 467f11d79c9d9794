"""The big explorer shows a class that a reader wrote in a cell: undecorated, and perhaps edited."""

import functools
import inspect
import re
import sys
import types

import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook
from torch import nn

from chapter3_helpers import explorers
from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.explorers.attention.explorer import COMPUTATION, NUMBER
from chapter3_helpers.explorers.attention.mechanisms import (
    AT_RANDOM,
    BY_HAND,
    CAUSAL,
    CLASSES,
    SPLIT,
    V2,
)
from chapter3_helpers.explorers.core.panels import Note
from chapter3_helpers.fused_multihead import MultiHeadAttention
from chapter3_helpers.induction_heads import LetterReader
from chapter3_helpers.masking import mask_scores
from chapter3_helpers.tasks.training import Trained
from tests.explorers import find, panel_of, run, state_of
from tools.notebook_files import explorer_calls
from tools.stills import first_state

NO_MASK = "scores = mask_scores(scores)", "pass"
NO_SCALING = " / keys.shape[-1] ** 0.5", ""
WRONG_DIM = "dim=-1)", "dim=-2)"
NO_SOFTMAX = "return softmax(scores / keys.shape[-1] ** 0.5, dim=-1)", "return scores.exp()"
BLIND = (
    "scores = mask_scores(scores)",
    "scores = mask_scores(scores) + (1 - torch.eye(len(x))).log()",
)
NO_VALUES = "@ self.W_value(x)", "@ self.W_key(x)"
NO_RETURN = "return weights @", "weights @"
VIEW_ALONE = "split_heads(", "(lambda x, H: x.reshape(H, len(x), -1))("
NO_TRANSPOSE = "split_heads(", "(lambda x, H: x.unflatten(-1, (H, -1)))("


def source(kind: type[nn.Module], *edits: tuple[str, str]) -> str:
    """Return a class of the package as a reader has it in a cell: without its decorator, called
    ``Own``, and perhaps edited."""
    text = "class " + inspect.getsource(kind).partition("class ")[2]
    for old, new in ((f"class {kind.__name__}", "class Own"), *edits):
        assert old in text
        text = text.replace(old, new)
    return text


def written(kind: type[nn.Module], *edits: tuple[str, str]) -> type[nn.Module]:
    """Return that class."""
    space = dict(vars(sys.modules[kind.__module__]))
    exec(source(kind, *edits), space | {"__name__": "__main__"}, space)
    return space["Own"]


@pytest.mark.parametrize("made", [BY_HAND, AT_RANDOM])
@pytest.mark.parametrize("mechanism", CLASSES)
def test_it_opens_on_the_mechanism_that_the_class_is_and_shows_what_the_package_shows(
    mechanism, made
):
    own_class = written(CLASSES[mechanism])
    own = explorers.attention_explorer(own_class, made=made)
    package = explorers.attention_explorer(mechanism=mechanism, made=made)
    assert own.settings == package.settings
    for settings in ({}, {"show": COMPUTATION}, {"show": NUMBER, "row": 3}, {"text": "one two"}):
        own.set(**settings)
        package.set(**settings)
        said = "This is Own as it stands in your notebook. "
        assert own.view.value.replace(said, "") == package.view.value != own.view.value
    state = state_of(own)
    assert type(state.module) is own_class
    call = own.code(own.settings).partition("\n\n#")[0].splitlines()
    assert not any("import" in line and "Own" in line for line in call)
    torch.testing.assert_close(run(call, Own=own_class)["state"].weights, state.weights)
    for explorer in (own, package):  # of every other mechanism the package's class is shown
        explorer.set(mechanism=SPLIT if mechanism != SPLIT else V2)
    assert own.view.value == package.view.value


@pytest.mark.parametrize("made", [BY_HAND, AT_RANDOM])
@pytest.mark.parametrize(
    ("edit", "words", "gone", "column"),
    [
        (NO_MASK, "It hides nothing: every token sees the future.", ("masked", "hidden from"), 6),
        (NO_SCALING, "It does not divide the scores by √D.", ("sqrt", "divided by"), 2),
    ],
)
def test_what_is_missing_is_told_and_every_view_follows(edit, words, gone, column, made):
    own_class = written(CausalAttention, edit)
    explorer = explorers.attention_explorer(own_class, made=made, row=5)
    assert words in panel_of(explorer, Note).text
    assert ('aria-label="hidden"' in explorer.view.value) == (edit != NO_MASK)
    for show, missing in zip((COMPUTATION, NUMBER), gone, strict=True):
        explorer.set(show=show, column=column)
        assert missing not in explorer.view.value
    state = state_of(explorer)
    matrix, path, *_ = explorer.panels(explorer.settings)[1:]
    assert 0 < path.numbers["weight"] == pytest.approx(float(matrix.values[5, column]), abs=1e-5)
    assert torch.equal(matrix.values, state.module.attention_weights(state.x).detach())


class Doubled(CausalAttention):
    def forward(self, x):
        return torch.cat([super().forward(x)] * 2, dim=-1)


@pytest.mark.parametrize("show", [COMPUTATION, NUMBER])
@pytest.mark.parametrize(
    ("own_class", "fault"),
    [
        (written(MultiHeadAttention, VIEW_ALONE), "Its weights are not the softmax of its queries"),
        (Doubled, "not these times its values: its shape is (7, 16), not (7, 8). Look at forward."),
        (written(CausalAttention, NO_VALUES), "these times its values. Look at forward."),
        (written(CausalAttention, WRONG_DIM), "rows do not: does softmax need another dimension?"),
        (written(CausalAttention, NO_MASK, WRONG_DIM), "does softmax need another dimension?"),
        (written(CausalAttention, NO_SOFTMAX), "do not sum to 1: is softmax the last step?"),
        (written(CausalAttention, BLIND), "are NaN: does each row see at least one token?"),
    ],
)
def test_of_a_class_that_cannot_be_explained_only_the_weights_are_shown(own_class, fault, show):
    explorer = explorers.attention_explorer(own_class, made=AT_RANDOM, show=show)
    panels = explorer.panels(explorer.settings)
    note = find(Note, panels).text
    assert fault in note
    assert note.endswith("Only its weights can be shown.")
    state = state_of(explorer)
    weights = state.module.attention_weights(state.x).detach().reshape(state.weights.shape)
    torch.testing.assert_close(panels[-1].values, weights[0], rtol=0, atol=0, equal_nan=True)
    assert panels[-1].click is None


def test_an_error_in_the_class_is_a_sentence_and_drawing_goes_on_after_it():
    class Picky(CausalAttention):
        def attention_weights(self, x):
            if len(x) == 2:
                raise RuntimeError("two tokens are too few")
            return super().attention_weights(x)

    explorer = explorers.attention_explorer(Picky)
    before = explorer.view.value
    explorer.set(text="one two")
    assert "Picky: RuntimeError: two tokens are too few" in explorer.said.value
    explorer.reset()
    assert explorer.view.value == before
    for wrong, said in (
        (written(MultiHeadAttention, NO_TRANSPOSE), "or (H, T, T) with T = 7, got (7, 4, 4)"),
        (written(CausalAttention, NO_RETURN), "returned nothing: is there a return"),
    ):
        assert said in explorers.attention_explorer(wrong).said.value


class NoWeights(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (CausalAttention(3, 2, 6, 0.0), "made from one: give CausalAttention itself"),
        ("CausalAttention", "got 'CausalAttention'"),
        (int, "got <class 'int'>"),
        (NoWeights, "with a method attention_weights, got NoWeights, which has none"),
    ],
)
def test_what_is_no_such_class_is_refused(given, words):
    with pytest.raises(TypeError, match=f"^attention_class must be .*{re.escape(words)}$"):
        explorers.attention_explorer(given)


def same(scores):
    return mask_scores(scores)


def timed(function):
    return functools.wraps(function)(lambda scores: function(scores).clamp(min=-9))


class Outer:
    class Inner(CausalAttention):
        pass


def local_class(kind):
    class Local(kind):
        pass

    return Local


def lines_of(explorer) -> list[str]:
    return explorer.code(explorer.settings).partition("\n\n#")[0].splitlines()


@pytest.mark.parametrize(
    ("explorer", "argument", "given", "kind"),
    [
        ("masking", "mask_scores", lambda scores: scores, "function"),
        ("masking", "mask_scores", timed(mask_scores), "function"),  # it is called mask_scores, too
        ("masking", "mask_scores", torch.relu, "function"),  # of no module
        ("attention", "attention_class", Outer.Inner, "class"),
        ("attention", "attention_class", local_class(CausalAttention), "class"),
        ("induction_heads", "reader_class", local_class(LetterReader), "class"),
        ("induction_heads", "reader_class", functools.partial(LetterReader), "function"),
    ],
)
def test_what_no_name_leads_to_is_said_in_a_comment_and_then_the_lines_run(
    explorer, argument, given, kind, monkeypatch
):
    def untrained(kind, *sizes):
        torch.manual_seed(1)
        return Trained({0: kind(*sizes)}, [])

    monkeypatch.setattr("chapter3_helpers.explorers.induction_heads.trained_reader", untrained)
    own = getattr(explorers, f"{explorer}_explorer")(given)
    lines = lines_of(own)
    assert f"# {argument} is the {kind} that you gave to this explorer" in lines
    assert f"    {argument}={argument}," in lines
    state = state_of(own)
    found = run(lines, **{argument: given})["state"]
    torch.testing.assert_close(found.weights, state.weights, equal_nan=True)


@pytest.mark.parametrize(
    ("explorer", "given", "line"),
    [
        ("masking", same, f"from {__name__} import same"),
        ("masking", torch.nn.functional.relu, "from torch.nn.functional import relu"),
        ("attention", Doubled, f"from {__name__} import Doubled"),
    ],
)
def test_what_a_name_leads_to_is_imported(explorer, given, line):
    own = getattr(explorers, f"{explorer}_explorer")(given)
    assert line in lines_of(own)
    assert not any(line.startswith("#") for line in lines_of(own))
    assert "state" in run(lines_of(own))


def test_a_function_of_the_notebook_is_called_by_its_name_until_the_name_means_another(monkeypatch):
    own = types.FunctionType(same.__code__, globals(), "own")
    own.__module__, own.__qualname__ = "__main__", "own"
    explorer = explorers.masking_explorer(own)
    notebook = sys.modules["__main__"]
    for means, argument in ((own, "own"), (same, "mask_scores")):
        monkeypatch.setattr(notebook, "own", means, raising=False)
        assert f"    mask_scores={argument}," in lines_of(explorer)


def test_a_still_runs_the_cell_of_its_class_and_no_other():
    imports = "from torch import nn\nimport torch\nfrom chapter3_helpers.masking import mask_scores"
    sources = [
        f"{imports}\nfrom chapter3_helpers.softmax import softmax\n1 / 0  # it is not computed",
        source(CausalAttention),
        "attention_explorer(Own, seed=5)",
        f"{source(CausalAttention, NO_MASK)}\nnothing = undefined()\nnothing[0] = 1.0".replace(
            "Own", "Edited"
        ),
        "softmax_explorer()",
        "attention_explorer(Edited)",
    ]
    notebook = new_notebook(cells=[new_code_cell(text) for text in sources])
    for place in (2, 4, 5):
        notebook.cells[place].metadata.explorer = {}
    first, second, third = [call for call in explorer_calls(notebook) if call]
    names = ["attention_explorer-Own", "softmax_explorer", "attention_explorer-Edited"]
    assert [call.name for call in (first, second, third)] == names
    assert (first.build().settings["mechanism"], first.build().settings["seed"]) == (CAUSAL, 5)
    edited = third.build()
    assert "import Edited" not in edited.code(edited.settings)  # it stands in the notebook
    page, words = first_state(edited)
    assert "It hides nothing" in page
    assert words.startswith("Explorer: attention, as Edited computes it.")
