"""The explorer of ``07_fused_multihead``: where the split of d_out into heads falls."""

import torch

from chapter3_helpers.explorers.core.controls import (
    Buttons,
    Seed,
    Settings,
    Slider,
    Switch,
    Thumbnails,
)
from chapter3_helpers.explorers.core.inputs import (
    clicked_query_and_key,
    divisors,
    seeded,
    weight_matrix,
)
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Facts, Heads, Matrix, Note, Panel
from chapter3_helpers.explorers.core.source import explorer_function, picked_cell
from chapter3_helpers.fused_multihead import MultiHeadAttention, split_heads
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.sentence import TOKENS, example_inputs
from chapter3_helpers.softmax import softmax

SHARPEN = 5  # larger inputs make the heads' preferences visible

CONTROLS = (
    Switch("transpose", "with transpose", True, "Without it, a head gets parts of several tokens"),
    Slider("d_out", "d_out (total)", 12, "Numbers that all heads share", low=1, high=16),
    Buttons(
        "num_heads",
        "heads",
        3,
        "How many heads share d_out; its divisors",
        options=lambda settings: divisors(settings["d_out"]),
    ),
    Seed("seed", "seed", 123, "Another seed draws other weight matrices"),
    Thumbnails(
        "head",
        "head",
        1,
        "Which head to read",
        options=lambda settings: [(f"head {h}", h) for h in range(settings["num_heads"])],
    ),
    *clicked_query_and_key(lambda settings: TOKENS),
)


def fused_multihead_state(settings: Settings) -> dict[str, torch.Tensor]:
    """Return the queries (6, d_out); queries, keys and values as the heads get them (3, H, 6, D);
    which head owns each number, and the weights (H, 6, 6)."""
    d_out, num_heads = settings["d_out"], settings["num_heads"]
    with seeded(settings["seed"]):
        attention = MultiHeadAttention(3, d_out, 6, 0.0, num_heads)
    x = SHARPEN * example_inputs()
    head_dim = d_out // num_heads
    with torch.no_grad():
        layers = attention.W_query, attention.W_key, attention.W_value
        wide = torch.stack([layer(x) for layer in layers])  # (3, 6, d_out)
        if settings["transpose"]:
            heads = split_heads(wide, num_heads)  # (3, H, 6, D)
            weights = attention.attention_weights(x)
        else:  # the fault that the notebook warns of: view without transpose
            heads = wide.reshape(3, num_heads, 6, head_dim)
            scores = (heads[0] @ heads[1].mT).masked_fill(causal_mask(6), -torch.inf)
            weights = softmax(scores / head_dim**0.5, dim=-1)
    return {"queries": wide[0], "heads": heads, "owners": _owners(settings), "weights": weights}


def _owners(settings: Settings) -> torch.Tensor:
    """Return which head gets each number of every token, (6, d_out)."""
    d_out, num_heads = settings["d_out"], settings["num_heads"]
    heads = torch.arange(num_heads).repeat_interleave(6 * d_out // num_heads)
    if not settings["transpose"]:
        return heads.reshape(6, d_out)  # in the order in which the numbers lie in memory
    return heads.reshape(num_heads, 6, -1).transpose(0, 1).reshape(6, d_out)


def fused_multihead_panels(settings: Settings) -> list[Panel]:
    """Return the queries with the cuts between heads, and every head's weights."""
    state = fused_multihead_state(settings)
    d_out, num_heads = settings["d_out"], settings["num_heads"]
    columns = [str(column) for column in range(d_out)]
    facts = {
        "projection": f"(6, {d_out})",
        "after the split": f"({num_heads}, 6, {d_out // num_heads})",
        "scores are divided by": f"sqrt({d_out // num_heads}) = {(d_out // num_heads) ** 0.5:.4g}",
    }
    head = settings["head"]
    weights, hidden = state["weights"][head], causal_mask(6)
    cell = picked_cell(settings, weights)
    return [
        Note(_note(settings)),
        Heads(state["weights"], hidden),
        Matrix(
            "which head gets each number of a token",
            state["owners"] / max(num_heads - 1, 1),
            TOKENS,
            columns,
            texts=[[str(head) for head in row] for row in state["owners"].tolist()],
            corner=("token", "number"),
        ),
        weight_matrix(f"weights of head {head}", weights, TOKENS, cell, hidden),
        *([NumberPath(TOKENS, *cell, *state["heads"][:, head], hidden=hidden)] if cell else []),
        Matrix(
            "queries of all tokens",
            state["queries"],
            TOKENS,
            columns,
            signed=True,
            corner=("token", "number"),
        ),
        Facts(facts, "shapes"),
    ]


def _note(settings: Settings) -> str:
    d_out, num_heads = settings["d_out"], settings["num_heads"]
    if num_heads == 1:
        return "One head owns everything; with or without transpose, nothing is dealt out."
    if settings["transpose"]:
        return f"Every head owns {d_out // num_heads} of the {d_out} columns, for all six tokens."
    owned = sorted(
        {row for row, owners in enumerate(_owners(settings)) if settings["head"] in owners}
    )
    tokens = ", ".join(f"“{TOKENS[row]}”" for row in owned)
    return f"Without the transpose, all six rows of head {settings['head']} are made of {tokens}."


def fused_multihead_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same weights."""
    d_out, num_heads = settings["d_out"], settings["num_heads"]
    lines = [
        "import torch",
        "from chapter3_helpers.fused_multihead import MultiHeadAttention",
        "from chapter3_helpers.sentence import example_inputs",
        "",
        f"x = {SHARPEN} * example_inputs()",
        f"torch.manual_seed({settings['seed']})",
        f"attention = MultiHeadAttention(3, {d_out}, 6, 0.0, {num_heads})",
    ]
    if settings["transpose"]:
        return [*lines, "weights = attention.attention_weights(x).detach()"]
    shape = f"{num_heads}, 6, {d_out // num_heads}"
    return [
        *lines,
        f"q, k = attention.W_query(x).view({shape}), attention.W_key(x).view({shape})",
        "hidden = torch.ones(6, 6).triu(1).bool()",
        "scores = (q @ k.transpose(-2, -1)).masked_fill(hidden, -torch.inf)",
        f"weights = torch.softmax(scores / {d_out // num_heads}**0.5, dim=-1).detach()",
    ]


fused_multihead_explorer = explorer_function(
    "split into heads", CONTROLS, fused_multihead_panels, fused_multihead_code
)
