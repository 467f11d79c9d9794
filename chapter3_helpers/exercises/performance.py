"""The exercises of ``12_performance``."""

from chapter3_helpers.exercises import Exercise


def _scores_bytes(batch: int, tokens: int, heads: int, bytes_per_number: int) -> int:
    return batch * heads * tokens * tokens * bytes_per_number


SCORES_MEMORY = Exercise(
    name="12a",
    solution=_scores_bytes,
    cases=((8, 1024, 12, 4), (1, 16384, 25, 2), (3, 7, 5, 8)),
    misconceptions={
        "That is one matrix for each sentence. Every head has scores of its own.": (
            lambda batch, tokens, heads, size: batch * tokens * tokens * size
        ),
        "That grows with T. Every query has a score for every key: T times T.": (
            lambda batch, tokens, heads, size: batch * heads * tokens * size
        ),
        "These are numbers, not bytes.": (
            lambda batch, tokens, heads, size: batch * heads * tokens * tokens
        ),
        "The mask hides the upper triangle, but a tensor has room for it all the same.": (
            lambda batch, tokens, heads, size: batch * heads * tokens * (tokens + 1) // 2 * size
        ),
    },
)


def _least_seconds(flops, moved, flops_per_second, bytes_per_second):
    return max(flops / flops_per_second, moved / bytes_per_second)


LEAST_SECONDS = Exercise(
    name="12b",
    solution=_least_seconds,
    cases=((6e9, 2e9, 3e9, 4e9), (1e9, 8e9, 5e9, 2e9), (7e9, 3e9, 2e9, 11e9)),
    misconceptions={
        "That is the shorter of the two times, as if nothing waited for the slower part.": (
            lambda flops, moved, fast, wide: min(flops / fast, moved / wide)
        ),
        "That is the sum. Processor and memory work at the same time, so at best the shorter "
        "time hides behind the longer.": (
            lambda flops, moved, fast, wide: flops / fast + moved / wide
        ),
        "That is operations per second, the height of the roof, not seconds.": (
            lambda flops, moved, fast, wide: min(fast, flops / moved * wide)
        ),
    },
)


EQUAL_SHARES = Exercise(
    name="12c",
    solution=lambda width: 4 * width - 1,
    cases=((768,), (12288,), (10,)),
    tolerance=1e-9,
    misconceptions={
        "That is for all T * T scores. The mask leaves T * (T + 1) / 2, and a fused kernel may "
        "skip the others.": lambda width: 2 * width,
        "out_proj is missing: four square matrices are applied to every token, not three.": (
            lambda width: 3 * width - 1
        ),
        "Each visible score costs twice, 2 * head_dim operations to compare and as many to mix.": (
            lambda width: 8 * width - 1
        ),
    },
)


ONE_TOKEN = Exercise(
    name="12d",
    solution=lambda: 0.5,
    misconceptions={
        "That is operations for each number. In float32 a number has four bytes.": lambda: 2.0,
        "A multiplication and an addition: two operations for each weight.": lambda: 0.25,
        "That would be true of weights of two bytes; in float32 they have four.": lambda: 1.0,
    },
)
