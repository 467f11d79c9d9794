"""The classes and functions that stand in a notebook to be edited are those of the package."""

import importlib
import re

import pytest
import torch
from torch import nn

from chapter3_helpers import grouped_query
from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.copy_weights import copy_weights
from chapter3_helpers.fused_multihead import MultiHeadAttention
from chapter3_helpers.softmax import softmax
from chapter3_helpers.trainable_qkv import SelfAttention_v2
from tests.taught_code import defined_names, first_difference, wrong_marks
from tools.notebook_files import NOTEBOOKS, code_cells, read, tags

# notebook, module, and the names that each teaches in a cell of its own
TAUGHT = {
    "00_why_attention": ("recurrent", ["EncoderDecoder", "BahdanauDecoder"]),
    "01_dot_products": ("dot_products", ["attention_scores"]),
    "02_softmax": ("dot_products", ["softmax", "simple_self_attention"]),
    "03_trainable_qkv": ("trainable_qkv", ["SelfAttention_v1", "SelfAttention_v2"]),
    "04_masking": ("masking", ["causal_mask", "mask_scores"]),
    "05_dropout": ("causal_attention", ["CausalAttention"]),
    "06_multihead_wrapper": ("multihead_wrapper", ["MultiHeadAttentionWrapper"]),
    "07_fused_multihead": (
        "fused_multihead",
        [
            "split_heads",
            "join_heads",
            "MultiHeadAttention",
            "FusedMultiHeadAttention",
        ],
    ),
    "08_positions": (
        "positions",
        ["LearnedPositions", "linear_bias", "rotary_frequencies", "apply_rotary"],
    ),
    "09_transformer_block": ("transformer_block", ["FeedForward", "TransformerBlock", "GPT"]),
    "10_induction_heads": ("induction_heads", ["LetterReader"]),
    "11_handmade_transformer": ("handmade_transformer", ["softmax", "forward"]),
    "12_grouped_query_kv_cache": (
        "grouped_query",
        ["KeyValueCache", "kv_cache_bytes", "repeat_kv"],
    ),
    "14_tensor_parallel": ("tensor_parallel", ["exchanged_bytes", "heads_by_process"]),
    "15_real_model": (
        "real_model",
        ["RMSNorm", "GatedFeedForward", "LlamaBlock", "Llama", "next_ids"],
    ),
    "16_heads_of_a_real_model": ("real_heads", ["repeated_tokens", "head_scores", "cut_heads"]),
}
# methods that the package alone has
BEYOND = {"GPT": ["attention_weights"], "Llama": ["attention_weights"]}
BELOW = {  # the rung that lines marked as new are compared with
    "CausalAttention": SelfAttention_v2,
    "MultiHeadAttentionWrapper": CausalAttention,
    "MultiHeadAttention": CausalAttention,
    "FusedMultiHeadAttention": MultiHeadAttention,
}
ROWS = [(notebook, name) for notebook, (_, names) in TAUGHT.items() for name in names]


def cell_of(notebook: str, name: str) -> str:
    """Return the source of the cell that defines a name, alone in its cell."""
    sources = [cell.source for cell in code_cells(read(NOTEBOOKS / f"{notebook}.ipynb"))]
    (source,) = [s for s in sources if re.search(rf"(?m)^(class|def) {name}\b", s)]
    assert defined_names(source) == [name]
    return source


def package_of(notebook: str, name: str):
    return getattr(importlib.import_module(f"chapter3_helpers.{TAUGHT[notebook][0]}"), name)


@pytest.mark.parametrize(("notebook", "name"), ROWS)
def test_a_cell_holds_what_the_package_holds(notebook, name):
    cell = cell_of(notebook, name)
    assert first_difference(cell, package_of(notebook, name), BEYOND.get(name, ())) is None
    if name in BELOW:
        assert wrong_marks(cell, BELOW[name]) == []


@pytest.mark.parametrize(("notebook", "name"), ROWS)
def test_later_cells_use_what_the_cell_defines(notebook, name):
    cells = code_cells(read(NOTEBOOKS / f"{notebook}.ipynb"))
    sources = [cell.source for cell in cells if "exercise" not in tags(cell)]
    place = sources.index(cell_of(notebook, name))
    later = "\n".join(sources[place + 1 :])
    assert re.search(rf"\b{name}\b", later)
    assert not re.search(rf"import[^\n]*\b{name}\b(?! as)", later), "imported over the cell's own"


def test_a_difference_and_a_wrong_mark_are_named():
    cell = cell_of("05_dropout", "CausalAttention")
    lost = cell.replace("        scores = mask_scores(scores)", "", 1)
    assert "mask_scores(scores)' in the package" in first_difference(lost, CausalAttention)
    unmarked = cell.replace("(scores)  # new", "(scores)  # as", 1)
    message = "not marked: scores = mask_scores(scores)"
    assert wrong_marks(unmarked, SelfAttention_v2) == [message]


SIZES = {"d_in": 7, "d_out": 6, "context_length": 11, "dropout": 0.0, "num_heads": 3}


@pytest.mark.parametrize(
    ("notebook", "name"), [row for row in ROWS if "Attention" in row[1] and row[0] < "08"]
)
def test_weights_go_both_ways_between_the_cells_class_and_the_packages(notebook, name):
    """The cell's class has only the attributes that its own lines set."""
    package = package_of(notebook, name)
    scope = dict(vars(importlib.import_module(package.__module__)))
    exec(cell_of(notebook, name), scope)
    written: type[nn.Module] = scope[name]
    arguments = [word for word in package.__init__.__annotations__ if word in SIZES]
    sizes = {word: SIZES[word] for word in arguments}
    x = torch.randn(2, 5, 7, generator=torch.Generator().manual_seed(1))
    for kinds in ((written, package), (package, written)):
        torch.manual_seed(5)
        source, target = (kind(**sizes) for kind in kinds)
        assert not torch.equal(source(x), target(x))
        copy_weights(source, target)
        for batch in (x, x[0]):
            torch.testing.assert_close(source(batch), target(batch))
            left, right = (module.attention_weights(batch) for module in (source, target))
            torch.testing.assert_close(left, right)


@pytest.mark.parametrize("notebook", ["12_grouped_query_kv_cache", "15_real_model"])
@pytest.mark.parametrize(("d", "heads", "kv_heads"), [(40, 10, 5), (24, 6, 1), (44, 2, 2)])
def test_open_lines_compute_what_the_packages_attention_computes(notebook, d, heads, kv_heads):
    """Both notebooks write in steps what the package leaves to torch's function."""
    scope = vars(grouped_query) | {"grouped_query": grouped_query, "softmax": softmax}
    exec(cell_of(notebook, "GroupedQueryAttention"), scope)
    made = []
    for kind in (scope["GroupedQueryAttention"], grouped_query.GroupedQueryAttention):
        torch.manual_seed(5)
        made.append(kind(d, heads, kv_heads, theta=70.0))
    written, package = made
    assert type(written).forward is not type(package).forward
    torch.testing.assert_close(written.state_dict(), package.state_dict(), atol=0, rtol=0)
    x = torch.randn(2, 11, d, generator=torch.Generator().manual_seed(1))
    for batch in (x, x[1]):
        torch.testing.assert_close(written(batch), package(batch))
    cache = package.new_cache(batch_size=2)
    chunks = [written(chunk, cache) for chunk in x.split([4, 1, 1, 5], dim=1)]
    torch.testing.assert_close(torch.cat(chunks, dim=1), package(x))
    assert len(cache) == 11
