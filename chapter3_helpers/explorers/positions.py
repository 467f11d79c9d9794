"""The explorer of ``08_positions``: six ways to place a sentence, a swap of words, and a move."""

import math
from typing import Any

import torch

from chapter3_helpers._figures.colours import KEY_LABEL
from chapter3_helpers.explorers.core.controls import (
    Buttons,
    Seed,
    Settings,
    Slider,
    Steps,
    Switch,
    TextField,
    Thumbnails,
)
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.inputs import (
    clicked_query_and_key,
    read_sentence,
    read_tokens,
    seeded,
    swap_buttons,
    weight_matrix,
)
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Facts, Heads, Matrix, Note, Panel
from chapter3_helpers.explorers.core.source import explorer_function, picked_cell
from chapter3_helpers.masking import causal_mask, mask_scores
from chapter3_helpers.positions import (
    LearnedPositions,
    alibi_bias,
    alibi_slopes,
    apply_rotary,
    linear_bias,
    rotary_frequencies,
)
from chapter3_helpers.softmax import softmax
from chapter3_helpers.tasks.last_holder import sinusoids
from chapter3_helpers.trainable_qkv import SelfAttention_v1

NONE, LEARNED, SINUSOIDS = "none", "learned", "sinusoids"
LINEAR, ALIBI, ROTARY = "linear bias", "ALiBi", "rotary"
THETAS = (1.0, 2.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0, 1_000_000.0)
TABLE = 512  # positions that the learned table has a vector for
REACH = 12  # how far the curve goes to either side
SAME = 5e-5  # below it, four decimals show no difference


def _head_options(settings: Settings) -> list[tuple[str, int]]:
    slopes = alibi_slopes(settings["num_heads"]).tolist()
    return [(f"{head}: {slope:.3g}", head) for head, slope in enumerate(slopes)]


CONTROLS = (
    Buttons(
        "scheme",
        "positions",
        ROTARY,
        "How attention is told about order",
        options=[(way, way) for way in (NONE, LEARNED, SINUSOIDS, LINEAR, ALIBI, ROTARY)],
    ),
    TextField("text", "sentence", "the oven cooked the bread so", "Type a sentence of your own"),
    *swap_buttons(),
    Slider(
        "start",
        "starts at",
        0,
        "Where in a longer text the sentence stands",
        low=0,
        high=200,
        play=200,
    ),
    Steps(
        "theta",
        "theta",
        10_000.0,
        "The larger, the slower the second pair of numbers turns",
        lambda settings: settings["scheme"] == ROTARY,
        options=[(f"{theta:,.0f}", theta) for theta in THETAS],
    ),
    Slider(
        "num_heads",
        "heads",
        8,
        "How many heads share out the slopes",
        lambda settings: settings["scheme"] == ALIBI,
        low=1,
        high=12,
    ),
    Switch("causal", "hide the future", False, "The causal mask, in addition", presented=False),
    Seed("seed", "seed", 123, "Another seed draws other weight matrices"),
    Thumbnails(
        "head",
        "head: slope",
        0,
        "Which head to read, and its slope",
        lambda settings: settings["scheme"] == ALIBI,
        options=_head_options,
    ),
    *clicked_query_and_key(lambda settings: read_tokens(settings["text"])),
)


def positions_state(settings: Settings) -> dict[str, Any]:
    """Return what the last token and all others attend to, and one score at every distance.

    Returns:
        ``tokens``; ``placed``: queries and keys (T, 4), and what is added to the scores (H, T, T),
        if anything; ``weights`` (T, T), and ``heads`` (H, T, T), H above 1 for ALiBi alone;
        ``unmoved`` (T, T), the weights where the sentence starts at 0; ``before`` and ``after``
        (T,), the last row without and with the swap, both in the order of the words as typed;
        ``distances`` (25,) and ``curves``: the score of the last token and the first swapped word
        at each distance, by where the sentence starts.
    """
    tokens, x = read_sentence(settings["text"], d_in=4)
    T, first, second = len(tokens), settings["first"], settings["second"]
    order = list(range(T))
    order[first], order[second] = order[second], order[first]
    head = settings["head"] if settings["scheme"] == ALIBI else 0  # the others have one head
    with torch.no_grad():
        with seeded(settings["seed"]):
            attention = SelfAttention_v1(4, 4)
        heads = softmax(_scores(attention, x, x, settings))  # (H, T, T)
        queries, keys, bias = _placed(attention, x, x, settings)
        swapped = softmax(_scores(attention, x[order], x[order], settings))
        unmoved = softmax(_scores(attention, x, x, {**settings, "start": 0}))
        asking, asked = x[-1].expand(2 * REACH + 1, 4), x[first].expand(2 * REACH + 1, 4)
        curves = {}
        for start in sorted({0, settings["start"]}):
            scores = _scores(attention, asking, asked, {**settings, "start": start})
            curves[start] = scores[head, REACH]  # the query stands in the middle
    return {
        "tokens": tokens,
        "placed": (queries, keys, bias),
        "heads": heads,
        "weights": heads[head],
        "unmoved": unmoved[head],
        "before": heads[head, -1],
        "after": swapped[head, -1, order],
        "distances": torch.arange(-REACH, REACH + 1),
        "curves": curves,
    }


