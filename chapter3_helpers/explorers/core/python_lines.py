"""The lines of Python that the *Python* button shows: what computes the numbers of a picture."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chapter3_helpers._language import in_a_row
from chapter3_helpers.explorers.core.controls import Settings, arguments

# How an argument is made: its name, the function that makes it, and the names of what that is given
Given = Mapping[str, tuple[Callable[..., Any], Sequence[str]]]


def call_as_text(function: Callable[..., Any], settings: Settings, made: Given) -> str:
    """Return lines of Python that call a state function with the settings that it names.

    A class or a function stands there by its name; one that a reader wrote is defined in the
    notebook. Where no name leads to it, as to a lambda, a comment says what to put there; so it
    does where the name is that of an argument, and another function makes something of it.
    """
    values = {**arguments(function, settings), **getattr(function, "keywords", {})}
    function = getattr(function, "func", function)
    imports, comments, written = [_import(function)], [], {}
    for name, (make, names) in made.items():
        imports.append(_import(make))
        given = in_a_row(names, str.format)  # what a cell holds is English
        comments.append(f"# {given}: what you gave to this explorer")
        written[name] = f"{make.__name__}({', '.join(f'{each}={each}' for each in names)})"
    for name, value in values.items():
        if not callable(value):
            written[name] = repr(round(value, 9) if isinstance(value, float) else value)
        elif _is_found(value):
            imports += [_import(value)] * (value.__module__ != "__main__")
            written[name] = value.__name__
        else:
            kind = "class" if isinstance(value, type) else "function"
            comments.append(f"# {name} is the {kind} that you gave to this explorer")
            written[name] = name
    given = [f"    {name}={value}," for name, value in written.items()]
    return "\n".join([*comments, *imports, "", f"state = {function.__name__}(", *given, ")"])


def _import(function: Callable[..., Any]) -> str:
    return f"from {function.__module__} import {function.__name__}"


def _is_found(function: Callable[..., Any]) -> bool:
    """Return whether a class or a function is what its name means where it was written."""
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", None)
    if not name.isidentifier() or name != getattr(function, "__qualname__", ""):
        return False
    elsewhere = function if module == "__main__" else None  # a cell may be run by something else
    return getattr(sys.modules.get(module), name, elsewhere) is function
