"""Whatever holds numbers, read and checked as NumPy arrays; torch is never imported here."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def to_array(values: Any) -> np.ndarray:
    """Turn an array, a list or a tensor (with or without gradient, on any device) into NumPy.

    bfloat16, which NumPy lacks, becomes float32.
    """
    if hasattr(values, "detach"):  # a torch tensor
        values = values.detach().cpu()
        values = values.float() if "bfloat16" in str(values.dtype) else values
        return values.numpy()
    return np.asarray(values)


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


def read_numbers(weights: Any, hidden: Any, dims: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return weights as floats, and a boolean array of the cells that show no number.

    Args:
        weights: array, list or tensor.
        hidden: as for ``hidden_cells``.
        dims: what its dimensions are, for the words of a refusal.

    Raises:
        TypeError: ``weights`` holds something other than real numbers.
        ValueError: it has other dimensions or is empty, or ``hidden`` does not fit it.
    """
    values = to_array(weights)
    if values.dtype.kind not in "biuf":
        got = values.dtype if values.dtype.kind != "O" else type(weights).__name__
        raise TypeError(f"weights must be an array of real numbers, got {got}")
    if values.ndim != len(dims) or values.size == 0:
        raise ValueError(f"weights must have shape ({', '.join(dims)}), got {values.shape}")
    values = values.astype(float)
    return values, np.broadcast_to(hidden_cells(values, hidden), values.shape)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Write a table as lines: the first column begins on the left, all others end on the right.

    >>> aligned([["", "a", "b"], ["row", "10", "2"]])
    ['     a b', 'row 10 2']
    """
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [" ".join([row[0].ljust(first), *map(str.rjust, row[1:], others)]) for row in rows]


def check_labels(expected: int, **labels: Sequence[str]) -> None:
    """Refuse labels that are not as many as expected."""
    for name, found in labels.items():
        if not hasattr(found, "__len__"):
            raise TypeError(f"{name} must be a sequence of labels, got {type(found).__name__}")
        if len(found) != expected:
            raise ValueError(f"{name} must hold {expected} labels, got {len(found)}")
