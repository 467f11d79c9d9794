"""The explorer of ``12_grouped_query_kv_cache``: who shares keys, and what the cache costs."""

from functools import lru_cache
from typing import NamedTuple

import torch

from chapter3_helpers._language import say, sentences
from chapter3_helpers._switches import as_torch_starts, seeded
from chapter3_helpers.explorers.core.controls import Buttons, Steps, TextField, Thumbnails
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.inputs import (
    clicked_cell,
    clicked_query_and_key,
    divisors,
    read_sentence,
    read_tokens,
    weights_and_path,
)
from chapter3_helpers.explorers.core.panels import Facts, Heads, Matrix, Note, Panel
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.grouped_query import GroupedQueryAttention, kv_cache_bytes
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.positions import apply_rotary, rotary_frequencies
from chapter3_helpers.read_attention import read_attention

D_MODEL, HEADS, HEAD_DIM, PROMPT = 512, 8, 64, 50
KV_HEADS = tuple(divisors(HEADS))
GENERATED = (1, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)

CONTROLS = (
    Buttons(
        "num_kv_heads",
        say("kv heads"),
        2,
        say("Heads whose keys and values are kept; a divisor of the 8 query heads"),
        options=KV_HEADS,
    ),
    Steps(
        "generated",
        say("tokens generated"),
        1000,
        say("Tokens generated so far, after a prompt of {prompt}", prompt=PROMPT),
        options=[(f"{number:,}", number) for number in GENERATED],
        play=700,
    ),
    TextField(
        "text",
        say("sentence"),
        "the cat that chased the mouse slept",
        say("Type a sentence of your own, to see all heads on it"),
        presented=False,
    ),
    Thumbnails(
        "head",
        say("head"),
        0,
        say("Which query head to show in large"),
        options=lambda num_kv_heads: [
            (say("{head} → kv {kv_head}", head=head, kv_head=head * num_kv_heads // HEADS), head)
            for head in range(HEADS)
        ],
        presented=False,  # the back row sees the cache grow
    ),
    *clicked_query_and_key(read_tokens),
)


@lru_cache(maxsize=len(KV_HEADS))  # drawing 800,000 weights takes longer than all the rest
def _attention(num_kv_heads: int) -> GroupedQueryAttention:
    with seeded(123):
        attention = GroupedQueryAttention(D_MODEL, HEADS, num_kv_heads)
    return attention.requires_grad_(False)


def _multiplications(num_tokens: int, num_kv_heads: int) -> tuple[int, int]:
    """Count the multiplications for the newest of ``num_tokens`` tokens: cached, and all again.

    A token is projected: query and output D_MODEL² each; key and value D_MODEL times their width
    each. Then it attends: scores and their product with the values, D_MODEL each for every token
    that it sees. Without a cache all tokens do so, each seeing itself and those before it.
    """
    projected = 2 * D_MODEL * (D_MODEL + num_kv_heads * HEAD_DIM)
    seen = num_tokens * (num_tokens + 1) // 2
    return projected + 2 * D_MODEL * num_tokens, num_tokens * projected + 2 * D_MODEL * seen


class GroupedQueryState(NamedTuple):
    """The weights on a sentence, and what the next token costs."""

    tokens: tuple[str, ...]
    x: torch.Tensor  # (T, 512)
    weights: torch.Tensor  # (8, T, T)
    cache_bytes: int  # of one layer in float32
    with_cache: int  # multiplications for the newest token
    without_cache: int


@as_torch_starts()
def grouped_query_state(*, num_kv_heads: int, generated: int, text: str) -> GroupedQueryState:
    """Share key/value heads on a sentence, and count what the next token costs.

    Raises:
        ValueError: the sentence is empty or too long to be drawn.
    """
    tokens, x = read_sentence(text, d_in=D_MODEL)
    x = 8 * (x - 0.5)  # spread wide, as in the notebook, so that untrained heads differ
    weights = _attention(num_kv_heads).attention_weights(x)
    cached = kv_cache_bytes(PROMPT + generated, num_kv_heads, HEAD_DIM)
    costs = _multiplications(PROMPT + generated, num_kv_heads)
    return GroupedQueryState(tokens, x, weights, cached, *costs)


def grouped_query_panels(
    state: GroupedQueryState,
    *,
    num_kv_heads: int,
    generated: int,
    head: int,
    query: int | None,
    key: int | None,
) -> list[Panel]:
    """Return all heads on the sentence and whose keys they read, and what they cost."""
    num_tokens, hidden = PROMPT + generated, causal_mask(len(state.tokens))
    lengths = [PROMPT + number for number in GENERATED]
    megabytes = {
        say("1 kv head") if G == 1 else say("{heads} kv heads", heads=G): [
            kv_cache_bytes(S, G, HEAD_DIM) / 1e6 for S in lengths
        ]
        for G in sorted({num_kv_heads, HEADS})
    }
    facts = {
        say("tokens so far"): f"{PROMPT} + {generated:,} = {num_tokens:,}",
        say("cache in float32"): say(
            "{factors} = {bytes} bytes",
            factors=f"2 · {num_tokens:,} · {num_kv_heads} · {HEAD_DIM} · 4",
            bytes=f"{state.cache_bytes:,}",
        ),
        say("multiplications with it"): f"{state.with_cache:,}",
        say("multiplications without"): f"{state.without_cache:,}",
    }
    weights, kv_head = state.weights[head], head * num_kv_heads // HEADS
    title = say("weights of head {head}, which reads kv head {kv_head}", head=head, kv_head=kv_head)
    shown = Matrix(title, weights, state.tokens, hidden=hidden, narrow=True)
    cell, vectors = clicked_cell(query, key, weights), []
    if cell != (None, None):
        attention = _attention(num_kv_heads)
        turns = rotary_frequencies(HEAD_DIM, len(state.x), attention.theta)
        queries, keys, values = read_attention(attention).project(state.x)
        queries, keys = apply_rotary(queries[head], turns), apply_rotary(keys[kv_head], turns)
        vectors = [queries, keys, values[kv_head]]
    return [
        Note(_note(state, num_kv_heads)),
        Heads(state.weights, hidden),
        Curves(
            say("size of the cache"),
            say("tokens so far"),
            say("cache in MB"),
            lengths,
            megabytes,
            mark=num_tokens,
            log="xy",
        ),
        *weights_and_path(shown, *cell, *vectors),
        Facts(facts, say("one layer, for the newest token")),
    ]


def _note(state: GroupedQueryState, num_kv_heads: int) -> str:
    group = HEADS // num_kv_heads
    shared = say("Every query head has keys and values of its own.")
    if group > 1:
        shared = say(
            "{group} query heads read each kv head: a cache of 1/{group} of the size.", group=group
        )
    costs = say(
        "Without a cache, a new token takes {ratio} times as many multiplications.",
        ratio=f"{state.without_cache // state.with_cache:,}",
    )
    return sentences(shared, costs)


grouped_query_explorer = explorer_function(
    "grouped_query_explorer",
    say("shared keys and the cache"),
    CONTROLS,
    grouped_query_state,
    grouped_query_panels,
)