def _scores(
    attention: SelfAttention_v1, asking: torch.Tensor, asked: torch.Tensor, settings: Settings
) -> torch.Tensor:
    """Return the scaled scores (H, T, T) of tokens (T, 4) that ask and tokens that are asked."""
    queries, keys, bias = _placed(attention, asking, asked, settings)
    scores = (queries @ keys.T / 4**0.5).unsqueeze(0)
    if bias is not None:
        scores = scores + bias  # (1, T, T) -> (H, T, T)
    return mask_scores(scores) if settings["causal"] else scores


def _placed(
    attention: SelfAttention_v1, asking: torch.Tensor, asked: torch.Tensor, settings: Settings
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Return queries and keys (T, 4) that know their places, and what is added to the scores for
    the distance, (H, T, T), if that is the way."""
    scheme, start, T = settings["scheme"], settings["start"], len(asking)
    if scheme == LEARNED:
        with seeded(settings["seed"]):
            table = 10 * LearnedPositions(TABLE, 4).weight  # untrained; turned up to be seen
        asking, asked = (x + table[start : start + T] for x in (asking, asked))
    if scheme == SINUSOIDS:
        table = sinusoids(start + T, 4)
        asking, asked = (x + table[start:] for x in (asking, asked))
    queries, keys = asking @ attention.W_query, asked @ attention.W_key
    if scheme == ROTARY:
        turns = rotary_frequencies(4, start + T, settings["theta"])[start:]
        queries, keys = apply_rotary(queries, turns), apply_rotary(keys, turns)
    bias = None
    if scheme == LINEAR:
        bias = linear_bias(T)[None]
    elif scheme == ALIBI:
        bias = alibi_bias(settings["num_heads"], T)
    return queries, keys, bias


def positions_panels(settings: Settings) -> list[Panel]:
    """Return the weights, the last row without and with the swap, and the score by distance."""
    state = positions_state(settings)
    tokens, scheme = state["tokens"], settings["scheme"]
    first, last = settings["first"], len(tokens) - 1
    hidden = causal_mask(len(tokens)) if settings["causal"] else None
    scores = torch.cat([*state["curves"].values()])
    scores = scores[scores.isfinite()].tolist()
    title = f"weights, positions: {scheme}"
    if scheme == ALIBI:
        slope = alibi_slopes(settings["num_heads"])[settings["head"]].item()
        title = f"weights of head {settings['head']}, slope {slope:.3g}"
    cell = picked_cell(settings, state["weights"])
    panels: list[Panel] = [
        Note(_note(state, settings)),
        Matrix(
            f"what “{tokens[last]}” gives each word",
            torch.stack([state["before"], state["after"]]),
            ["as typed", "swapped"],
            tokens,
            corner=("order", KEY_LABEL),
        ),
        weight_matrix(title, state["weights"], tokens, cell, hidden),
        *([_path(state, settings, hidden, *cell)] if cell else []),
        Curves(
            f"score of “{tokens[last]}” asking “{tokens[first]}”",
            "key's position minus query's position",
            "score",
            state["distances"],
            {f"starts at {start}": curve for start, curve in state["curves"].items()},
            mark=first - last if last - first <= REACH else None,
            limits=(2 * math.floor(min(scores) / 2), 2 * math.ceil(max(scores) / 2)),
        ),
        Facts(_facts(settings), "what tells the order"),
    ]
    if scheme == ALIBI:
        panels.insert(1, Heads(state["heads"], hidden))
    return panels


def _path(
    state: dict[str, Any], settings: Settings, hidden: torch.Tensor | None, row: int, column: int
) -> NumberPath:
    queries, keys, bias = state["placed"]
    if bias is not None:
        bias = bias[settings["head"] if settings["scheme"] == ALIBI else 0]
    return NumberPath(state["tokens"], row, column, queries, keys, hidden=hidden, bias=bias)


def _note(state: dict[str, Any], settings: Settings) -> str:
    tokens, start = state["tokens"], settings["start"]
    first, second = tokens[settings["first"]], tokens[settings["second"]]
    swap = (state["after"] - state["before"]).abs().max().item()
    if settings["first"] == settings["second"]:
        text = "Nothing is swapped. "
    elif swap > SAME:
        text = (
            f"Swapping “{first}” and “{second}” changes a weight of “{tokens[-1]}” by {swap:.2g}. "
        )
    else:
        text = f"Swapping “{first}” and “{second}” changes nothing for “{tokens[-1]}”. "
    if start == 0:
        return text + "Move the sentence: do the weights follow, and does the score?"
    move = (state["weights"] - state["unmoved"]).abs().max().item()
    if move > SAME:
        return text + f"Moving the sentence by {start} changes a weight by {move:.2g}."
    if settings["scheme"] == NONE:
        return text + f"Moving the sentence by {start} changes nothing: no position is known."
    return text + f"Moving the sentence by {start} changes nothing: only the distance counts."


def _facts(settings: Settings) -> dict[str, str]:
    scheme = settings["scheme"]
    if scheme == LEARNED:
        return {"added to every token": f"a row of an untrained table ({TABLE}, 4), times ten"}
    if scheme == SINUSOIDS:
        return {"added to every token": "cosine and sine of a fast and of a slow hand"}
    if scheme == LINEAR:
        return {"added to every score": "-1 for each position between query and key"}
    if scheme == ALIBI:
        slope = alibi_slopes(settings["num_heads"])[settings["head"]].item()
        return {"added to every score": f"-{slope:.3g} for each position between query and key"}
    if scheme == ROTARY:
        speeds = rotary_frequencies(4, 2, settings["theta"])[1].angle().tolist()
        each = " and ".join(f"{speed:.3g}" for speed in speeds)
        return {"queries and keys are turned by": f"{each} radians for each position"}
    return {"added to tokens and scores": "nothing"}


def positions_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same weights."""
    scheme, start, head = settings["scheme"], settings["start"], settings["head"]
    names, placed, extra = "", "queries, keys = x @ attention.W_query, x @ attention.W_key", ""
    if scheme == LEARNED:
        names, seed = "LearnedPositions", settings["seed"]
        placed = (
            f"torch.manual_seed({seed})\n"
            f"x = x + 10 * LearnedPositions({TABLE}, 4).weight[{start} : {start} + len(x)]\n"
            f"{placed}"
        )
    elif scheme == SINUSOIDS:
        names = "rotary_frequencies"
        placed = (
            f"hands = rotary_frequencies(4, {start} + len(x))[{start}:]\n"
            f"x = x + torch.view_as_real(hands).flatten(start_dim=1)\n{placed}"
        )
    elif scheme == LINEAR:
        names, extra = "linear_bias", " + linear_bias(len(x))"
    elif scheme == ALIBI:
        names, extra = "alibi_bias", f" + alibi_bias({settings['num_heads']}, len(x))[{head}]"
    elif scheme == ROTARY:
        names, theta = "apply_rotary, rotary_frequencies", settings["theta"]
        call = f"{start} + len(x), {theta})[{start}:]" if start else f"len(x), {theta})"
        placed = (
            f"turns = rotary_frequencies(4, {call}\n"
            "projected = x @ attention.W_query, x @ attention.W_key\n"
            "queries, keys = (apply_rotary(numbers, turns) for numbers in projected)"
        )
    scores = f"queries @ keys.T / 4**0.5{extra}"
    imports = [f"from chapter3_helpers.positions import {names}"] if names else []
    if settings["causal"]:
        imports.insert(0, "from chapter3_helpers.masking import mask_scores")
        scores = f"mask_scores({scores})"
    return [
        "import torch",
        *imports,
        "from chapter3_helpers.sentence import embed_text",
        "from chapter3_helpers.trainable_qkv import SelfAttention_v1",
        "",
        f"tokens, x = embed_text({settings['text']!r}, d_in=4)",
        f"torch.manual_seed({settings['seed']})",
        "attention = SelfAttention_v1(4, 4)",
        placed,
        f"weights = torch.softmax({scores}, dim=-1).detach()",
    ]


positions_explorer = explorer_function("positions", CONTROLS, positions_panels, positions_code)
