"""Show the code of the package inside a notebook, read from the package itself.

Taught in every notebook.
"""

import ast
import inspect
import textwrap
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SourceCode:
    """Python source that a notebook shows with colours and a terminal as it is."""

    source: str

    def __str__(self) -> str:
        return self.source

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.source}\n```"


def show_source(thing: Any) -> SourceCode:
    """Read the source of a class or function, without its docstrings, for display in a cell.

    Args:
        thing: a class, function or method that is written in Python.

    Returns:
        The source, so that a notebook shows what the package really runs.

    Raises:
        TypeError: ``thing`` has no Python source, as built-in functions have none.

    >>> from chapter3_helpers.dot_products import attention_scores
    >>> print(show_source(attention_scores))
    def attention_scores(x: torch.Tensor) -> torch.Tensor:
        check_tensor("x", x)
        return x @ x.transpose(-2, -1)  # (..., T, d_in) @ (..., d_in, T) -> (..., T, T)
    """
    try:
        source = textwrap.dedent(inspect.getsource(thing))
    except (TypeError, OSError) as error:
        raise TypeError(f"thing must be a class or function with source, got {thing!r}") from error
    lines: list[str | None] = list(source.splitlines())
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        first = node.body[0]
        if ast.get_docstring(node) is not None and len(node.body) > 1:
            end = first.end_lineno or first.lineno
            if end < len(lines) and not lines[end]:
                end += 1  # the blank line that parts the docstring from the code
            lines[first.lineno - 1 : end] = [None] * (end - first.lineno + 1)
    return SourceCode("\n".join(line for line in lines if line is not None))
