"""The explorer of ``11_grouped_query_kv_cache``: who shares keys, and what the cache costs."""

from functools import lru_cache
from typing import Any

import torch

from chapter3_helpers.explorers.core.controls import Buttons, Settings, Steps, TextField, Thumbnails
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.inputs import (
    clicked_query_and_key,
    divisors,
    read_sentence,
    read_tokens,
    seeded,
    weight_matrix,
)
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Facts, Heads, Note, Panel
from chapter3_helpers.explorers.core.source import explorer_function, picked_cell, source_of
from chapter3_helpers.fused_multihead import split_heads
from chapter3_helpers.grouped_query import GroupedQueryAttention, kv_cache_bytes, repeat_kv
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.positions import apply_rotary, rotary_frequencies

D_MODEL, HEADS, HEAD_DIM, PROMPT = 512, 8, 64, 50
KV_HEADS = tuple(divisors(HEADS))
GENERATED = (1, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)

CONTROLS = (
    Buttons(
        "num_kv_heads",
        "kv heads",
        2,
        "Heads whose keys and values are kept; a divisor of the 8 query heads",
        options=KV_HEADS,
    ),
    Steps(
        "generated",
        "tokens generated",
        1000,
        f"Tokens generated so far, after a prompt of {PROMPT}",
        options=[(f"{number:,}", number) for number in GENERATED],
    ),
    TextField(
        "text",
        "sentence",
        "the cat that chased the mouse slept",
        "Type a sentence of your own, to see all heads on it",
    ),
    Thumbnails(
        "head",
        "head",
        0,
        "Which query head to show in large",
        options=lambda settings: [
            (f"{head} → kv {head * settings['num_kv_heads'] // HEADS}", head)
            for head in range(HEADS)
        ],
    ),
    *clicked_query_and_key(lambda settings: read_tokens(settings["text"])),
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


def grouped_query_state(settings: Settings) -> dict[str, Any]:
    """Return who reads which head, the weights on a sentence, and what the next token costs.

    Returns:
        ``tokens``; ``reads`` (8, K), 1 where a query head reads a key/value head; ``weights``
        (8, T, T); ``cache_bytes`` of one layer in float32; ``with_cache`` and ``without_cache``,
        multiplications for the newest token.

    Raises:
        ValueError: the sentence is empty or too long to be drawn.
    """
    kv_heads, num_tokens = settings["num_kv_heads"], PROMPT + settings["generated"]
    tokens, x = read_sentence(settings["text"], d_in=D_MODEL)
    x = 8 * (x - 0.5)  # spread wide, as in the notebook, so that untrained heads differ
    attention = _attention(kv_heads)
    with_cache, without_cache = _multiplications(num_tokens, kv_heads)
    return {
        "tokens": tokens,
        "reads": repeat_kv(torch.eye(kv_heads).unsqueeze(1), HEADS // kv_heads).squeeze(1),
        "weights": attention.attention_weights(x),
        "cache_bytes": kv_cache_bytes(num_tokens, kv_heads, HEAD_DIM),
        "with_cache": with_cache,
        "without_cache": without_cache,
    }


def grouped_query_panels(settings: Settings) -> list[Panel]:
    """Return all heads on the sentence and whose keys they read, and what they cost."""
    state = grouped_query_state(settings)
    kv_heads, head, tokens = settings["num_kv_heads"], settings["head"], state["tokens"]
    num_tokens, hidden = PROMPT + settings["generated"], causal_mask(len(tokens))
    lengths = [PROMPT + number for number in GENERATED]
    megabytes = {
        f"{K} kv head{'s' * (K > 1)}": [kv_cache_bytes(S, K, HEAD_DIM) / 1e6 for S in lengths]
        for K in sorted({kv_heads, HEADS})
    }
    facts = {
        "tokens so far": f"{PROMPT} + {settings['generated']:,} = {num_tokens:,}",
        "cache in float32": f"2 · {num_tokens:,} · {kv_heads} · {HEAD_DIM} · 4 = "
        f"{state['cache_bytes']:,} bytes",
        "multiplications with it": f"{state['with_cache'] / 1e6:,.1f} million",
        "multiplications without": f"{state['without_cache'] / 1e6:,.1f} million",
    }
    weights = state["weights"][head]
    title = f"weights of head {head}, which reads kv head {head * kv_heads // HEADS}"
    cell = picked_cell(settings, weights)
    return [
        Note(_note(state, settings)),
        Heads(state["weights"], hidden),
        weight_matrix(title, weights, tokens, cell, hidden),
        *([_path(settings, *cell)] if cell else []),
        Curves(
            "size of the cache",
            "tokens so far",
            "cache in MB",
            lengths,
            megabytes,
            mark=num_tokens,
            log="xy",
        ),
        Facts(facts, "one layer, for the newest token"),
    ]


def _path(settings: Settings, row: int, column: int) -> NumberPath:
    """Return the arithmetic of a weight of the chosen head, queries and keys turned."""
    tokens, x = read_sentence(settings["text"], d_in=D_MODEL)
    x, attention = 8 * (x - 0.5), _attention(settings["num_kv_heads"])
    turns = rotary_frequencies(HEAD_DIM, len(x), attention.theta)
    head, kv_head = settings["head"], settings["head"] * settings["num_kv_heads"] // HEADS
    queries = apply_rotary(split_heads(attention.W_query(x), HEADS)[head], turns)
    keys, values = (
        split_heads(layer(x), settings["num_kv_heads"])[kv_head]
        for layer in (attention.W_key, attention.W_value)
    )
    keys = apply_rotary(keys, turns)
    return NumberPath(tokens, row, column, queries, keys, values, hidden=causal_mask(len(x)))


def _note(state: dict[str, Any], settings: Settings) -> str:
    group = HEADS // settings["num_kv_heads"]
    shared = (
        "Every query head has keys and values of its own"
        if group == 1
        else f"{group} query heads read each kv head: a cache of 1/{group} of the size"
    )
    ratio = state["without_cache"] // state["with_cache"]
    return f"{shared}. Without a cache, a new token takes {ratio:,} times as many multiplications."


grouped_query_explorer = explorer_function(
    "shared keys and the cache", CONTROLS, grouped_query_panels, source_of(grouped_query_state)
)
