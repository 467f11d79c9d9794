"""What a strip of numbers in the live diagram is, and the line of code that made it.

The line is read from the source of the class that is shown, so that a reader's own class shows its
own lines.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any

from torch import nn

from chapter3_helpers.explorers.core.panels import Panel
from chapter3_helpers.explorers.core.style import escape

# name -> what it is, and what the statement that makes it looks like, the surest first
PARTS = {
    "x": ("The tokens as they come in, a row each.", [r"^x = ", r", x = "]),
    "queries": ("What each token looks for, a row each.", ["W_qkv", r"\bqueries = "]),
    "keys": ("What each token offers to be found by, a row each.", ["W_qkv", r"\bkeys = "]),
    "keys.T": ("The keys, transposed: a column for each token.", ["W_qkv", r"\bkeys = "]),
    "values": ("What each token hands over if it is attended to.", ["W_qkv", "W_value"]),
    "scores": (
        "The dot products of each query, a row, with every key.",
        ["scores = .*x|scores = .*@"],
    ),
    "scaled": ("The scores, divided by √D so that softmax does not become a step.", [r"\*\* 0\.5"]),
    "masked": ("The scores, with -inf where a key comes later than the query.", ["mask"]),
    "weights": ("The shares that each query, a row, gives to the keys.", [r"softmax\(", "kernel"]),
    "dropped": (
        "The weights after dropout: some are 0, the others larger.",
        [r"dropout\(", "dropout_p"],
    ),
    "context": (
        "The values, mixed by the weights of each query.",
        ["@ .*values", "@ .*W_value", "scaled_dot", "@ x"],
    ),
    "concat": ("The context vectors of all heads, side by side.", [r"join_heads\(", r"\bcat\("]),
    "output": ("What out_proj makes of all heads together.", [r"out_proj\("]),
}
MOST_HEADS = 24
HEAD_PARTS = ("queries", "keys.T", "values", "weights", "dropped", "context")
STRIPS = (*PARTS, *(f"{part} {head}" for part in HEAD_PARTS for head in range(MOST_HEADS)))


@dataclass(frozen=True)
class Strip(Panel):
    """One strip of a diagram in words, with its shape and the code that made it."""

    name: str
    shape: str
    code: str
    beside = True
    picture = False

    def html(self) -> str:
        part, _, head = self.name.partition(" ")
        of = f" of head {head}" if head else ""
        code = f"<pre><code>{escape(self.code)}</code></pre>" if self.code else ""
        said = f"{PARTS[part][0]} Its shape is {self.shape}."
        return (
            f'<div class="c3w c3strip"><p><b>{escape(part)}{of}</b>: {escape(said)}</p>{code}</div>'
        )


def code_of(name: str, source: type[nn.Module] | Callable, more: Sequence[str] = ()) -> str:
    """Return the statement that makes a strip, as a class or a function has it, "" for none.

    Args:
        name: what the diagram calls the strip.
        source: the class or the function.
        more: lines of code around it.

    >>> from chapter3_helpers.causal_attention import CausalAttention
    >>> code_of("scores", CausalAttention)
    'scores = queries @ keys.transpose(-2, -1)'
    """
    for wanted in PARTS[name.partition(" ")[0]][1]:
        for statement in (*_statements(source), *more):
            if re.search(wanted, statement):
                return statement
    return ""


@lru_cache(maxsize=32)
def _statements(source: Any) -> Sequence[str]:
    """Return the assignments and returns of a class or a function, in the order in which a forward
    pass comes to them."""
    functions = [source]
    if inspect.isclass(source):  # method by method: that of a class in a notebook has no file
        classes = takewhile(lambda one: one is not nn.Module, inspect.getmro(source))
        methods = [filter(inspect.isfunction, vars(one).values()) for one in classes]
        functions = [f for own in methods for f in sorted(own, key=_is_forward)]
    found: list[str] = []
    for function in functions:
        try:
            text = textwrap.dedent(inspect.getsource(function))
            definition = ast.parse(text).body[0]
        except (OSError, SyntaxError):  # it was written nowhere that can be read, or as a lambda
            continue
        if isinstance(definition, ast.FunctionDef) and definition.name != "__init__":
            found += [
                " ".join(ast.get_source_segment(text, node).split())
                for node in definition.body
                if isinstance(node, ast.Assign | ast.AugAssign | ast.Return)
            ]
    return tuple(found)


def _is_forward(function: Callable) -> bool:
    return function.__name__ == "forward"
