"""Every line of the mechanism stands in an open cell before a path uses it by name."""

import ast
import importlib

import nbformat

from tests.test_notebooks import path_cells
from tools.notebook_files import numbered_paths, read

LESSONS = [
    "recurrent",
    "dot_products",
    "softmax",
    "trainable_qkv",
    "masking",
    "dropout",
    "causal_attention",
    "multihead_wrapper",
    "fused_multihead",
    "positions",
    "transformer_block",
    "gpt2",
    "induction_heads",
    "handmade_transformer",
    "grouped_query",
    "tensor_parallel",
    "performance",
    "real_model",
]
WITHOUT = {  # what a path uses although no open cell has written it out, and why
    "00_why_attention": {
        "EncoderDecoder": "what runs is a recurrent network, which the series leaves behind",
        "BahdanauDecoder": "its attention is done by hand in a cell; the rest is the same network",
        "tokenize": "a letter becomes its number",
    },
    "11_handmade_transformer": {
        "HandmadeTransformer": "it only keeps the seven arrays together, under their names",
        "tokenize": "a letter becomes its number",
    },
    "15_real_model": {
        "load_llama": "it puts numbers from a file into classes that are written out",
        "read_tokenizer": "it reads the merges from a file; merging is written out",
        "chat": "it puts a question between two marks, and the cell prints the result",
    },
    "16_heads_of_a_real_model": {
        "load_llama": "it puts numbers from a file into classes that 15 writes out",
        "read_tokenizer": "it reads the merges from a file; 15 writes merging out",
    },
}


def imported(tree: ast.Module) -> set[str]:
    """Return the functions and classes that a cell imports from the modules of the lessons."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            package, _, lesson = node.module.partition(".")
            if package == "chapter3_helpers" and lesson in LESSONS:
                module = importlib.import_module(node.module)
                names = [n for n in node.names if callable(getattr(module, n.name))]
                found |= {name.asname or name.name for name in names}
    return found


def used(tree: ast.Module) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def written_out(tree: ast.Module) -> set[str]:
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def never_written_out(notebooks: dict[str, nbformat.NotebookNode]) -> dict[str, set[str]]:
    """Return for each notebook what its path uses before an open cell of any path defines it."""
    found, known = {}, set()
    for stem, notebook in notebooks.items():
        package, asked = set(), set()
        for cell in path_cells(notebook):
            if cell.cell_type == "code":
                tree = ast.parse(cell.source)
                package |= imported(tree)
                if not cell.metadata.get("jupyter", {}).get("source_hidden"):
                    known |= written_out(tree)
                    asked |= (used(tree) & package) - known
        if asked:
            found[stem] = asked
    return found


def test_a_path_uses_nothing_of_a_lesson_that_no_open_cell_has_written_out():
    notebooks = {path.stem: read(path) for path in numbered_paths()}
    allowed = {stem: set(names) for stem, names in WITHOUT.items()}
    assert never_written_out(notebooks) == allowed
