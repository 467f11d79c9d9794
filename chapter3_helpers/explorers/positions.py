"""The explorer of ``08_positions``: six ways to place a sentence, a swap of words, and a move."""

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch

from chapter3_helpers._language import say, sentences, to_say
from chapter3_helpers._switches import as_torch_starts, seeded
from chapter3_helpers.diagrams import Diagram, Plane
from chapter3_helpers.explorers.core.controls import (
    Buttons,
    Seed,
    Slider,
    Steps,
    Switch,
    TextField,
    Thumbnails,
)
from chapter3_helpers.explorers.core.drawings import Curves, Flow
from chapter3_helpers.explorers.core.inputs import (
    clicked_cell,
    clicked_query_and_key,
    options_of,
    read_sentence,
    read_tokens,
    token_options,
    weights_and_path,
)
from chapter3_helpers.explorers.core.panels import Facts, Heads, Matrix, Note, Panel
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.masking import causal_mask, mask_scores
from chapter3_helpers.positions import (
    LearnedPositions,
    alibi_bias,
    alibi_slopes,
    apply_rotary,
    linear_bias,
    rotary_frequencies,
    sinusoids,
)
from chapter3_helpers.softmax import softmax
from chapter3_helpers.trainable_qkv import SelfAttention_v1

NONE, LEARNED, SINUSOIDS = to_say("none"), to_say("learned"), to_say("sinusoids")
LINEAR, ALIBI, ROTARY = to_say("linear bias"), "ALiBi", to_say("rotary")
THETAS = (1.0, 2.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0, 1_000_000.0)
TABLE = 512  # positions that the learned table has a vector for
REACH = 12  # how far the curve goes to either side
SAME = 5e-5  # below it, four decimals show no difference


def _is_alibi(scheme: str) -> bool:
    return scheme == ALIBI


def _head_options(num_heads: int) -> list[tuple[str, int]]:
    slopes = alibi_slopes(num_heads).tolist()
    return [(f"{head}: {slope:.3g}", head) for head, slope in enumerate(slopes)]


def _swapped(tokens: Sequence[str]) -> list[tuple[str, int]]:
    """Offer all words but the last, whose row is watched."""
    every = token_options(tokens)
    return every[:-1] or every


SWAPPED = options_of(read_tokens, _swapped)
CONTROLS = (
    Buttons(
        "scheme",
        say("positions"),
        ROTARY,
        say("How attention is told about order"),
        options=(NONE, LEARNED, SINUSOIDS, LINEAR, ALIBI, ROTARY),
    ),
    TextField(
        "text",
        say("sentence"),
        "the oven cooked the bread so",
        say("Type a sentence of your own"),
    ),
    Buttons(
        "first",
        say("swap"),
        1,
        say("Its place is swapped with the next one's"),
        options=SWAPPED,
    ),
    Buttons("second", say("with"), 4, say("Pick the same word to swap nothing"), options=SWAPPED),
    Slider(
        "start",
        say("starts at"),
        0,
        say("Where in a longer text the sentence stands"),
        low=0,
        high=200,
        play=200,
    ),
    Steps(
        "theta",
        "theta",
        10_000.0,
        say("The larger, the slower the second pair of numbers turns"),
        lambda scheme: scheme == ROTARY,
        options=[(f"{theta:,.0f}", theta) for theta in THETAS],
    ),
    Slider(
        "num_heads",
        say("heads"),
        8,
        say("How many heads share out the slopes"),
        _is_alibi,
        low=1,
        high=12,
    ),
    Switch(
        "causal",
        say("hide the future"),
        False,
        say("The causal mask, in addition"),
        presented=False,
    ),
    Seed("seed", say("seed"), 123, say("Another seed draws other weight matrices")),
    Thumbnails(
        "head",
        say("head: slope"),
        0,
        say("Which head to read, and its slope"),
        _is_alibi,
        options=_head_options,
    ),
    *clicked_query_and_key(read_tokens),
)


class PositionsState(NamedTuple):
    """What the last token and all others attend to, and one score at every distance."""

    tokens: tuple[str, ...]
    queries: torch.Tensor  # (T, 4), as they meet the keys
    keys: torch.Tensor  # (T, 4)
    bias: torch.Tensor | None  # (T, T), added to the scores of the chosen head, if anything is
    heads: torch.Tensor  # weights (H, T, T), H above 1 for ALiBi alone
    weights: torch.Tensor  # (T, T), of the chosen head
    unmoved: torch.Tensor  # (T, T), the weights where the sentence starts at 0
    swapped: torch.Tensor  # (T,), the last row with the swap, in the order of the words as typed
    curves: dict[int, torch.Tensor]  # by where the sentence starts: the last token's score with the
    # first swapped word at each distance, (25,)


