"""The explorer of ``07_fused_multihead``: where the split of d_out into heads falls."""

from typing import NamedTuple

import torch

from chapter3_helpers._language import say
from chapter3_helpers._switches import as_torch_starts, seeded
from chapter3_helpers.explorers.core.controls import Buttons, Seed, Slider, Switch, Thumbnails
from chapter3_helpers.explorers.core.inputs import (
    clicked_cell,
    clicked_query_and_key,
    divisors,
    weights_and_path,
)
from chapter3_helpers.explorers.core.panels import Facts, Heads, Matrix, Note, Panel
from chapter3_helpers.explorers.core.style import quoted
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.fused_multihead import MultiHeadAttention, split_heads
from chapter3_helpers.masking import causal_mask, mask_scores
from chapter3_helpers.sentence import TOKENS, example_inputs
from chapter3_helpers.softmax import softmax

SHARPEN = 5  # larger inputs make the heads' preferences visible

CONTROLS = (
    Switch(
        "transpose",
        say("with transpose"),
        True,
        say("Without it, a head gets parts of several tokens"),
    ),
    Slider("d_out", say("d_out (total)"), 12, say("Numbers that all heads share"), low=1, high=16),
    Buttons(
        "num_heads",
        say("heads"),
        3,
        say("How many heads share d_out; its divisors"),
        options=divisors,
    ),
    Seed("seed", say("seed"), 123, say("Another seed draws other weight matrices")),
    Thumbnails(
        "head",
        say("head"),
        1,
        say("Which head to read"),
        options=lambda num_heads: [
            (say("head {head}", head=head), head) for head in range(num_heads)
        ],
    ),
    *clicked_query_and_key(lambda: TOKENS),
)


class FusedMultiheadState(NamedTuple):
    """The queries of all tokens, and what is dealt out to the heads."""

    queries: torch.Tensor  # (6, d_out)
    heads: torch.Tensor  # (3, H, 6, D), the queries, keys and values of every head
    owners: torch.Tensor  # (6, d_out), which head gets each number of a token
    weights: torch.Tensor  # (H, 6, 6)


@as_torch_starts()
def fused_multihead_state(
    *, d_out: int, num_heads: int, seed: int, transpose: bool
) -> FusedMultiheadState:
    """Project six tokens and deal the numbers out to the heads, rightly or without the transpose.

    Without it, the numbers go to the heads in the order in which they lie in memory.
    """
    with seeded(seed):
        attention = MultiHeadAttention(3, d_out, 6, 0.0, num_heads)
    x = SHARPEN * example_inputs()  # (6, 3)
    with torch.no_grad():
        layers = attention.W_query, attention.W_key, attention.W_value
        wide = torch.stack([layer(x) for layer in layers])  # (3, 6, d_out)
    numbers = torch.arange(num_heads).repeat_interleave(6 * d_out // num_heads)
    if transpose:
        heads = split_heads(wide, num_heads)  # (3, H, 6, D)
        owners = numbers.view(num_heads, 6, -1).transpose(0, 1).reshape(6, d_out)
    else:  # the fault that the notebook warns of
        heads = wide.view(3, num_heads, 6, -1)
        owners = numbers.view(6, d_out)
    queries, keys, _ = heads
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5  # (H, 6, 6)
    return FusedMultiheadState(wide[0], heads, owners, softmax(mask_scores(scores)))


def fused_multihead_panels(
    state: FusedMultiheadState, *, transpose: bool, head: int, query: int | None, key: int | None
) -> list[Panel]:
    """Return the queries with the cuts between heads, and every head's weights."""
    _, num_heads, _, head_dim = state.heads.shape
    d_out = num_heads * head_dim
    columns = [str(column) for column in range(d_out)]
    facts = {
        say("projection"): f"(6, {d_out})",
        say("after the split"): f"({num_heads}, 6, {head_dim})",
        say("scores are divided by"): f"sqrt({head_dim}) = {head_dim**0.5:.4g}",
    }
    weights, hidden = state.weights[head], causal_mask(6)
    row, column = clicked_cell(query, key, weights)
    asked = {
        "corner": (say("token"), say("number")),
        "sides": ("query", ""),
        "marked_row": row,
        "click": {"q": "query"},
    }
    matrix = Matrix(say("weights of head {head}", head=head), weights, TOKENS, hidden=hidden)
    return [
        Note(_note(state, transpose, head)),
        Heads(state.weights, hidden),
        Matrix(
            say("which head gets each number of a token"),
            state.owners / max(num_heads - 1, 1),
            TOKENS,
            columns,
            texts=[[str(head) for head in row] for row in state.owners.tolist()],
            **asked,
        ),
        *weights_and_path(matrix, row, column, *state.heads[:, head]),
        Matrix(say("queries of all tokens"), state.queries, TOKENS, columns, signed=True, **asked),
        Facts(facts, say("shapes")),
    ]


def _note(state: FusedMultiheadState, transpose: bool, head: int) -> str:
    _, num_heads, _, head_dim = state.heads.shape
    if num_heads == 1:
        return say("One head owns everything; with or without transpose, nothing is dealt out.")
    if transpose:
        return say(
            "Every head owns {own} of the {all} columns, for all six tokens.",
            own=head_dim,
            all=num_heads * head_dim,
        )
    owned = (state.owners == head).any(dim=1)
    tokens = [quoted(token) for token, its in zip(TOKENS, owned.tolist(), strict=True) if its]
    return say(
        "Without the transpose, all six rows of head {head} are made of {tokens}.",
        head=head,
        tokens=say(", ").join(tokens),
    )


fused_multihead_explorer = explorer_function(
    "fused_multihead_explorer",
    say("split into heads"),
    CONTROLS,
    fused_multihead_state,
    fused_multihead_panels,
)
