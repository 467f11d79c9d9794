"""The exercises of ``15_real_model``."""

import struct
from itertools import pairwise

import torch

from chapter3_helpers.exercises import Exercise, drawn

Pairs = list[tuple[str, str]]


def _pairs(pieces: list[str], merges: Pairs) -> Pairs:
    """Return the neighbours that can be merged, from left to right."""
    return [pair for pair in pairwise(pieces) if pair in merges]


def _places(pieces: list[str], pair: tuple[str, str]) -> list[int]:
    return [place for place, found in enumerate(pairwise(pieces)) if found == pair]


def _join(pieces: list[str], pair: tuple[str, str], which: int = 0) -> list[str]:
    """Merge a pair at the first place where it stands, or at another."""
    place = _places(pieces, pair)[which]
    return [*pieces[:place], "".join(pair), *pieces[place + 2 :]]


def _merge(word: str, merges: Pairs, which: int = 0) -> list[str]:
    pieces = list(word)
    while pairs := _pairs(pieces, merges):
        pieces = _join(pieces, min(pairs, key=merges.index), which)
    return pieces


def _in_file_order(word: str, merges: Pairs) -> list[str]:
    """Go through the merges once, from the first to the last."""
    pieces = list(word)
    for pair in merges:
        while pair in pairwise(pieces):
            pieces = _join(pieces, pair)
    return pieces


def _from_the_left(word: str, merges: Pairs) -> list[str]:
    pieces = list(word)
    while pairs := _pairs(pieces, merges):
        pieces = _join(pieces, pairs[0])
    return pieces


def _longest(word: str, merges: Pairs) -> list[str]:
    """Take the longest token that fits, again and again."""
    tokens = {a + b for a, b in merges} | set(word)
    pieces = []
    while word:
        piece = max((token for token in tokens if word.startswith(token)), key=len)
        pieces.append(piece)
        word = word[len(piece) :]
    return pieces


def _one_merge(word: str, merges: Pairs) -> list[str]:
    pairs = _pairs(list(word), merges)
    return _join(list(word), min(pairs, key=merges.index)) if pairs else list(word)


MERGE = Exercise(
    name="15a",
    solution=_merge,
    cases=(
        ("aabcd", [("b", "c"), ("a", "b"), ("bc", "d")]),
        ("abab", [("a", "b"), ("ab", "ab")]),
        ("lower", [("e", "r"), ("w", "er"), ("l", "o"), ("lo", "w")]),
        ("tothe", [("t", "h"), ("t", "o"), ("o", "th"), ("th", "e")]),
        ("abcbab", [("ab", "c"), ("b", "a"), ("a", "b"), ("c", "b")]),
        ("abc", [("a", "b"), ("b", "c"), ("a", "bc")]),
        ("aaab", [("a", "a"), ("aa", "a"), ("a", "b")]),
        ("xyz", [("a", "b")]),
    ),
    misconceptions={
        "You merge the pair that stands first in the word. The pair that stands first in the list "
        "of merges comes first.": _from_the_left,
        "You join a pair at the last place where it stands. Where places overlap, as in *aaa*, the "
        "first one counts.": lambda word, merges: _merge(word, merges, which=-1),
        "You take the longest token that fits. Byte-pair merging joins two neighbours at a time, "
        "in the order of the list.": _longest,
        "You merge once and stop. Go on until no pair of neighbours is in the list.": _one_merge,
        "You go through the list once, from its first merge to its last. After each merge, look "
        "again for the first pair of the list: it may have come up only now.": _in_file_order,
    },
)


def _rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    return x / (x.pow(2).mean(dim=-1, keepdim=True) + eps).sqrt() * weight


RMS_NORM = Exercise(
    name="15b",
    solution=_rms_norm,
    cases=(
        (drawn(5, 7) + 0.7, drawn(7, seed=2), 0.3),
        (drawn(2, 3, 4) - 0.4, drawn(4, seed=2), 0.02),
        (torch.zeros(2, 6), drawn(6, seed=3), 0.01),
    ),
    misconceptions={
        "You subtract the mean first. That is a layer norm.": lambda x, w, eps: (
            (x - x.mean(-1, True)) / (x.var(-1, correction=0, keepdim=True) + eps).sqrt() * w
        ),
        "You divide by the length of each token, the root of the *sum* of squares. RMS is the root "
        "of their *mean*.": lambda x, w, eps: x / (x.pow(2).sum(-1, True) + eps).sqrt() * w,
        "You add `eps` after the root. It belongs to the mean square, inside the root.": (
            lambda x, w, eps: x / (x.pow(2).mean(-1, True).sqrt() + eps) * w
        ),
        "Nothing is scaled: multiply by `weight` at the end.": lambda x, w, eps: (
            x / (x.pow(2).mean(-1, True) + eps).sqrt()
        ),
        "You take the mean over all tokens. Each token has a mean square of its own.": (
            lambda x, w, eps: x / (x.pow(2).mean() + eps).sqrt() * w
        ),
        "You divide by the mean square. Take its root.": lambda x, w, eps: (
            x / (x.pow(2).mean(-1, True) + eps) * w
        ),
    },
)