@as_torch_starts()
def positions_state(
    *,
    scheme: str,
    text: str,
    first: int,
    second: int,
    start: int,
    theta: float,
    num_heads: int,
    causal: bool,
    seed: int,
    head: int,
) -> PositionsState:
    """Attend to a sentence as it is typed, with two words swapped, and where it starts at 0.

    Raises:
        ValueError: the sentence is empty or too long to be drawn.
    """
    tokens, x = read_sentence(text, d_in=4)
    order = list(range(len(tokens)))
    order[first], order[second] = order[second], order[first]
    head = head if scheme == ALIBI else 0  # the others have one head
    with seeded(seed):
        attention = SelfAttention_v1(4, 4)
    place = partial(place_tokens, attention, scheme, theta, num_heads, seed)
    with torch.no_grad():
        queries, keys, bias = place(x, x, start)
        heads = softmax(scores_of(queries, keys, bias, causal))  # (H, T, T)
        swapped = softmax(scores_of(*place(x[order], x[order], start), causal))
        unmoved = softmax(scores_of(*place(x, x, 0), causal))
        asking, asked = x[-1].expand(2 * REACH + 1, 4), x[first].expand(2 * REACH + 1, 4)
        curves = {  # the query stands in the middle
            begin: scores_of(*place(asking, asked, begin), causal)[head, REACH]
            for begin in sorted({0, start})
        }
    return PositionsState(
        tokens,
        queries,
        keys,
        None if bias is None else bias[head],
        heads,
        heads[head],
        unmoved[head],
        swapped[head, -1, order],
        curves,
    )


