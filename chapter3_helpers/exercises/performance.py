"""The exercises of ``13_performance``."""

from fractions import Fraction

import torch

from chapter3_helpers.exercises import Exercise, drawn

ONE_TOKEN = Exercise(
    name="13a",
    solution=lambda: Fraction(2, 4),  # exact
    misconceptions={
        "That is operations for each number. In float32 a number has four bytes.": lambda: 2.0,
        "A multiplication and an addition: two operations for each weight.": lambda: 0.25,
        "That would be true of weights of two bytes; in float32 they have four.": lambda: 1.0,
    },
)


def _least_seconds(flops, moved, flops_per_second, bytes_per_second):
    return max(flops / flops_per_second, moved / bytes_per_second)


LEAST_SECONDS = Exercise(
    name="13b",
    solution=_least_seconds,
    # the longer time goes with the larger of the first two and the smaller of the last two numbers;
    # then with one of these, and with none
    cases=(
        *((6e9, 2e9, 3e9, 4e9), (1e9, 8e9, 5e9, 2e9)),
        *((6e9, 2e9, 30e9, 1e9), (2e9, 6e9, 1e9, 30e9)),
        *((20e9, 1e9, 5e9, 2e9), (3e9, 7e9, 2e9, 5e9)),
    ),
    misconceptions={
        "That is the shorter of the two times, as if nothing waited for the slower part.": (
            lambda f, m, fast, wide: min(f / fast, m / wide)
        ),
        "That is the sum. Processor and memory work at the same time, so at best the shorter "
        "time hides behind the longer.": (lambda f, m, fast, wide: f / fast + m / wide),
        "You ask which number is larger, operations or bytes. What counts is how long each takes: "
        "compare the two times.": lambda f, m, fast, wide: f / fast if f > m else m / wide,
        "You ask which of the machine's two limits is lower. The step may need little of it: "
        "compare the two times.": lambda f, m, fast, wide: f / fast if fast < wide else m / wide,
        "That is operations per second, not seconds.": (
            lambda f, m, fast, wide: min(fast, f / m * wide)
        ),
    },
)


Half = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _half(seed: int, shift: float | torch.Tensor = 0.0) -> Half:
    """Attend to some keys; return the largest score, the sum and the undivided output."""
    S = 3 + seed % 2 * 2  # a half has three keys, the other five
    scores = 3 * drawn(2, S, seed=seed) + shift
    values = drawn(S, 4, seed=100 + seed)
    largest = scores.amax(dim=-1, keepdim=True)
    exponentials = (scores - largest).exp()
    return largest, exponentials.sum(dim=-1, keepdim=True), exponentials @ values


def _weigh(largest: torch.Tensor, part: int, first: Half, second: Half) -> torch.Tensor:
    """Add sums (part 1) or outputs (part 2), each measured from this largest score."""
    return sum((half[0] - largest).exp() * half[part] for half in (first, second))


def _merge(first: Half, second: Half) -> torch.Tensor:
    largest = torch.maximum(first[0], second[0])
    return _weigh(largest, 2, first, second) / _weigh(largest, 1, first, second)


def _merge_by_one_largest(first: Half, second: Half) -> torch.Tensor:
    largest = torch.maximum(first[0], second[0]).max()  # of all rows together
    return _weigh(largest, 2, first, second) / _weigh(largest, 1, first, second)


FAR_ROWS = torch.tensor([[0.0], [200.0]])  # scores near 0 in one row, near 200 in the next

MERGE = Exercise(
    name="13c",
    solution=_merge,
    cases=(
        *((_half(1), _half(2)), (_half(3), _half(4)), (_half(5), _half(6))),
        *((_half(7, 200), _half(8, 200)), (_half(9), _half(10, 200)), (_half(11, 200), _half(12))),
        *((_half(13, FAR_ROWS), _half(14, FAR_ROWS)), (_half(15, -200), _half(16, -200))),
    ),
    misconceptions={
        "One largest score for all rows: where a row's scores are far below it, all exponentials "
        "are 0. Each row needs the larger of its own two.": _merge_by_one_largest,
        "Large scores overflow: e to the power of 200 is no float32. Measure both largest scores "
        "from the larger of the two, and no exponent is above 0.": (
            lambda *halves: _weigh(0, 2, *halves) / _weigh(0, 1, *halves)
        ),
        "You added sums that were taken relative to different largest scores. First shrink both "
        "to the larger of the two.": lambda a, b: (a[2] + b[2]) / (a[1] + b[1]),
        "You averaged two finished answers. The half with the larger scores deserves the larger "
        "share.": lambda a, b: (a[2] / a[1] + b[2] / b[1]) / 2,
        "Not divided yet: the weights of a row have to sum to 1.": (
            lambda a, b: _weigh(torch.maximum(a[0], b[0]), 2, a, b)
        ),
        "You shrank the outputs, but not the sums below them.": (
            lambda a, b: _weigh(torch.maximum(a[0], b[0]), 2, a, b) / (a[1] + b[1])
        ),
    },
)


EQUAL_SHARES = Exercise(
    name="13d",
    solution=lambda width: 4 * width - 1,
    cases=((768,), (12288,), (10,)),
    misconceptions={
        "That is for all T * T scores. The mask leaves T * (T + 1) / 2, and a fused kernel may "
        "skip the others.": lambda width: 2 * width,
        "T (T + 1) / 2 scores are visible, not T * T / 2: the diagonal counts whole.": (
            lambda width: 4 * width
        ),
        "out_proj is missing: four square matrices are applied to every token, not three.": (
            lambda width: 3 * width - 1
        ),
        "Each visible score costs twice, 2 * head_dim operations to compare and as many to mix.": (
            lambda width: 8 * width - 1
        ),
    },
)
