"""Show the code of the package inside a notebook, read from the package itself.

Taught in every notebook.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
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


def show_source(thing: Any, compared_with: Any = None) -> SourceCode:
    """Read the source of a class or function for display in a cell, down to what it computes.

    Docstrings, the checks of arguments and ``extra_repr`` are left out; all other lines are those
    that run.

    Args:
        thing: a class, function or method that is written in Python.
        compared_with: another one; lines that it does not have are marked ``# new``.

    Returns:
        The source, which can be pasted into a cell.

    Raises:
        TypeError: either has no Python source, as built-in functions have none.

    >>> from chapter3_helpers.dot_products import attention_scores
    >>> print(show_source(attention_scores))
    def attention_scores(x: torch.Tensor) -> torch.Tensor:
        return x @ x.transpose(-2, -1)  # (..., T, d_in) @ (..., d_in, T) -> (..., T, T)
    """
    source = _without_checks(thing, "thing")
    if compared_with is not None:
        source = _with_marks(source, _without_checks(compared_with, "compared_with"))
    return SourceCode(source)


def _without_checks(thing: Any, name: str) -> str:
    try:
        source = textwrap.dedent(inspect.getsource(thing))
    except (TypeError, OSError) as error:
        raise TypeError(f"{name} must be a class or function with source, got {thing!r}") from error
    for find in (_calls_of_checks, _idle_statements):
        for start, end, text in sorted(find(source), reverse=True):  # earlier places stay
            source = source[:start] + text + source[end:]
    return "\n".join(line for line in source.splitlines() if line.strip() != DROPPED)


DROPPED = "# dropped"
Edit = tuple[int, int, str]


def _calls_of_checks(source: str) -> Iterator[Edit]:
    """Yield for every call of a check that is used what it lets through: its arguments."""
    tree = ast.parse(source)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or id(node) in alone or not _is_check(node):
            continue
        named = (
            isinstance(node.args[0], ast.Constant) if node.args else False
        )  # its first says what
        values = node.args[1:2] if named else node.args or [word.value for word in node.keywords]
        if node.args or all(word.arg for word in node.keywords):
            yield _edit(source, node, ", ".join(map(ast.unparse, values)))


def _idle_statements(source: str) -> Iterator[Edit]:
    """Yield docstrings, ``extra_repr``, refusals, and assignments that only checked."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            if len(body) > 1 and _is_idle(statement):
                yield _edit(source, statement, DROPPED)


def _is_idle(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())) | ast.FunctionDef(name="extra_repr"):
            return True
        case ast.Expr(value=ast.Call() as call):
            return _is_check(call)
        case ast.Assign(targets=[target], value=value):
            left, right = (ast.unparse(side).strip("(,)") for side in (target, value))
            return left == right
        case ast.If(body=[*body], orelse=[]):
            return all(isinstance(inner, ast.Raise) for inner in body)
    return False


def _is_check(call: ast.Call) -> bool:
    return ast.unparse(call.func).lstrip("_").startswith("check")


def _edit(source: str, node: ast.stmt | ast.expr, text: str) -> Edit:
    """Replace a node by a text; of a dropped statement a line of several leaves only the first."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    start = starts[node.lineno - 1] + node.col_offset
    end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
    if text == DROPPED:  # and the blank line that parts it from what follows
        end = source.find("\n", end)
        while source[end : end + 2] == "\n\n":
            end += 1
    return start, end, text


def _with_marks(source: str, known: str) -> str:
    """Mark every statement whose first line is not in ``known``, and every method new by name."""
    lines, known_lines = source.splitlines(), {_code(line) for line in known.splitlines()}
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or node is tree.body[0]:
            continue
        first = lines[node.lineno - 1]
        if isinstance(node, ast.FunctionDef):
            is_new = f"def {node.name}(" not in known
        else:
            is_new = _code(first) not in known_lines
        if is_new:
            lines[node.lineno - 1] = f"{first}  # new"
    return "\n".join(lines)


def _code(line: str) -> str:
    """Return a line without its comment and indentation."""
    return line.split("  #")[0].strip()
