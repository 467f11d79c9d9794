"""Whatever holds numbers, read and checked as NumPy arrays; torch is never imported here."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np


def to_array(values: Any) -> np.ndarray:
    """Turn an array, a list or a tensor (with or without gradient, on any device) into NumPy.

    bfloat16 and other types that NumPy lacks become float32. A list may hold tensors.
    """
    if isinstance(values, list | tuple):
        return np.asarray([to_array(v) if _holds_tensors(v) else v for v in values])
    if hasattr(values, "detach"):  # a torch tensor
        values = values.detach().cpu().to_dense().resolve_conj().resolve_neg()
        try:
            return values.numpy()
        except TypeError:
            return values.float().numpy()
    return np.asarray(values)


def _holds_tensors(values: Any) -> bool:
    return hasattr(values, "detach") or isinstance(values, list | tuple)


def to_floats(values: Any, name: str) -> np.ndarray:
    """Turn real numbers into floats; of complex ones the imaginary part would go without a word."""
    array = to_array(values)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be real numbers, got {array.dtype}")
    return array.astype(float)


def hidden_cells(values: np.ndarray, hidden: Any = None) -> np.ndarray:
    """Return which cells of (..., rows, columns) show no number: -inf, NaN, and those of a mask.

    Args:
        values: the numbers; +inf is one of them.
        hidden: boolean (rows, columns) or of the shape of ``values``, True where a cell is hidden.

    Raises:
        ValueError: ``hidden`` has another shape.
    """
    hide = np.isnan(values) | np.isneginf(values)
    if hidden is None:
        return hide
    hidden = to_array(hidden).astype(bool)
    fitting = dict.fromkeys((values.shape[-2:], values.shape))
    if hidden.shape not in fitting:
        expected = " or ".join(map(str, fitting))
        raise ValueError(f"hidden must have shape {expected}, got {hidden.shape}")
    return hide | hidden


def farthest_from_zero(values: np.ndarray, hide: np.ndarray) -> float:
    """Return the size of the largest finite number that is shown; 1 where there is none but 0."""
    return float(np.abs(values[np.isfinite(values) & ~hide]).max(initial=0.0)) or 1.0


def size_of(*arrays: np.ndarray) -> float:
    """Return ``farthest_from_zero`` of all numbers of some arrays."""
    numbers = np.concatenate([np.ravel(array) for array in arrays])
    return farthest_from_zero(numbers, np.isnan(numbers))


def coarse(values: np.ndarray, hide: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix of at most so many rows and columns, and which of its cells are hidden.

    A cell stands for a block of numbers: the one of them that is farthest from zero. It is hidden
    where all of them are.

    >>> coarse(np.array([[0.1, -0.4, 0.2]]), np.array([[False, False, True]]), most=2)[0].tolist()
    [[0.1, -0.4]]
    """
    shown = np.where(hide, 0.0, values)
    for axis, count in enumerate(values.shape):
        if count > most:
            starts = np.arange(most) * count // most
            low, high = (each.reduceat(shown, starts, axis) for each in (np.minimum, np.maximum))
            shown = np.where(high >= -low, high, low)
            hide = np.logical_and.reduceat(hide, starts, axis)
    return shown, hide


def check_labels(expected: int, **labels: Sequence[str]) -> None:
    """Refuse labels that are not as many as expected."""
    for name, texts in labels.items():
        if len(texts) != expected:
            raise ValueError(f"{name} must hold {expected} labels, got {len(texts)}")


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number that is at least so large, or refuse it."""
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)
