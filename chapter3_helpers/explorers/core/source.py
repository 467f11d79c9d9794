"""The Python button shows the source of the function that computes what an explorer shows.

That is possible where the settings decide about numbers alone, not about which lines run. They
stand on top, as names, below what the function takes from its module.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from chapter3_helpers.explorers.core.controls import Control, Settings
from chapter3_helpers.explorers.core.inputs import clicked_cell
from chapter3_helpers.explorers.core.panels import Panel
from chapter3_helpers.explorers.core.widget import Explorer, described
from chapter3_helpers.sentence import TOKENS


class OldExplorer(Explorer):
    """An explorer whose functions still take all settings; this file goes with the last one."""

    def __init__(self, name, controls, panels, lines, settings=None):
        self.old_panels, self.lines = panels, lines
        super().__init__(name, controls, panels, panels, settings)

    def state(self, settings: Settings) -> Any:
        panels = getattr(self.old_panels, "func", self.old_panels)
        name = panels.__name__.replace("_panels", "_state")
        function = getattr(sys.modules[panels.__module__], name)
        return function(settings, **getattr(self.old_panels, "keywords", {}))

    def panels(self, settings: Settings) -> Sequence[Panel]:
        return self.old_panels(settings)

    def code(self, settings: Settings) -> str:
        return "\n".join(self.lines(settings))


def explorer_function(
    name: str, controls: Sequence[Control], panels: Callable, lines: Callable
) -> Callable[..., Explorer]:
    def explorer(**settings: Any) -> Explorer:
        return OldExplorer(name, controls, panels, lines, settings)

    explorer.__module__ = panels.__module__
    explorer.__name__ = explorer.__qualname__ = panels.__name__.replace("_panels", "_explorer")
    return described(controls)(explorer)


def picked_cell(settings: Settings, weights: Any) -> tuple[int, int] | None:
    return clicked_cell(settings.get("query"), settings.get("key"), weights)


def sentence_code(text: str) -> tuple[str, str]:
    """Return the lines of Python that ``read_sentence`` stands for: the import and the call."""
    if text.split() == list(TOKENS):
        line = "tokens, x = TOKENS, example_inputs()"
        return "from chapter3_helpers.sentence import TOKENS, example_inputs", line
    return "from chapter3_helpers.sentence import embed_text", f"tokens, x = embed_text({text!r})"


def source_of(state: Callable[[Settings], Any]) -> Callable[[Settings], Sequence[str]]:
    """Return what ``Explorer`` takes as ``lines``: settings -> lines of Python.

    Args:
        state: a function of the settings, whose last statement is the only ``return``. It reads
            them as ``settings["seed"]``; in the lines that is ``seed``. What it returns is called
            ``state`` there.
    """

    def lines(settings: Settings) -> list[str]:
        imports, definitions, used, body = _parts(state)
        given = "\n".join(f"{name} = {_written(settings[name])}" for name in used)
        parts = ["\n".join(imports), *definitions, given, body]
        return "\n\n".join(part for part in parts if part).splitlines()

    return lines


def _written(value: Any) -> str:
    """Write a setting as Python; steps of a slider add up to 0.7000000000000001, say."""
    return repr(round(value, 9) if isinstance(value, float) else value)


@cache
def _parts(state: Callable[[Settings], Any]) -> tuple[list[str], list[str], list[str], str]:
    """Return what a function imports and needs from its module, its settings, and its body."""
    module = sys.modules[state.__module__]
    text = inspect.getsource(module)
    statements = ast.parse(text).body
    (function,) = (s for s in statements if getattr(s, "name", "") == state.__name__)
    body, used = _body(text, function), r'settings\["(\w+)"\]'
    given = list(dict.fromkeys(re.findall(used, body)))
    body = re.sub(used, r"\1", body)
    body = re.sub(r"^return ", "state = ", body, flags=re.MULTILINE)
    imports, definitions = [], []
    wanted = _names(ast.parse(body))
    for statement in reversed(statements):  # a name stands above what uses it
        if isinstance(statement, ast.Import | ast.ImportFrom):
            aliases = [alias for alias in statement.names if (alias.asname or alias.name) in wanted]
            if aliases:
                statement.names = aliases
                imports.append(ast.unparse(statement))
        elif isinstance(statement, ast.Assign) and _names(*statement.targets) & wanted:
            definitions.append(ast.get_source_segment(text, statement))
            wanted |= _names(statement)
        elif isinstance(statement, ast.FunctionDef) and statement.name in wanted:
            if not statement.name.startswith("_"):
                imports.append(f"from {module.__name__} import {statement.name}")
                continue
            head = text.splitlines()[statement.lineno - 1]
            definitions.append(f"{head}\n{textwrap.indent(_body(text, statement), ' ' * 4)}")
            wanted |= _names(*statement.body)
    imports.sort(key=lambda line: (line.startswith("from"), line))
    return imports, definitions[::-1], given, body


def _body(text: str, function: ast.FunctionDef) -> str:
    """Return the lines of a function without its docstring."""
    first = function.body[1 if ast.get_docstring(function) else 0]
    lines = text.splitlines()[first.lineno - 1 : function.end_lineno]
    return textwrap.dedent("\n".join(lines))


def _names(*nodes: ast.AST) -> set[str]:
    """Return the names that occur in pieces of code."""
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
