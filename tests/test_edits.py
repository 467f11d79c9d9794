"""A reader edits the class of a notebook, as its text invites to: what the later cells then show.

The cells run in one namespace, without a kernel. What takes long and teaches nothing about an edit
is left out, as its tag says: timings, another training, sizes that are large for their memory.
"""

import ast
import contextlib
import functools
import io
from typing import Any

import pytest
import torch
from nbformat import NotebookNode

from tools.notebook_files import NOTEBOOKS, SLOW, code_cells, read, tags


class Skipped:
    """Which cells are left out: the slow ones, and those that need a name from one of these."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def takes(self, cell: NotebookNode) -> bool:
        names = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name)]
        stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        loaded = {name.id for name in names} - stored
        left_out = SLOW in tags(cell) or bool(loaded & self.names)
        self.names = self.names | stored if left_out else self.names - stored
        return left_out


def run(source: str, space: dict[str, Any]) -> str:
    """Run a cell; return what it prints, and what its last line shows, in words."""
    *statements, last = ast.parse(source).body
    shown = ""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if not isinstance(last, ast.Expr):
            statements.append(last)
        exec(compile(ast.Module(statements, []), "<cell>", "exec"), space)
        if isinstance(last, ast.Expr):
            shown = in_words(eval(compile(ast.Expression(last.value), "<cell>", "eval"), space))
    lines = printed.getvalue().splitlines(keepends=True)
    return "".join(line for line in lines if "batches" not in line) + shown  # no progress bars


def in_words(value: Any) -> str:
    """Return what a notebook shows of a value; of an explorer, its picture too."""
    if hasattr(value, "view"):
        return value.view.value
    return getattr(value, "description", "" if value is None else repr(value))


@functools.cache
def start(notebook: str, name: str) -> tuple[dict[str, Any], torch.Tensor, list[NotebookNode]]:
    """Run the cells above the one that defines a name; return the namespace, the state of the
    random generator, and the cells from that one on, without exercises."""
    cells = code_cells(read(NOTEBOOKS / f"{notebook}.ipynb"))
    cells = [cell for cell in cells if "exercise" not in tags(cell)]
    heads = (f"class {name}(", f"def {name}(", f"{name} = ")
    (place,) = [i for i, cell in enumerate(cells) if cell.source.startswith(heads)]
    space: dict[str, Any] = {"__name__": notebook}
    skipped = Skipped()
    for cell in cells[:place]:
        if not skipped.takes(cell):
            run(cell.source, space)
    return space, torch.get_rng_state(), cells[place:]


@functools.cache
def shown(notebook: str, name: str, old: str = "", new: str = "") -> dict[str, str]:
    """Return what every cell from a definition on shows, with an edit in it."""
    space, random_state, (definition, *later) = start(notebook, name)
    space, skipped, found = dict(space), Skipped(), {}
    torch.set_rng_state(random_state)
    assert old in definition.source
    run(definition.source.replace(old, new, 1), space)
    for cell in later:
        if not skipped.takes(cell):
            found[cell.source] = run(cell.source, space)
    return found


# notebook, definition, old and new code; and what its sentence says of later cells, by a piece of
# their code: a text that they then show, "" for something else than before, None for the same
EDITS = {
    "02 with larger differences": (
        "02_softmax",
        "simple_self_attention",
        "softmax(scores, dim=-1)",
        "softmax(3 * scores, dim=-1)",
        {"scaled_dot_product_attention(": "the same: False", "heatmap(own_weights": ""},
    ),
    "03 without scaling": (
        "03_trainable_qkv",
        "SelfAttention_v2",
        " / keys.shape[-1] ** 0.5",
        "",
        {"functional.scaled_dot_product_attention": "the same: False", "v2(example_": ""},
    ),
    "05 without mask": (
        "05_dropout",
        "CausalAttention",
        "        scores = mask_scores(scores)",
        "        # scores = mask_scores(scores)",
        {
            "functional.scaled_dot_product_attention": "function: False",
            "attention_explorer(CausalAttention)": "every token sees the future",
            "attention.state_dict()": None,
        },
    ),
    "05 without scaling": (
        "05_dropout",
        "CausalAttention",
        " / keys.shape[-1] ** 0.5",
        "",
        {
            "functional.scaled_dot_product_attention": "function: False",
            "attention_explorer(CausalAttention)": "does not divide the scores",
            "attention.state_dict()": None,
        },
    ),
    "05 without dropout": (
        "05_dropout",
        "CausalAttention",
        "        weights = self.dropout(weights)",
        "        # weights = self.dropout(weights)",
        {
            "calls = torch.stack": "training mode True : 1 different",
            "print(attention(batch))": None,
        },
    ),
    "06 with head 0 alone": (
        "06_multihead_wrapper",
        "MultiHeadAttentionWrapper",
        "[head(x) for",
        "[self.heads[0](x) for",
        {
            "print(result)": "[-0.4519,  0.2216, -0.4519,  0.2216]",
            "attention_explorer(MultiHeadAttentionWrapper)": "it returns is not",
            "who_whom.report(two)": "",
        },
    ),
    "07 without transpose": (
        "07_fused_multihead",
        "split_heads",
        "return x.transpose(-3, -2)",
        "return x.reshape(*x.shape[:-3], num_heads, -1, x.shape[-1])",
        {
            "join_heads(heads)": "journey: [2, 3]",
            "stacked = torch.cat": "",
            "copy_weights(moved, fused": "",
            "alone = [a[0, head]": None,
        },
    ),
    "07 without scaling": (
        "07_fused_multihead",
        "MultiHeadAttention",
        " / keys.shape[-1] ** 0.5",
        "",
        {
            "stacked = torch.cat": "",
            "layers = moved.W_query": "",
            "copy_weights(moved, fused": "",
            "print(wide(large))": "",
            "print(example(batch))": None,
        },
    ),
    "07 fused, not causal": (
        "07_fused_multihead",
        "FusedMultiHeadAttention",
        "is_causal=True",
        "is_causal=False",
        {"copy_weights(moved, fused": "largest difference: "},
    ),
    "08 with one vector for all positions": (
        "08_positions",
        "LearnedPositions",
        "self.weight[: x.shape[-2]]",
        "self.weight[:1]",
        {
            "attention(positions(x))": "Bob thanked Ann.             tensor([ 0.5344, -0.6336,",
            "short_table(x_oven)": "row gets a gradient: [True, False,",
            "def with_sinusoids": None,
        },
    ),
    "11 without the one before": (
        "11_handmade_transformer",
        "W_query, W_key",
        "    W_query[position, max(position - 1, 0)]",
        "    # W_query[position, max(position - 1, 0)]",
        {
            "model = HandmadeTransformer(": "22 of them not zero",
            'for prompt in ("a", "ba"': "a     bababababa\n",
            "count_operations(5, model)": None,
        },
    ),
    "12 with positions from 0 again": (
        "12_grouped_query_kv_cache",
        "GroupedQueryAttention",
        "self.theta, past)",
        "self.theta, 0)",
        {
            "in_two_calls = ": "all at once: 0.05",
            "layer_cache.truncate(50)": "class above: 0.05",
            "kept_values = ": None,
        },
    ),
    "13 without shrink": (
        "13_performance",
        "tile_by_tile",
        "shrink = torch.exp(largest - new_largest)",
        "shrink = torch.ones_like(largest)",
        {
            "by_hand = tile_by_tile": "our row: 36.4\nall heads, the same as PyTorch: False",
            "def attend_in_tiles(": "the same as PyTorch: False",
        },
    ),
}


@pytest.mark.parametrize(("notebook", "name", "old", "new", "says"), EDITS.values(), ids=EDITS)
def test_an_invited_edit_shows_what_its_sentence_says_and_breaks_no_later_cell(
    notebook, name, old, new, says
):
    before, after = shown(notebook, name), shown(notebook, name, old, new)
    assert before.keys() == after.keys()
    for code, text in says.items():
        (cell,) = [source for source in before if code in source]
        assert (before[cell] == after[cell]) is (text is None), code
        assert (text or "") in after[cell]
