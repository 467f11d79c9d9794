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


def check_labels(expected: int, **labels: Sequence[str]) -> None:
    """Refuse labels that are not as many as expected."""
    for name, found in labels.items():
        if len(found) != expected:
            raise ValueError(f"{name} must hold {expected} labels, got {len(found)}")
