"""Checks stand at the edge: around a function or a class of a lesson, never inside it."""

import functools
import threading
from collections.abc import Callable
from typing import Any


class _Edge(threading.local):
    """Whether this thread is inside a method whose arguments have been checked."""

    inside = False


edge = _Edge()


def checked_by(check: Callable[..., Any]) -> Callable[[Callable], Callable]:
    """Let ``check`` refuse bad arguments before a function runs; both take the same ones.

    Inside a method of a ``checked`` class nothing is checked again.

    >>> def check(text):
    ...     if not text:
    ...         raise ValueError("text must hold at least one character, got ''")
    >>> @checked_by(check)
    ... def first(text):
    ...     return text[0]
    >>> first("attention")
    'a'
    """

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not edge.inside:
                check(*args, **kwargs)
            return function(*args, **kwargs)

        return call

    return decorate
