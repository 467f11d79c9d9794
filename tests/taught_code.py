"""What a lesson's cell and the package both hold, compared statement by statement."""

import ast
import copy
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

NEW = re.compile(r"#\s*new\b")


def first_difference(cell: str, package: Any, beyond: Sequence[str] = ()) -> str | None:
    """Name the first statement in which a cell's class or function differs from the package's.

    Docstrings, decorators, annotations and comments are left out, and methods ``beyond`` the cell,
    which the package alone has. None: there is no difference.
    """
    source = textwrap.dedent(inspect.getsource(package))
    ours = statements(definition(cell, package.__name__))
    whole = definition(source, package.__name__)
    whole.body = [node for node in whole.body if getattr(node, "name", "") not in beyond]
    theirs = statements(whole)
    for mine, other in zip_longest(ours, theirs, fillvalue="nothing"):
        if mine != other:
            return f"{mine!r} in the cell, {other!r} in the package"
    return None


def definition(source: str, name: str) -> ast.stmt:
    """Return the class or function of a name that a source defines at its top."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return node
    raise ValueError(f"source must define {name}, got {source!r}")


def defined_names(source: str) -> list[str]:
    """Return the names of the classes and functions that a source defines at its top."""
    body = ast.parse(source).body
    return [node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)]


def statements(node: ast.stmt) -> list[str]:
    """Return what a definition says, a line for each statement, indented as it is nested."""
    return [text for _, text in _numbered(_Plain().visit(node))]


class _Plain(ast.NodeTransformer):
    """Take away annotations and decorators."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns, node.decorator_list = None, []
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = []
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return node
        return ast.copy_location(ast.Assign([node.target], node.value, lineno=node.lineno), node)


def _numbered(node: ast.stmt, depth: int = 0) -> Iterator[tuple[range, str]]:
    """Yield for every statement its lines in the source, without those of its body, and itself."""
    body, orelse = getattr(node, "body", []), getattr(node, "orelse", [])
    inner = [statement for statement in body + orelse if not _is_docstring(statement)]
    head = copy.copy(node)
    if body:
        head.body, head.orelse = [ast.Pass()], []
    end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
    text = ast.unparse(head).removesuffix("pass").strip()
    yield range(node.lineno, max(end, node.lineno + 1)), "    " * depth + text
    for statement in inner:
        if orelse and statement is orelse[0]:
            yield range(statement.lineno - 1, statement.lineno), "    " * depth + "else:"
        yield from _numbered(statement, depth + 1)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def wrong_marks(cell: str, below: Any) -> list[str]:
    """Return the lines of a cell's definition whose mark ``# new`` is missing or not deserved.

    New is every statement that the rung below does not have. The head of the definition, which
    only says its name, is never marked; the mark at an ``if`` holds for what stands in it.
    """
    known = set(statements(definition(textwrap.dedent(inspect.getsource(below)), below.__name__)))
    tokens = tokenize.generate_tokens(io.StringIO(cell).readline)
    marked = {t.start[0] for t in tokens if t.type == tokenize.COMMENT and NEW.match(t.string)}
    wrong, covered = [], ""  # what stands under a new ``if`` is indented by more than this
    (name,) = defined_names(cell)
    _, *inner = _numbered(_Plain().visit(definition(cell, name)))
    for lines, text in inner:
        if covered and text.startswith(covered):
            continue
        is_new = text not in known
        indent = text[: len(text) - len(text.lstrip())]
        covered = f"{indent}    " if is_new and text.lstrip().startswith("if ") else ""
        if is_new != any(line in marked for line in lines):
            wrong.append(f"{'not ' if is_new else ''}marked: {text.strip()}")
    return wrong
