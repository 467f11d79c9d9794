"""Refuse bad tensors, in one style of message for the whole package.

Every message names the argument, says what was expected, and shows what came:
``num_heads must be at least 1, got 0``. A value of the wrong type raises ``TypeError``,
anything else ``ValueError``.
"""

from collections.abc import Container

import torch
from torch import nn


def check_tensor(
    name: str, value: torch.Tensor, dims: Container[int] | None = None, form: str = ""
) -> None:
    """Refuse anything but a non-empty floating-point tensor.

    ``dims`` holds the numbers of dimensions that are allowed (None: two or more);
    ``form`` says them in words, ``(T, d_in) or (B, T, d_in)``.
    """
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
    if value.dim() < 2 if dims is None else value.dim() not in dims:
        expected = form or "(..., T, d_in)"
        raise ValueError(
            f"{name} must have shape {expected}, got {value.dim()} dimension(s): "
            f"{tuple(value.shape)}"
        )
    if value.numel() == 0:
        raise ValueError(f"{name} must not be empty, got shape {tuple(value.shape)}")
    if not value.is_floating_point():
        raise ValueError(f"{name} must be a floating-point tensor, got {value.dtype}")


def check_input(
    name: str,
    x: torch.Tensor,
    module: nn.Module,
    dims: Container[int] | None = (2, 3),
    form: str = "(T, {width}) or (B, T, {width})",
) -> torch.Tensor:
    """Refuse what a module of a lesson cannot read.

    Expected is a floating-point tensor (T, width) or (B, T, width). Its width is the module's
    ``d_in`` or ``d``; T is at most its ``context_length`` or ``max_length``, unless that is None or
    there is none. Dtype and device are those of the module's weights.
    """
    width = "d_in" if hasattr(module, "d_in") else "d"
    longest = "max_length" if hasattr(module, "max_length") else "context_length"
    size, most = getattr(module, width), getattr(module, longest, None)
    check_tensor(name, x, dims=dims, form=form.format(width=width))
    if x.shape[-1] != size:
        raise ValueError(f"the last dimension of {name} must be {width}={size}, got {x.shape[-1]}")
    if most is not None and x.shape[-2] > most:
        raise ValueError(f"{name} must hold at most {longest}={most} tokens, got {x.shape[-2]}")
    check_dtype(x, module)
    return x


def check_dtype(x: torch.Tensor, module: nn.Module) -> None:
    """Refuse tokens of another dtype than a module's weights, or on another device.

    Autocast converts all dtypes but float64, so under it the others may differ. A layer that has
    replaced another may have weights of several dtypes, or none.
    """
    weights = [weight for weight in module.parameters() if weight.is_floating_point()]
    if not weights or any((x.dtype, x.device) == (w.dtype, w.device) for w in weights):
        return
    weight = weights[0]
    if x.device != weight.device or not (autocast_converts(x) and autocast_converts(weight)):
        raise ValueError(
            f"x must be {weight.dtype} on {weight.device}, as the weights are, "
            f"got {x.dtype} on {x.device}"
        )


def autocast_converts(x: torch.Tensor) -> bool:
    """Return whether autocast is on and changes the dtype of a tensor that a linear layer reads."""
    kind = x.device.type  # "meta" has no autocast, and torch raises if it is asked
    return kind != "meta" and torch.is_autocast_enabled(kind) and x.dtype != torch.float64


def check_square(name: str, value: torch.Tensor) -> None:
    """Refuse anything but a floating-point tensor of shape (..., T, T)."""
    check_tensor(name, value, form="(..., T, T)")
    if value.shape[-1] != value.shape[-2]:
        raise ValueError(f"{name} must have shape (..., T, T), got {tuple(value.shape)}")


def check_ids(
    name: str,
    value: torch.Tensor,
    vocab_size: int,
    context_length: int | None = None,
    dims: Container[int] = (1, 2),
    form: str = "(T,) or (B, T)",
) -> torch.Tensor:
    """Refuse anything but a non-empty tensor of token ids, integers in [0, vocab_size).

    ``dims`` holds the numbers of dimensions that are allowed; ``form`` says them in words.
    Values are looked at on the CPU alone: a GPU would have to finish its work first. There the
    lookup in the embedding asserts by itself, and without waiting, that no id is out of range.
    """
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
    if value.dim() not in dims or value.numel() == 0:
        raise ValueError(f"{name} must have shape {form}, not empty, got {tuple(value.shape)}")
    if value.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"{name} must be an integer tensor, got {value.dtype} (int64 and int32 will do)"
        )
    if context_length is not None and value.shape[-1] > context_length:
        raise ValueError(
            f"{name} must hold at most context_length={context_length} tokens, "
            f"got {value.shape[-1]}"
        )
    if value.device.type == "cpu" and not torch.compiler.is_compiling():
        low, high = int(value.min()), int(value.max())
        if low < 0 or high >= vocab_size:
            raise ValueError(f"{name} must be in [0, {vocab_size}), got {low} to {high}")
    return value
