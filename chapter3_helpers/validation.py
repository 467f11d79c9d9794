"""Checks of arguments: one style of message for the whole package.

Every message names the argument, says what was expected, and shows what came:
``num_heads must be at least 1, got 0``. A value of the wrong type raises ``TypeError``,
anything else ``ValueError``.
"""

import math
from collections.abc import Sequence

import torch


def check_size(name: str, value: int, minimum: int = 1) -> None:
    """Refuse anything but an integer of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, got {value!r} ({type(value).__name__})")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")


def check_sizes(**sizes: int) -> None:
    """Refuse any size that is not an integer of at least 1."""
    for name, value in sizes.items():
        check_size(name, value)


def check_number(name: str, value: float, low: float = -math.inf, high: float = math.inf) -> None:
    """Refuse anything but a finite number in the half-open range [low, high)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, got {value!r} ({type(value).__name__})")
    if not (math.isfinite(value) and low <= value < high):
        raise ValueError(f"{name} must be in [{low:g}, {high:g}), got {value}")


def check_dropout(value: float, name: str = "dropout") -> None:
    """Refuse a dropout probability outside [0, 1): at 1 nothing would be left to rescale."""
    check_number(name, value, 0, 1)


def check_flag(name: str, value: bool) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r} ({type(value).__name__})")


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is not one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_heads(d_out: int, num_heads: int) -> None:
    """Refuse a width that ``num_heads`` heads cannot share equally."""
    check_sizes(d_out=d_out, num_heads=num_heads)
    if d_out % num_heads:
        raise ValueError(
            f"d_out must be divisible by num_heads, got d_out={d_out} and num_heads={num_heads}"
        )


def check_tensor(
    name: str, value: torch.Tensor, dims: tuple[int, ...] | None = None, form: str = ""
) -> None:
    """Refuse anything but a non-empty floating-point tensor.

    ``dims`` lists the numbers of dimensions that are allowed (None: two or more);
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


def check_input(x: torch.Tensor, d_in: int, context_length: int | None = None) -> None:
    """Refuse what an attention module cannot read.

    Expected is a floating-point tensor of shape (T, d_in) or (B, T, d_in) with T no longer
    than ``context_length``.
    """
    check_tensor("x", x, dims=(2, 3), form="(T, d_in) or (B, T, d_in)")
    if x.shape[-1] != d_in:
        raise ValueError(f"the last dimension of x must be d_in={d_in}, got {x.shape[-1]}")
    if context_length is not None and x.shape[-2] > context_length:
        raise ValueError(
            f"x must hold at most context_length={context_length} tokens, got {x.shape[-2]}"
        )


def check_square(name: str, value: torch.Tensor) -> None:
    """Refuse anything but a floating-point tensor of shape (..., T, T)."""
    check_tensor(name, value, form="(..., T, T)")
    if value.shape[-1] != value.shape[-2]:
        raise ValueError(f"{name} must have shape (..., T, T), got {tuple(value.shape)}")
