"""Refuse bad texts, token ids and weights; NumPy is all that is needed.

Every check returns what it let through.
"""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def check_text(name: str, text: str, alphabet: str) -> str:
    """Refuse anything but a string of at least one character, all of them in ``alphabet``."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a string, got {type(text).__name__}")
    if not text:
        raise ValueError(f"{name} must hold at least one character, got ''")
    if strangers := text.strip(alphabet):  # starts with the first of them
        allowed = " and ".join(alphabet)
        raise ValueError(f"{name} must hold only {allowed}, got {strangers[0]!r} in {text!r}")
    return text


def check_token_ids(ids: Sequence[int], alphabet: str, most: int | None = None) -> list[int]:
    """Refuse anything but a sequence of places in ``alphabet``; return them as Python's ``int``.

    Where ``most`` is given, refuse an empty sequence and a longer one.
    """
    try:
        checked = [operator.index(token) for token in ids]
    except TypeError as error:
        raise TypeError(f"ids must be a sequence of integers, got {ids!r}") from error
    for token in checked:
        if token not in range(len(alphabet)):
            allowed = " or ".join(f"{i} ({letter})" for i, letter in enumerate(alphabet))
            raise ValueError(f"ids must be {allowed}, got {token}")
    if most is not None and not 0 < len(checked) <= most:
        raise ValueError(f"ids must hold 1 to {most} tokens, got {len(checked)}")
    return checked


def check_weights(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Refuse another shape and what is no number; return a read-only copy in float64."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array of numbers, got {value!r}") from error
    if array.shape != shape or array.size == 0:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    array.setflags(write=False)
    return array


def check_past(past: Mapping[str, np.ndarray] | None, d: int, context_length: int) -> None:
    """Refuse a cache without keys and values of shape (t, d), or a full one."""
    if past is None:
        return
    if not isinstance(past, Mapping) or not {"keys", "values"} <= past.keys():
        raise TypeError(f"past must be a mapping with keys and values, got {past!r}")
    keys, values = np.shape(past["keys"]), np.shape(past["values"])
    if keys != values or len(keys) != 2 or keys[1] != d:
        raise ValueError(
            f"past must hold keys and values of shape (t, {d}), got {keys} and {values}"
        )
    if keys[0] >= context_length:
        raise ValueError(f"past must hold fewer than {context_length} tokens, got {keys[0]}")
