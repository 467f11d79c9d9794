"""Refuse bad sizes, numbers, flags and choices, without needing torch."""

import math
from collections.abc import Sequence
from numbers import Integral, Real


def check_size(name: str, value: int, minimum: int = 1) -> None:
    """Refuse anything but an integer of at least ``minimum``; NumPy's will do."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r} ({type(value).__name__})")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")


def check_sizes(**sizes: int) -> None:
    """Refuse any size that is not an integer of at least 1."""
    for name, value in sizes.items():
        check_size(name, value)


def check_number(name: str, value: float, low: float = -math.inf, high: float = math.inf) -> None:
    """Refuse anything but a finite number in the half-open range [low, high)."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r} ({type(value).__name__})")
    try:
        finite = math.isfinite(value)
    except OverflowError:  # an integer beyond the largest float
        finite = False
    if not (finite and low <= value < high):
        unbounded = (low, high) == (-math.inf, math.inf)
        expected = "a finite number" if unbounded else f"in [{low:g}, {high:g})"
        raise ValueError(f"{name} must be {expected}, got {value}")


def check_positive(**numbers: float) -> None:
    """Refuse any number that is not finite and above 0."""
    for name, value in numbers.items():
        check_number(name, value)
        if value <= 0:
            raise ValueError(f"{name} must be above 0, got {value}")


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
