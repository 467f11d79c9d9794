"""Refuse bad sizes, numbers, flags, choices and classes, without needing torch.

Every check returns what it let through. Sizes and numbers come back as Python's own, since
NumPy's, which are as welcome, overflow without a word and are refused by some functions of torch:
``d, hidden = check_sizes(d=d, hidden=hidden)``.
"""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TypeVar

Kind = TypeVar("Kind")


def check_size(name: str, value: int, minimum: int = 1) -> int:
    """Refuse anything but an integer of at least ``minimum``; return it as Python's ``int``."""
    if type(value).__name__ == "SymInt":  # a length that torch.export leaves open
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r} ({type(value).__name__})")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return int(value)


def check_sizes(**sizes: int) -> tuple[int, ...]:
    """Refuse any size that is not an integer of at least 1; return them in the order given."""
    return tuple(check_size(name, value) for name, value in sizes.items())


def check_number(name: str, value: float, low: float = -math.inf, high: float = math.inf) -> float:
    """Refuse anything but a finite number in [low, high); return it as Python's ``float``."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r} ({type(value).__name__})")
    if not (low <= value < high and math.isfinite(value)):
        unbounded = (low, high) == (-math.inf, math.inf)
        expected = "a finite number" if unbounded else f"in [{low:g}, {high:g})"
        raise ValueError(f"{name} must be {expected}, got {value}")
    return float(value)


def check_positive(**numbers: float) -> tuple[float, ...]:
    """Refuse any number that is not finite and above 0; return them in the order given."""
    for name, value in numbers.items():
        check_number(name, value)
        if value <= 0:
            raise ValueError(f"{name} must be above 0, got {value}")
    return tuple(map(float, numbers.values()))


def check_dropout(value: float, name: str = "dropout") -> float:
    """Refuse a dropout probability outside [0, 1): at 1 nothing would be left to rescale."""
    return check_number(name, value, 0, 1)


def check_flag(name: str, value: bool) -> bool:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r} ({type(value).__name__})")
    return value


def check_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Refuse a value that is not one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def check_instance(name: str, value: Kind, kind: type[Kind]) -> Kind:
    """Refuse anything but an instance of a class."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}")
    return value


def check_divisible(**sizes: int) -> tuple[int, int]:
    """Refuse two sizes of which the second does not divide the first; return both."""
    size, parts = check_sizes(**sizes)
    if size % parts:
        name, parts_name = sizes
        raise ValueError(
            f"{name} must be divisible by {parts_name}, got {name}={size} and {parts_name}={parts}"
        )
    return size, parts


def check_heads(d_out: int, num_heads: int) -> tuple[int, int]:
    """Refuse a width that ``num_heads`` heads cannot share equally; return both."""
    return check_divisible(d_out=d_out, num_heads=num_heads)
