"""Shapes that stand in comments are true: most lines with one run and are compared."""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

import chapter3_helpers
from chapter3_helpers import explorers
from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.dot_products import simple_self_attention
from chapter3_helpers.fused_multihead import FusedMultiHeadAttention, MultiHeadAttention
from chapter3_helpers.grouped_query import GroupedQueryAttention
from chapter3_helpers.induction_heads import LetterReader
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.performance import OneDNNLinear
from chapter3_helpers.positions import LearnedPositions, alibi_bias, sinusoids
from chapter3_helpers.real_heads import head_scores
from chapter3_helpers.real_model import Llama, next_ids
from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder
from chapter3_helpers.tasks import next_word
from chapter3_helpers.trainable_qkv import SelfAttention_v1, SelfAttention_v2
from chapter3_helpers.transformer_block import GPT, MinimalLanguageModel

PACKAGE = Path(chapter3_helpers.__file__).parent
# The first shape of a comment, or what an arrow leads to. Shapes with a sign between them say what
# is multiplied or added, and not what comes out.
SHAPE = re.compile(r"# (?:.*-> )?(?:new: )?\(([\w., */+-]+)\)(?! [@*+] \()")
EXPLORERS = ("trainable_qkv", "dropout", "fused_multihead", "positions", "handmade_transformer")


class Said(NamedTuple):
    """A statement whose comment says a shape."""

    where: str
    name: str | None  # that is assigned; None: it is returned
    shape: str


def said_in(file: Path) -> Iterator[tuple[int, Said]]:
    """Yield the lines of every statement whose comment says a shape, each with what it says."""
    lines = file.read_text("utf-8").splitlines()
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Assign | ast.Return) and (
            found := SHAPE.search(lines[node.end_lineno - 1])
        ):
            first = node.targets[0] if isinstance(node, ast.Assign) else None
            name = getattr(first.elts[0] if isinstance(first, ast.Tuple) else first, "id", None)
            said = Said(f"{file.name}:{node.lineno}", name, found[1])
            yield from ((line, said) for line in range(node.lineno, node.end_lineno + 1))


def fits(shape: torch.Size, said: str, letters: dict[str, int]) -> bool:
    """Return whether a shape is what is said; a letter is the same number in all of a function.

    >>> fits((7, 2, 6), "..., H, 3 * H", {}), fits((4, 4), "T, T / 2", {}), fits((4,), "T, T", {})
    (True, False, False)
    """
    sizes = said.strip(", ").split(", ")
    if sizes[0] == "...":
        sizes = sizes[1:]
        shape = shape[max(0, len(shape) - len(sizes)) :]
    for size, number in zip(sizes, shape, strict=False):
        expected = letters.setdefault(size, number)  # "3 * H" too, where H has not been seen
        if {*re.findall(r"[A-Za-z]\w*", size)} < letters.keys() and not size.isidentifier():
            expected = eval(size.replace("/", "//"), {}, letters)
        if expected != number:
            return False
    return len(sizes) == len(shape)


def compared(run: Callable[[], Any], change: Callable[[str], str] = str) -> dict[Said, set[str]]:
    """Run something; return each statement that said a shape and ran, with other shapes it had."""
    files = {str(file): dict(said_in(file)) for file in PACKAGE.rglob("*.py")}
    result: dict[Said, set[str]] = {}

    def trace(frame, event, arg):
        said, letters, last = files.get(frame.f_code.co_filename), {}, 0
        if not said:
            return None

        def follow(frame, event, arg):
            nonlocal last
            statement, last = said.get(last), frame.f_lineno
            if statement and (event == "return" or said.get(last) is not statement):
                value = frame.f_locals.get(statement.name)
                if statement.name is None and event == "return":
                    value = arg[0] if isinstance(arg, tuple) and arg else arg
                if isinstance(shape := getattr(value, "shape", None), tuple):
                    wrong = result.setdefault(statement, set())
                    if not fits(shape, change(statement.shape), letters):
                        wrong.add(str(tuple(shape)))
            return follow

        return follow

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return result


def all_that_is_taught() -> None:
    x, ids, letters = torch.rand(2, 5, 7), torch.randint(13, (2, 5)), torch.randint(26, (2, 5))
    several = (MultiHeadAttentionWrapper, MultiHeadAttention, FusedMultiHeadAttention)
    for attention in (
        *(SelfAttention_v1(7, 6), SelfAttention_v2(7, 6), CausalAttention(7, 6, 11, 0.0)),
        *(kind(7, 6, 11, 0.0, 3) for kind in several),
    ):
        attention(x), attention.attention_weights(x)
    simple_self_attention(x), LearnedPositions(11, 7)(x), alibi_bias(3, 5), sinusoids(5, 6)
    grouped, x = GroupedQueryAttention(24, 6, 3, 11), torch.rand(2, 5, 24)
    cache = grouped.new_cache(2)
    with torch.no_grad():
        grouped(x[:, :3], cache)
        grouped.attention_weights(x[:, 3:], cache)
        grouped(x[:, 3:4], cache)
    model, gpt = MinimalLanguageModel(13, 22, 11, 2), GPT(13, 22, 11, 2, 2)
    gpt(ids), model(ids), model.attention_weights(ids)
    next_word.train(model, torch.arange(60) % 13, 2, progress=False)
    llama = Llama(13, 24, 2, 6, 3, 17, 11)
    llama(ids), llama.attention_weights(ids[0]), list(next_ids(llama, [1, 2], 3))
    head_scores(llama, torch.tensor([1, 2, 3, 1, 2, 3]))
    for kind in (EncoderDecoder, BahdanauDecoder):
        kind(10)(letters)
    LetterReader(2)(letters), OneDNNLinear(768, 768)(torch.rand(2, 1024, 768))
    for topic in EXPLORERS:
        getattr(explorers, f"{topic}_explorer")().close()


def test_shapes_in_comments_are_true():
    result = compared(all_that_is_taught)
    assert not {said: wrong for said, wrong in result.items() if wrong}
    assert len(result) > 60  # 93; fewer after tests whose states are kept, or by processor


def test_a_shape_that_is_false_is_found():
    def swapped(shape: str) -> str:
        return shape.replace("H, T, T", "T, H, T")

    attention = MultiHeadAttention(7, 6, 11, 0.0, 3)
    result = compared(lambda: attention.attention_weights(torch.rand(2, 5, 7)), swapped)
    wrong = {said.shape: sizes for said, sizes in result.items() if sizes}
    assert wrong == {"..., H, T, T": {"(2, 3, 5, 5)"}}