def place_tokens(
    attention: SelfAttention_v1,
    scheme: str,
    theta: float,
    num_heads: int,
    seed: int,
    asking: torch.Tensor,
    asked: torch.Tensor,
    start: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Return queries and keys (T, 4) that know their places, and what is added to the scores for
    the distance, (H, T, T), if that is the way.

    Args:
        asking, asked: tokens (T, 4), from ``start`` on.
    """
    T = len(asking)
    if scheme == LEARNED:
        with seeded(seed):
            table = 10 * LearnedPositions(TABLE, 4).weight  # untrained; turned up to be seen
        asking, asked = (x + table[start : start + T] for x in (asking, asked))
    elif scheme == SINUSOIDS:
        table = sinusoids(start + T, 4)
        asking, asked = (x + table[start:] for x in (asking, asked))
    queries, keys = asking @ attention.W_query, asked @ attention.W_key
    bias = None
    if scheme == ROTARY:
        turns = rotary_frequencies(4, start + T, theta)[start:]
        queries, keys = apply_rotary(queries, turns), apply_rotary(keys, turns)
    elif scheme == LINEAR:
        bias = linear_bias(T)[None]
    elif scheme == ALIBI:
        bias = alibi_bias(num_heads, T)
    return queries, keys, bias


def scores_of(
    queries: torch.Tensor, keys: torch.Tensor, bias: torch.Tensor | None, causal: bool
) -> torch.Tensor:
    """Return the scaled scores (H, T, T) of queries and keys (T, 4)."""
    scores = (queries @ keys.T / 4**0.5).unsqueeze(0)
    if bias is not None:
        scores = scores + bias  # (1, T, T) -> (H, T, T)
    return mask_scores(scores) if causal else scores


def positions_panels(
    state: PositionsState,
    *,
    scheme: str,
    first: int,
    second: int,
    start: int,
    theta: float,
    num_heads: int,
    causal: bool,
    head: int,
    query: int | None,
    key: int | None,
) -> list[Panel]:
    """Return the weights, the last row without and with the swap, and the score by distance."""
    tokens, last = state.tokens, len(state.tokens) - 1
    hidden = causal_mask(len(tokens)) if causal else None
    scores = torch.cat([*state.curves.values()])
    scores = scores[scores.isfinite()].tolist()
    slope = alibi_slopes(num_heads)[head].item()
    title = say("weights, positions: {scheme}", scheme=say(scheme))
    if scheme == ALIBI:
        title = say("weights of head {head}, slope {slope}", head=head, slope=f"{slope:.3g}")
    cell = clicked_cell(query, key, state.weights)
    matrix = Matrix(title, state.weights, tokens, hidden=hidden, beside=True)
    return [
        Note(_note(state, scheme, first, second, start)),
        *([Heads(state.heads, hidden)] if scheme == ALIBI else []),
        Curves(
            say("score of “{asker}” asking “{asked}”", asker=tokens[last], asked=tokens[first]),
            say("key's position minus query's position"),
            say("score"),
            torch.arange(-REACH, REACH + 1),
            {
                say("starts at {position}", position=begin): curve
                for begin, curve in state.curves.items()
            },
            mark=first - last if last - first <= REACH else None,
            limits=(2 * math.floor(min(scores) / 2), 2 * math.ceil(max(scores) / 2)),
        ),
        *([_hands(state, first)] if scheme == ROTARY else []),
        Matrix(
            say("what “{token}” gives each word", token=tokens[last]),
            torch.stack([state.weights[-1], state.swapped]),
            [say("as typed"), say("swapped")],
            tokens,
            corner=(say("order"), say("word")),
            sides=("", ""),  # nothing here can be clicked, so nothing is pointed at
        ),
        *weights_and_path(matrix, *cell, state.queries, state.keys, bias=state.bias),
        Facts(_facts(scheme, theta, slope), say("what tells the order")),
    ]


def _hands(state: PositionsState, first: int) -> Flow:
    """Draw the pairs of numbers of the last query and of the first swapped word's key."""
    pairs = torch.stack([state.queries[-1], state.keys[first]]).view(2, 2, 2)
    planes = [
        Plane(
            name=name,
            at=(0, place),
            vectors=pairs[:, place],
            labels=[state.tokens[-1], state.tokens[first]],
            kinds=["query", "key"],
            angle=(0, 1),
            size=190,
        )
        for place, name in enumerate((say("fast pair"), say("slow pair")))
    ]
    return Flow(Diagram(say("Both turn"), planes), beside=True, narrow=True)


def _note(state: PositionsState, scheme: str, first: int, second: int, start: int) -> str:
    tokens, last = state.tokens, state.tokens[-1]
    swapped = (state.swapped - state.weights[-1]).abs().max().item()
    moved = (state.weights - state.unmoved).abs().max().item()
    said = to_say("Swapping “{first}” and “{second}” changes nothing for “{last}”.")
    if first == second:
        said = to_say("Nothing is swapped.")
    elif swapped > SAME:
        said = to_say("Swapping “{first}” and “{second}” changes a weight of “{last}” by {change}.")
    swap = {"first": tokens[first], "second": tokens[second], "change": f"{swapped:.2g}"}
    does = to_say("Moving the sentence by {start} changes a weight by {change}.")
    if start == 0:
        does = to_say("Move the sentence: do the weights change? Does the curve?")
    elif moved <= SAME and scheme == NONE:
        does = to_say("Moving the sentence by {start} changes nothing: no position is known.")
    elif moved <= SAME:
        does = to_say("Moving the sentence by {start} changes nothing: only the distance counts.")
    return sentences(say(said, last=last, **swap), say(does, start=start, change=f"{moved:.2g}"))


def _facts(scheme: str, theta: float, slope: float) -> dict[str, str]:
    if scheme == LEARNED:
        row = say("a row of an untrained table ({positions}, 4), times ten", positions=TABLE)
        return {say("added to every token"): row}
    if scheme == SINUSOIDS:
        hands = say("cosine and sine of a fast and of a slow hand")
        return {say("added to every token"): hands}
    if scheme in (LINEAR, ALIBI):
        falls = f"{slope:.3g}" if scheme == ALIBI else "1"
        bias = say("−{slope} for each position between query and key", slope=falls)
        return {say("added to every score"): bias}
    if scheme == ROTARY:
        fast, slow = (f"{x:.3g}" for x in rotary_frequencies(4, 2, theta)[1].angle().tolist())
        turn = say("{fast} and {slow} radians for each position", fast=fast, slow=slow)
        return {say("queries and keys are turned by"): turn}
    return {say("added to tokens and scores"): say("nothing")}


positions_explorer = explorer_function(
    "positions_explorer", say("positions"), CONTROLS, positions_state, positions_panels
)
