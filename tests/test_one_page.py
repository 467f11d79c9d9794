"""The page to come back to: its cell, its tables and its glossary say what is so."""

import ast
import contextlib
import importlib
import inspect
import io
import pkgutil
import re
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention, silu

import chapter3_helpers
from chapter3_helpers.fused_multihead import count_parameters
from chapter3_helpers.grouped_query import repeat_kv
from chapter3_helpers.positions import alibi_bias, apply_rotary, rotary_frequencies
from chapter3_helpers.real_model import Llama
from chapter3_helpers.transformer_block import GPT
from tests.test_notebooks import path_cells
from tools import glossary
from tools.notebook_files import ONE_PAGE, code_cells, numbered_paths, read

PAGE = read(ONE_PAGE)
CELL, COMPARE, LEARN = (cell.source for cell in code_cells(PAGE)[:3])
TEXT = "\n".join(cell.source for cell in PAGE.cells if cell.cell_type == "markdown")
TEXT = TEXT.replace("\u00a0", " ")  # shapes are not broken at the end of a line


def run(*sources: str) -> tuple[dict, str]:
    """Run cells one after another; return what they define and what they print."""
    space: dict = {}
    with contextlib.redirect_stdout(io.StringIO()) as output:
        for source in sources:
            exec(source, space)
    return space, output.getvalue()


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading, without its first two lines."""
    section = re.split(r"^## ", TEXT, flags=re.MULTILINE)
    (section,) = (part for part in section if part.startswith(heading))
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_the_mechanism_needs_only_torch_and_about_forty_lines():
    imports = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(CELL))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert imports == ["import torch", "from torch import nn"]
    assert 35 <= sum(bool(line.strip()) for line in CELL.splitlines()) <= 48


def changed(*edits: tuple[str, str]) -> str:
    """Return the cell with some of its text replaced, each piece once."""
    source = CELL
    for old, new in edits:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize(
    "edit",
    [
        (" / keys.shape[-1] ** 0.5", ""),
        (".triu(diagonal=1)", ".triu(diagonal=2)"),
        (".transpose(1, 2)\n", ".reshape(x.shape[0], self.num_heads, x.shape[1], -1)\n"),
        ("self.attention(self.norm1(x))", "self.attention(x)"),
        ("torch.relu", ""),
        ("return x + self.dropout", "return self.dropout"),
    ],
)
def test_the_comparison_with_pytorch_notices_a_changed_line(edit):
    _, right = run(CELL, COMPARE)
    assert re.findall(r"layer: (\S+)", right) == ["0.0000"]
    _, wrong = run(changed(edit), COMPARE)
    assert float(re.findall(r"layer: (\S+)", wrong)[0]) > 0.01


@pytest.mark.parametrize("training", [True, False])
def test_the_cell_is_the_packages_gpt(training):
    space, _ = run(CELL)
    own = space["model"]
    package = GPT(7, d=12, context_length=6, num_layers=2, num_heads=3, dropout=0.1)
    with torch.no_grad():
        for mine, its in zip(own.parameters(), package.parameters(), strict=True):
            its.copy_(mine.normal_(std=0.5))
    results = []
    for model in (own, package):
        torch.manual_seed(1)  # the same coins in both
        results.append(model.train(training)(space["ids"]))
    torch.testing.assert_close(*results)


# The eight rows of the table of mistakes: what is changed, and what one sees.


def weights_of(source: str) -> torch.Tensor:
    """Return the weights (B, H, T, T) of the first block, in evaluation."""
    space, _ = run(
        source.replace(
            "weights = self.dropout", "self.seen = weights\n        weights = self.dropout"
        )
    )
    space["model"].eval()(space["ids"])
    return space["model"].blocks[0].seen


def leaks(source: str) -> bool:
    """Return whether another last token changes earlier outputs."""
    space, _ = run(source)
    model, ids = space["model"].eval(), space["ids"]
    other = ids.clone()
    other[:, -1] = 6
    return not torch.equal(model(ids)[:, :-1], model(other)[:, :-1])


def without_scale() -> bool:
    torch.manual_seed(123)
    sharp = {}
    for D in (4, 1024):
        queries, keys = torch.randn(2, 2000, 6, D)
        weights = torch.softmax(queries @ keys.transpose(-2, -1), dim=-1)
        scaled = torch.softmax(queries @ keys.transpose(-2, -1) / D**0.5, dim=-1)
        sharp[D] = [float((w.amax(dim=-1) > 0.9).float().mean()) for w in (weights, scaled)]
    return sharp[1024][0] > 0.6 and sharp[4][0] < 0.25 and sharp[1024][1] < 0.05


def mask_reversed() -> bool:
    space, _ = run(changed(("masked_fill(future", "masked_fill(~future")))
    last = torch.ones(4, 4, dtype=torch.bool).tril()  # True = visible there
    x = torch.randn(4, 8)
    visible = scaled_dot_product_attention(x, x, x, attn_mask=last)
    causal = scaled_dot_product_attention(x, x, x, is_causal=True)
    rest = torch.allclose(visible, causal, atol=1e-6)
    return bool(space["model"](space["ids"]).isnan().any()) and rest


def mask_after_softmax() -> bool:
    wrong = changed(
        ("scores = scores.masked_fill(future, -torch.inf)", "pass"),
        ("dim=-1)  # each", "dim=-1).masked_fill(future, 0)  # each"),
    )
    sums = weights_of(wrong).sum(dim=-1)
    least = (sums.argmin(dim=-1) == 0).float().mean() > 0.5  # usually
    return bool((sums[..., :-1] < 0.999).all() and least) and leaks(wrong)


def softmax_along_queries() -> bool:
    wrong = changed(("torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=-2)"))
    weights = weights_of(wrong)
    columns = torch.allclose(weights.sum(dim=-2), torch.tensor(1.0))
    return columns and bool((weights.sum(dim=-1) - 1).abs().max() > 0.1) and leaks(wrong)


def heads_cut_wrongly() -> bool:
    cut = "x.view(B, T, self.num_heads, d // self.num_heads).transpose(1, 2)"
    split = changed((cut, "x.view(B, self.num_heads, T, d // self.num_heads)"))
    join = changed(("context.transpose(1, 2).reshape", "context.reshape"))
    return leaks(split) and leaks(join)


def still_in_training() -> bool:
    space, _ = run(CELL)
    return not torch.equal(*(space["model"](space["ids"]) for _ in range(2)))


def no_positions() -> bool:
    source = changed(
        (" + self.positions.weight[: ids.shape[1]]", ""), ("num_layers=2", "num_layers=1")
    )
    space, _ = run(source)
    model, ids = space["model"].eval(), space["ids"][:1]
    shuffled = ids[:, [3, 0, 4, 2, 1, 5]]
    with_them = run(changed(("num_layers=2", "num_layers=1")))[0]["model"].eval()
    return all(
        torch.allclose(m(ids)[:, -1], m(shuffled)[:, -1], atol=1e-5) is same
        for m, same in ((model, True), (with_them, False))
    )


def targets_not_moved() -> bool:
    space, printed = run(CELL, LEARN.replace("text[:, 1:]", "ids"))
    written = printed.splitlines()[-1].split()
    repeated = any(first == second for first, second in pairwise(written))
    return space["loss"].item() < 0.1 and repeated


MISTAKES: dict[str, Callable[[], bool]] = {
    "The division by the root": without_scale,
    "The mask is the wrong way round": mask_reversed,
    "The mask comes after softmax": mask_after_softmax,
    "Softmax runs along": softmax_along_queries,
    "`view(B, H, T, D)` without": heads_cut_wrongly,
    "`eval()` is forgotten": still_in_training,
    "The positions are forgotten": no_positions,
    "The targets are not moved": targets_not_moved,
}


@pytest.mark.parametrize("row", rows("Eight mistakes"), ids=lambda row: row[0][:24])
def test_a_mistake_shows_what_its_row_says(row):
    (seen,) = (check for name, check in MISTAKES.items() if row[0].startswith(name))
    assert seen(), row[1]


def test_the_cell_makes_none_of_them():
    assert not leaks(CELL)
    assert torch.allclose(weights_of(CELL).sum(dim=-1), torch.tensor(1.0))
    assert run(CELL, LEARN)[1].endswith("Your journey starts with one step .\n")
    assert len(rows("Eight mistakes")) == len(MISTAKES) == 8


def namespace(model: nn.Module, ids: torch.Tensor) -> dict:
    """Return the names that the tables use, for one model and its ids."""
    block = model.blocks[0]
    T, d = ids.shape[1], model.embedding.embedding_dim
    space = {name: getattr(model, name) for name in ("embedding", "positions", "output")}
    names = ("W_query", "W_key", "W_value", "out_proj", "up", "down", "norm1", "norm2", "attention")
    space |= {name: getattr(block, name) for name in names} | {"norm": model.norm}
    sizes = {"B": len(ids), "T": T, "H": block.num_heads, "D": d // block.num_heads, "d": d}
    values = torch.randn(sizes["B"], sizes["H"], T, sizes["D"], device=ids.device)
    return {**space, **sizes, "torch": torch, "nn": nn, "ids": ids, "values": values}


def here() -> dict:
    space, _ = run(CELL)
    return namespace(space["model"].eval(), space["ids"])


def gpt2() -> dict:
    with torch.device("meta"):
        model = run(CELL)[0]["Model"](50257, 768, 1024, 1, 12, 0.0)
        return namespace(model, torch.zeros(8, 1024, dtype=torch.long))


def smollm2(num_layers: int = 1) -> Llama:
    with torch.device("meta"):
        return Llama(49_152, 576, num_layers, 9, 3, hidden=1536, context_length=8192)


def llama() -> dict:
    model, ids = smollm2(), torch.zeros(8, 1024, dtype=torch.long, device="meta")
    block = model.blocks[0]
    layers = [part.named_children() for part in (model, block, block.attention, block.feed_forward)]
    none_added = SimpleNamespace(weight=torch.zeros(1024, 576, device="meta"))
    sizes = {"B": 8, "T": 1024, "H": 9, "D": 64, "d": 576}
    values = torch.zeros(8, 9, 1024, 64, device="meta")
    space = {"torch": torch, "ids": ids, "values": values, "positions": none_added}
    return {name: layer for part in layers for name, layer in part} | sizes | space


@pytest.mark.parametrize(
    ("column", "made", "other"),
    [
        (3, here, []),
        (4, gpt2, []),
        (5, llama, ["keys and values, in the same way", "inside the feed-forward network"]),
    ],
)
def test_the_table_of_shapes_is_what_its_code_gives(column, made, other):
    """A Llama has other sizes than the letters say in some rows: fewer kv heads, not 4 d."""
    space, differ = made(), []
    space["vocab_size"] = space["output"].out_features
    with torch.device(space["ids"].device):
        for row in rows("Shapes"):
            code = row[2].strip("`")
            name, _, value = code.rpartition(" = ")
            result = eval(value or name, space)
            space |= {name: result} if name else {}
            if name == "keys":
                space["keys"] = repeat_kv(result, space["H"] // result.shape[1])
            assert str(tuple(result.shape)) == row[column], code
            letters = row[1].replace("4d", "4 * d").strip("()").split(", ")
            if [eval(letter, space) for letter in letters] != list(result.shape):
                differ.append(row[0])
    assert differ == other


def test_the_numbers_of_parameters_are_those_of_the_cell():
    block = run(CELL)[0]["Block"](768, 12, 0.0)
    counts = {
        name: sum(p.numel() for p in part.parameters()) for name, part in block.named_children()
    }
    attention = sum(counts[name] for name in ("W_query", "W_key", "W_value", "out_proj"))
    assert attention == 4 * 768**2 + 768 == 2_360_064
    assert "2,360,064" in TEXT
    assert f"{attention + 3 * 768:,}" in TEXT  # with biases for q, k and v, as in GPT-2
    assert f"{2 * 12 * 8 * 12 * 1024 * 64 * 4 / 1e6:.0f} MB" in TEXT  # its cache
    assert f"{2 * 30 * 8 * 3 * 1024 * 64 * 4 / 1e6:.0f} MB" in TEXT  # SmolLM2's
    assert f"{count_parameters(smollm2(num_layers=30)):,}" in TEXT
    assert counts["up"] + counts["down"] == 8 * 768**2 + 5 * 768
    assert counts["norm1"] + counts["norm2"] == 4 * 768


def test_the_code_beside_the_formulas_runs_and_its_two_attentions_agree():
    space = here()
    x = space["embedding"](space["ids"])
    queries, keys = torch.randn(2, 2, 3, 6, 4)
    scores = queries @ keys.mT
    space |= {
        **{"x": x, "queries": queries, "keys": keys, "scores": scores, "joined": x, "p": 0.1},
        **{"weights": torch.softmax(scores, dim=-1), "logits": torch.randn(2, 6, 7)},
        **{"alibi_bias": alibi_bias, "apply_rotary": apply_rotary},
        **{"rotary_frequencies": rotary_frequencies, "cross_entropy": cross_entropy},
        **{"silu": silu, "gate": nn.Linear(space["d"], 4 * space["d"], bias=False)},
        "scaled_dot_product_attention": scaled_dot_product_attention,
    }
    results = {
        what: [eval(code, space) for code in re.findall(r"`(.*?)`", code)]
        for what, _, code, _ in rows("Formulas")
    }
    space["scores"] = (queries @ keys.mT / 2).masked_fill(
        torch.ones(6, 6).triu(diagonal=1).bool(), -torch.inf
    )
    (masked,) = results["the same with the mask"]
    torch.testing.assert_close(masked, torch.softmax(space["scores"], dim=-1) @ space["values"])
    (unmasked,) = results["scaled dot-product attention"]
    torch.testing.assert_close(unmasked[..., -1, :], masked[..., -1, :])  # which sees all


def test_every_class_of_the_ladder_is_in_the_package_with_these_arguments():
    lessons = [
        importlib.import_module(f"chapter3_helpers.{module.name}")
        for module in pkgutil.iter_modules(chapter3_helpers.__path__)
        if not module.ispkg
    ]
    ladder = rows("The classes")
    assert len(ladder) == 13
    for row in ladder:
        name, arguments = re.match(r"`(\w+)\((.*?)\)`", row[0]).groups()
        (found,) = {vars(module)[name] for module in lessons if name in vars(module)}
        assert row[1] == f"`{found.__module__.partition('.')[2]}`"
        wanted = arguments.split(", ")
        assert [*inspect.signature(found).parameters][: len(wanted)] == wanted


# The glossary


def test_every_term_of_a_path_is_in_the_glossary():
    """What ends in a full stop is no term: **Predict.** or a sentence that matters."""
    missing = []
    for path in numbered_paths():
        cells = [cell for cell in path_cells(read(path)) if cell.cell_type == "markdown"]
        for bold in re.findall(r"\*\*([^*]+)\*\*", "\n".join(prose(cell) for cell in cells)):
            if not bold.strip().endswith(".") and not glossary.find(bold, path.stem[:2]):
                missing.append((path.stem, bold))
    assert missing == []


def test_every_row_points_to_a_notebook_that_has_its_term():
    for path in numbered_paths():
        text = "\n".join(c.source for c in read(path).cells if c.cell_type == "markdown")
        for term in (term for term in glossary.TERMS if term.path == path):
            names = "|".join(re.escape(name) for name in term.names)
            assert re.search(rf"\b({names})\b", text, re.IGNORECASE), term
            assert re.fullmatch(r"[A-Z].*\.", term.sentence)
            assert re.search(r"[\u4e00-\u9fff]", "".join(term.chinese)), term


def prose(cell) -> str:
    """Return what a cell says outside its code, where ** is a power."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", cell.source, flags=re.DOTALL)


def test_the_glossary_has_each_term_once_and_its_page_says_what_the_data_say():
    names = [term.term.casefold() for term in glossary.TERMS]
    assert len(names) == len(set(names))
    assert glossary.PAGE.read_text("utf-8") == glossary.page(), "make questions"
