"""Whatever holds numbers, as a NumPy array; torch itself is never imported here."""

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
