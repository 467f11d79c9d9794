"""Which tokens are text, and which are padding: as a mask says it, or as it can be seen."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from chapter3_helpers._figures.arrays import to_array
from chapter3_helpers._language import in_a_row, say

EQUAL = 0.01  # of the largest weight of a row; what differs by less is the same


def text_of_mask(attention_mask: Any, S: int, generated: bool) -> torch.Tensor:
    """Read a mask as ``transformers`` has it, 1 for text and 0 for padding: (S,) or (1, S).

    What was generated is text: its part may be left out of the mask, or have one token more.

    >>> text_of_mask([[0, 1, 1]], S=4, generated=True).tolist()
    [False, True, True, True]
    """
    mask = to_array(attention_mask)
    if mask.ndim == 2 and len(mask) == 1:
        (mask,) = mask
    if mask.ndim != 1:
        shape = tuple(np.shape(mask))
        raise ValueError(
            f"attention_mask must be that of one text, (S,) or (1, S), got {shape}: of several "
            "texts pass attention_mask[:1]"
        )
    if mask.dtype.kind not in "biuf" or not np.isin(mask, (0, 1)).all():
        raise ValueError("attention_mask must hold 1 for text and 0 for padding, and nothing else")
    given = len(mask)
    if generated:
        mask = np.concatenate([mask, np.ones(max(0, S - given))])[:S]
    if len(mask) != S or given > S + generated:
        raise ValueError(f"attention_mask must be {S}, one for each key, got {given}")
    if not mask.any():
        raise ValueError("attention_mask must leave some text, all of it is 0")
    return torch.from_numpy(mask.astype(bool))


def rows_of_padding(layers: Sequence[torch.Tensor], first: int) -> torch.Tensor:
    """Return which rows look like those of padding, in layers (H, R, S): (R,).

    In every head of every layer they hold no number, or the same on every key, as softmax has it
    where all keys are hidden. In a model that hides the future the last row may be even by itself.
    There the first rows are those of padding, too, if they look at later tokens and no later row
    looks at theirs: so it is where a finite constant hides all keys of a row.
    """
    ahead = torch.stack([torch.triu(layer, first + 1).any(-1).any(0) for layer in layers]).any(0)
    text = len(ahead) - int(ahead.flip(0).int().argmax()) if ahead.any() else 0  # where it begins
    if 0 < text < len(ahead) - 1 and not any(w[:, text:, : first + text].any() for w in layers):
        return torch.arange(len(ahead)) < text
    even = torch.stack([_even(layer) for layer in layers]).all(0)
    if even.all():  # so is every head of this model
        return torch.zeros_like(even)
    if not looks_ahead(layers, first, ~even):
        empty = torch.stack([(layer.nan_to_num() == 0).all(-1).all(0) for layer in layers]).all(0)
        even[-1] &= empty[-1]
    elif sum(map(len, layers)) == 1:  # one head may well be even somewhere
        return torch.zeros_like(even)
    return even


def _even(weights: torch.Tensor) -> torch.Tensor:
    """Return in which rows of (H, R, S) all weights are NaN, or the same, (R,)."""
    known = weights.nan_to_num()
    largest = known.amax(-1)
    same = largest - known.amin(-1) <= EQUAL * largest
    return (torch.where(weights.isnan().any(-1), weights.isnan().all(-1), same)).all(0)


def looks_ahead(layers: Sequence[torch.Tensor], first: int, rows: torch.Tensor) -> bool:
    """Return whether some of the rows (R,) look at later tokens, in layers (H, R, S); ``first`` is
    the place of the first row's token."""
    return any(bool(torch.triu(layer, first + 1)[:, rows].any()) for layer in layers)


def spans(places: Sequence[int]) -> str:
    """Return places as they stand in a sentence.

    >>> spans([0, 1, 2, 7])
    '0 to 2 and 7'
    """
    parts: list[list[int]] = []
    for place in places:
        if parts and place == parts[-1][-1] + 1:
            parts[-1].append(place)
        else:
            parts.append([place])
    return in_a_row(
        [
            str(first) if not others else say("{first} to {last}", first=first, last=others[-1])
            for first, *others in parts
        ]
    )