def _heads(weight: torch.Tensor, num_heads: int) -> torch.Tensor:
    return weight.unflatten(0, (num_heads, -1))  # (H, D, d)


TO_HALVES = Exercise(
    name="15c",
    solution=lambda w, H: torch.cat([_heads(w, H)[:, i::2] for i in (0, 1)], dim=1).flatten(0, 1),
    cases=((drawn(3 * 8, 5), 3), (drawn(2 * 6, 7), 2)),
    misconceptions={
        "You go the other way, from halves to neighbours.": lambda w, H: (
            _heads(w, H).unflatten(1, (2, -1)).transpose(1, 2).reshape(w.shape)
        ),
        "You reorder all rows at once. Each head keeps its own rows: cut the matrix into heads "
        "first.": lambda w, H: torch.cat([w[0::2], w[1::2]]),
        "You reorder the columns. Columns belong to the numbers of the token that comes in; rows "
        "are the numbers of a query or key.": lambda w, H: torch.cat(
            [w[:, 0::2], w[:, 1::2]], dim=1
        ),
        "The second half of each head comes first. Numbers with an even place go to the front.": (
            lambda w, H: torch.cat([_heads(w, H)[:, i::2] for i in (1, 0)], dim=1).flatten(0, 1)
        ),
    },
)


def _count(
    vocab_size: int,
    d: int,
    num_layers: int,
    num_heads: int,
    num_kv_heads: int,
    hidden: int,
    *,
    tables: int = 1,
    kv_heads: int | None = None,
    matrices: int = 3,
    norms: int = 2,
    last: int = 1,
    biases: bool = False,
) -> int:
    kv_width = d // num_heads * (num_kv_heads if kv_heads is None else kv_heads)
    attention = 2 * d * d + 2 * d * kv_width
    bias = d + 2 * kv_width + d if biases else 0
    block = attention + bias + matrices * d * hidden + norms * d
    return tables * vocab_size * d + num_layers * block + last * d


SMOLLM2 = (49152, 576, 30, 9, 3, 1536)

COUNT = Exercise(
    name="15d",
    solution=_count,
    cases=(SMOLLM2, (101, 24, 5, 6, 2, 40), (53, 60, 7, 10, 1, 44)),
    misconceptions={
        "You count the table twice. The output layer is the embedding table once more.": (
            lambda *sizes: _count(*sizes, tables=2)
        ),
        "Your keys and values have as many heads as the queries. Here `num_kv_heads` heads make "
        "them.": lambda *sizes: _count(*sizes, kv_heads=sizes[3]),
        "You count two matrices in the feed-forward network. With the gate there are three.": (
            lambda *sizes: _count(*sizes, matrices=2)
        ),
        "You forgot the norms of the blocks: two in each, with `d` numbers.": (
            lambda *sizes: _count(*sizes, norms=0)
        ),
        "You forgot the last norm, with `d` numbers.": lambda *sizes: _count(*sizes, last=0),
        "You forgot all norms: two in each block and one at the end, with `d` numbers each.": (
            lambda *sizes: _count(*sizes, norms=0, last=0)
        ),
        "You count biases. A Llama has none.": lambda *sizes: _count(*sizes, biases=True),
    },
)


def _block(step: float, smallest: float, q: list[int]) -> bytes:
    packed = (low | high << 4 for low, high in zip(q[:16], q[16:], strict=True))
    return struct.pack("<ee", step, smallest) + bytes(packed)


def _unpack(block: bytes) -> list[float]:
    step, smallest = struct.unpack("<ee", block[:4])
    q = [byte & 15 for byte in block[4:]] + [byte >> 4 for byte in block[4:]]
    return [smallest + step * number for number in q]


def _changed(change: str) -> object:
    def unpack(block: bytes) -> list[float]:
        step, smallest = struct.unpack("<ee", block[:4])
        low, high = [byte & 15 for byte in block[4:]], [byte >> 4 for byte in block[4:]]
        if change == "side by side":
            q = [number for pair in zip(low, high, strict=True) for number in pair]
        else:
            q = high + low if change == "high first" else low + high
        if change == "centred":
            q = [number - 8 for number in q]
        if change == "exchanged":
            step, smallest = smallest, step
        return [step * number + (0 if change == "no smallest" else smallest) for number in q]

    return unpack


UNPACK = Exercise(
    name="15e",
    solution=_unpack,
    cases=(
        (_block(0.25, -1.5, [*range(16), *(3 * i % 16 for i in range(5, 21))]),),
        (_block(0.5, 0.75, [(7 * i + 2) % 16 for i in range(32)]),),
    ),
    misconceptions={
        "You put the two numbers of a byte side by side. The low halves of the 16 bytes are the "
        "first 16 numbers, the high halves the last 16.": _changed("side by side"),
        "Your high halves come first. The low ones do.": _changed("high first"),
        "You take 8 away from each number. Here the smallest number is stored, not the middle.": (
            _changed("centred")
        ),
        "You take the smallest number for the step. The step is stored first.": (
            _changed("exchanged")
        ),
        "Add the smallest number of the block to each.": _changed("no smallest"),
    },
)
