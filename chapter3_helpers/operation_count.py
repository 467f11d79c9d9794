"""Count the floating-point operations that NumPy performs, while it performs them.

Taught in ``10_handmade_transformer``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chapter3_helpers.handmade_transformer import MODEL, HandmadeTransformer, forward


def watch_operations(
    arrays: Mapping[str, np.ndarray],
) -> tuple[dict[str, np.ndarray], Counter[str]]:
    """Make views of arrays that report every operation on them, or on what is computed from them.

    A matrix product (n, k) @ (k, m) counts 2 n k m: as many multiplications as additions. Folding
    k numbers into one, by sum or maximum, counts k - 1; anything else one for each result.

    Args:
        arrays: the arrays by name.

    Returns:
        The views by the same names, and the counts so far by NumPy's name of the operation.

    >>> watched, counts = watch_operations({"x": np.ones((2, 3))})
    >>> y = (watched["x"] @ np.ones((3, 5))).sum()
    >>> dict(counts)
    {'matmul': 60, 'add': 9}

    Taught in ``10_handmade_transformer``.
    """
    counts: Counter[str] = Counter()

    class Watched(np.ndarray):
        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
            inputs = tuple(np.asarray(value) for value in inputs)
            if "out" in kwargs:
                kwargs["out"] = tuple(np.asarray(value) for value in kwargs["out"])
            result = np.asarray(getattr(ufunc, method)(*inputs, **kwargs))
            if ufunc is np.matmul:
                counts["matmul"] += 2 * inputs[0].shape[-1] * result.size
            elif method == "reduce":
                counts[ufunc.__name__] += inputs[0].size - result.size
            else:
                counts[ufunc.__name__] += result.size
            return result.view(Watched)

    return {name: np.asarray(array).view(Watched) for name, array in arrays.items()}, counts


def count_operations(
    ids: Sequence[int],
    model: HandmadeTransformer = MODEL,
    past: Mapping[str, np.ndarray] | None = None,
) -> dict[str, int]:
    """Count the floating-point operations of ``forward`` while it runs.

    Args:
        ids, model, past: as ``forward``.

    Returns:
        The number of operations by NumPy's name of each.

    Raises:
        TypeError, ValueError: as ``forward``.

    >>> count_operations([0])["exp"]  # one token: a softmax over one score
    1
    """
    watched, counts = watch_operations(model.weights())
    model = replace(model, **watched)
    counts.clear()  # the checks of the new model are not part of the count
    forward(ids, model, past)
    return dict(counts)
