"""The exercises of ``08_positions``."""

import torch

from chapter3_helpers.exercises import Exercise

MASK_ALONE = Exercise(
    name="08a",
    # Which of "the oven cooked the bread so" has the same context when oven and bread swap?
    solution=lambda: torch.tensor([True, False, False, False, False, True]),
    misconceptions={
        "Something must change: position 1 holds another word in the second sentence, and with the "
        "mask position 2 sees oven before it in one and bread in the other.": (
            lambda: torch.tensor([True] * 6)
        ),
        "The mask says which tokens come before, not in which order they do. The last position "
        "sees the same six words in both sentences.": (
            lambda: torch.tensor([True, False, False, False, False, False])
        ),
        "Equal words have equal vectors, but not equal contexts: under the mask they see what "
        "stands before them, and at positions 2 and 3 that differs.": (
            lambda: torch.tensor([True, False, True, True, False, True])
        ),
    },
)


def _turn(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    a, b = x[..., 0], x[..., 1]
    cos, sin = torch.cos(angles), torch.sin(angles)
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)


def _turn_with_overwritten_number(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    a, b = x[..., 0], x[..., 1]
    cos, sin = torch.cos(angles), torch.sin(angles)
    a = a * cos - b * sin
    return torch.stack([a, a * sin + b * cos], dim=-1)


ROTATION = Exercise(
    name="08b",
    solution=_turn,
    cases=(
        (torch.tensor([[1.0, 0.0], [0.5, 2.0], [-1.5, 0.3]]), torch.tensor([0.0, 1.0, 2.0])),
        (torch.arange(40.0).reshape(4, 5, 2) / 10, torch.tensor([0.3, -0.6, 9.0, 0.0, 1.2])),
    ),
    misconceptions={
        "You turn clockwise. Positive angles turn counterclockwise: (1, 0) goes towards (0, 1).": (
            lambda x, angles: _turn(x, -angles)
        ),
        "Your second number is computed from the first one after that was turned. Both need the "
        "numbers from before the rotation.": _turn_with_overwritten_number,
        "You multiply the first number by the cosine and the second by the sine. A rotation mixes "
        "them: each of the two results needs both numbers.": (
            lambda x, angles: x * torch.stack([torch.cos(angles), torch.sin(angles)], dim=-1)
        ),
    },
)


def _neighbours(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.stack([first, second], dim=-1).flatten(start_dim=-2)


PAIRING = Exercise(
    name="08c",
    solution=_neighbours,
    cases=((torch.arange(24.0).reshape(4, 6),), (torch.arange(60.0).reshape(3, 2, 10),)),
    misconceptions={
        "That is the way back: it takes neighbours apart into two halves. Number k + D/2 has to "
        "come to stand beside number k.": (
            lambda x: torch.cat([x[..., 0::2], x[..., 1::2]], dim=-1)
        ),
        "Cutting the last dimension into pairs keeps neighbours together that were neighbours "
        "before; nothing has moved. A pair is k and k + D/2.": (
            lambda x: x.unflatten(-1, (-1, 2)).flatten(start_dim=-2)
        ),
    },
)
