"""What ``model_explorer`` takes for attention weights, and what it refuses, with what to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from chapter3_helpers._figures.arrays import to_array

ABOVE = 0.02  # what rounding to 16 bits may add to the sum of a row
EXPECTED = (
    "weights must be a sequence with a tensor (1, H, T, T) or (H, T, T) for each layer, one tensor "
    "(L, H, T, T), or the attentions that generate(..., output_attentions=True) returns"
)
NOT_THERE = (
    "weights hold no layer: call the model with output_attentions=True, and load it with "
    'attn_implementation="eager", since faster ways to compute attention return no weights'
)
SEVERAL = (
    "weights must be those of one text, got {texts}: pass one, as in [layer[:1] for layer in "
    "weights]; generate with num_beams=1"
)


@dataclass(frozen=True, eq=False)
class Reading:
    """The weights of every layer, and the tokens that they belong to."""

    layers: tuple[torch.Tensor, ...]  # (H, T, S) each, float32
    numbers: tuple[int, ...]  # the places of these layers in what was handed over
    tokens: tuple[str, ...]  # T, the queries
    keys: tuple[str, ...]  # S
    cross: bool  # whether the keys are the tokens of another text
    unread: tuple[str, ...]  # the token that was generated last: no row belongs to it

    @cached_property
    def causal(self) -> bool:
        """Whether no token looks at a later one."""
        later = (layer[:, i, i + 1 :] for layer in self.layers for i in range(len(self.tokens)))
        return not self.cross and not any(weights.any() for weights in later)


def read_weights(weights: Any, tokens: Sequence[str], keys: Sequence[str] | None = None) -> Reading:
    """Read attention weights in any of the forms that models return them in.

    Args:
        weights: see ``EXPECTED``.
        tokens: one for each query.
        keys: one for each key, where these are the tokens of another text.

    Raises:
        TypeError: these are no weights, or no tokens.
        ValueError: they do not go together, or are not the attention weights of one text.
    """
    queries, others = _names(tokens, "tokens"), None if keys is None else _names(keys, "keys")
    handed = _sequence(weights)
    generated = isinstance(handed[0], list | tuple)
    if generated:
        handed = _joined(handed, others)
    layers = {i: _layer(layer, i) for i, layer in enumerate(handed) if layer is not None}
    if not layers:
        raise ValueError(NOT_THERE)
    shapes = {tuple(layer.shape[1:]): i for i, layer in layers.items()}
    if len(shapes) > 1:
        said = ", ".join(f"{shape} in layer {i}" for shape, i in shapes.items())
        raise ValueError(f"all layers must have as many queries and keys, got {said}")
    ((T, S),) = shapes
    if others is None and T != S:
        raise ValueError(
            f"weights have {T} queries and {S} keys: for attention to another text, pass the "
            "tokens of that text as keys"
        )
    if len(queries) not in ((T, T + 1) if generated else (T,)):
        raise ValueError(f"tokens must be {T}, one for each row of weights, got {len(queries)}")
    if others is not None and len(others) != S:
        raise ValueError(f"keys must be {S}, one for each column of weights, got {len(others)}")
    read, unread = queries[:T], queries[T:]
    tensors, numbers = tuple(layers.values()), tuple(layers)
    return Reading(tensors, numbers, read, others or read, others is not None, unread)


def _sequence(weights: Any) -> list[Any]:
    """Return what was handed over as a sequence of layers, or of steps."""
    if weights is None:
        raise ValueError(NOT_THERE)
    if hasattr(weights, "attentions"):  # what a model of transformers returns as a whole
        raise TypeError(f"{EXPECTED}, got {type(weights).__name__}: pass its attentions")
    if isinstance(weights, list | tuple):
        if not weights:
            raise ValueError(NOT_THERE)
        return list(weights)
    if isinstance(weights, torch.Tensor | np.ndarray):
        # (L, 1, H, T, T), as torch.stack makes it, and (L, H, T, T); or one layer, or one head
        return list(weights) if weights.ndim in (4, 5) else [weights]
    raise TypeError(f"{EXPECTED}, got {type(weights).__name__}")


def _layer(layer: Any, number: int) -> torch.Tensor:
    """Return the weights of one layer as (H, T, S), or refuse them."""
    where = f"layer {number}"
    if not isinstance(layer, torch.Tensor | np.ndarray):
        raise TypeError(f"{EXPECTED}, got {type(layer).__name__} for {where}")
    if getattr(layer, "is_meta", False):
        raise ValueError(
            f"weights must hold numbers, {where} is on the meta device, without any: load the "
            "model's weights onto a device that computes, such as cpu"
        )
    if layer.ndim == 4 and len(layer) > 1:
        raise ValueError(SEVERAL.format(texts=f"{len(layer)} in {where}"))
    if layer.ndim not in (2, 3, 4) or not all(layer.shape):
        raise ValueError(f"{EXPECTED}, got {tuple(layer.shape)} for {where}")
    array = to_array(layer)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"weights must be real numbers, got {array.dtype} for {where}")
    read = torch.from_numpy(array.astype(np.float32, copy=False))
    read = read.reshape(-1, *read.shape[-2:])  # (H, T, S)
    sums = read.sum(dim=-1)  # (H, T)
    if not sums.isfinite().all():
        head, row = (~sums.isfinite()).nonzero()[0].tolist()
        raise ValueError(
            f"weights must be numbers, {where}, head {head}, row {row} holds NaN or an infinity: "
            "were all its keys hidden, by padding say? Pass a text without padding"
        )
    if read.min() < 0:
        raise ValueError(
            f"weights must be at least 0, {where} has {read.min():.3g}: were scores passed?"
        )
    if sums.max() > 1 + ABOVE:
        raise ValueError(
            f"a row of weights must sum to at most 1, one of {where} sums to {sums.max():.3f}: "
            "call eval() on the model first, since dropout makes weights larger; or were scores "
            "passed?"
        )
    return read


def _joined(steps: Sequence[Any], keys: Sequence[str] | None) -> list[torch.Tensor | None]:
    """Return what was generated step by step, the prompt first, as one matrix for each head."""
    if not all(isinstance(step, list | tuple) and len(step) == len(steps[0]) for step in steps):
        raise ValueError("each step that was generated must hold the same number of layers")
    return [_joined_layer([step[i] for step in steps], i, keys) for i in range(len(steps[0]))]


def _joined_layer(
    steps: Sequence[Any], number: int, keys: Sequence[str] | None
) -> torch.Tensor | None:
    if all(step is None for step in steps):
        return None
    for step in steps:
        if not isinstance(step, torch.Tensor) or step.ndim != 4:
            raise TypeError(f"{EXPECTED}, got a step with {type(step).__name__} for layer {number}")
        if len(step) > 1:
            raise ValueError(SEVERAL.format(texts=f"{len(step)} in layer {number}"))
    rows = sum(step.shape[2] for step in steps)
    width = rows if keys is None else len(keys)
    joined, done = steps[0].new_zeros(steps[0].shape[1], rows, width), 0
    for step in steps:
        end = done + step.shape[2]
        seen = end if keys is None else width  # how many keys there were at this step
        if step.shape[3] < seen:
            raise ValueError(
                f"layer {number} holds {step.shape[3]} keys at a step with {seen} tokens: it "
                "forgets older ones. Pass the text to the model once more, in one call"
            )
        if step[..., seen:].any():
            raise ValueError(
                f"layer {number} has weights on {step.shape[3]} keys at a step with {seen} tokens: "
                "for attention to another text, pass its tokens as keys"
            )
        joined[:, done:end, :seen] = step[0, ..., :seen].to(joined)
        done = end
    return joined


def _names(tokens: Sequence[str], name: str) -> tuple[str, ...]:
    if not isinstance(tokens, str | list | tuple) or not all(isinstance(t, str) for t in tokens):
        raise TypeError(
            f"{name} must be a list of texts, as tokenizer.convert_ids_to_tokens(ids) returns, "
            f"got {type(tokens).__name__}: {tokens!r:.60}"
        )
    return tuple(tokens)
