"""The explorer of ``05_dropout``: draw after draw, and the mean that they come to."""

from dataclasses import replace
from typing import NamedTuple

import torch

from chapter3_helpers._language import say, sentences
from chapter3_helpers._switches import as_torch_starts, seeded
from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.dropout import dropout_mask
from chapter3_helpers.explorers.core.controls import Buttons, Seed, Slider, Switch
from chapter3_helpers.explorers.core.inputs import (
    CLICK_CELL,
    clicked_cell,
    clicked_query_and_key,
)
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Facts, Matrix, Note, Panel
from chapter3_helpers.explorers.core.style import quoted
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.sentence import TOKENS, example_inputs

SEED = 123  # of the matrices of the notebook's class


def _in_training(training: bool) -> bool:
    return training


CONTROLS = (
    Slider(
        "draw",
        say("draw"),
        4,
        say("Every draw tosses new coins for all the weights"),
        shown_if=_in_training,
        low=1,
        high=200,
        play=400,
    ),
    Slider(
        "p",
        "p",
        0.5,
        say("The probability that a weight is dropped"),
        shown_if=_in_training,
        low=0.0,
        high=0.9,
        step=0.05,
    ),
    Switch(
        "training",
        say("training"),
        True,
        say("Dropout works in training only; model.eval() ends it"),
    ),
    Seed("seed", say("seed"), 123, say("Another seed, other coins"), shown_if=_in_training),
    Buttons(
        "coins",
        say("coins"),
        "native",
        say("The two ways in which PyTorch has tossed them"),
        shown_if=_in_training,
        presented=False,
        options=[("native", "native"), ("mkl", "mkl")],
    ),
    *clicked_query_and_key(lambda: TOKENS),
)


class DropoutState(NamedTuple):
    """Queries and keys (6, 2); causal weights (6, 6), and what dropout makes of them."""

    queries: torch.Tensor
    keys: torch.Tensor
    weights: torch.Tensor
    dropped: torch.Tensor  # what this draw leaves of the weights
    mean: torch.Tensor  # of all draws so far
    times: torch.Tensor  # how many of them kept each weight


@as_torch_starts()
def dropout_state(*, draw: int, p: float, training: bool, seed: int, coins: str) -> DropoutState:
    """Drop weights so many times."""
    with seeded(SEED):
        attention = CausalAttention(3, 2, context_length=len(TOKENS), dropout=0.0)
    x = example_inputs()  # (6, 3)
    with torch.no_grad():
        weights = attention.attention_weights(x)
        queries, keys = attention.W_query(x), attention.W_key(x)
    kept, share = torch.ones(1, *weights.shape), 1.0  # in evaluation nothing is dropped
    if training:
        kept, share = dropout_mask((draw, *weights.shape), p, seed, coins), 1 - p
    draws = weights * kept / share  # (draws, 6, 6)
    mean, times = draws.mean(dim=0), kept.sum(dim=0).int()
    return DropoutState(queries, keys, weights, draws[-1], mean, times)


def dropout_panels(
    state: DropoutState, *, draw: int, p: float, training: bool, query: int | None, key: int | None
) -> list[Panel]:
    """Return what one draw leaves of the weights, the mean of all draws so far, the weights
    themselves, and row sums."""
    hidden = causal_mask(len(TOKENS))
    title, mean = say("weights, as they are in evaluation"), say("their mean")
    if training:
        title = say("draw {draw}, divided by 1 - p", draw=draw)
        mean = say("mean of 1 draw") if draw == 1 else say("mean of {draws} draws", draws=draw)
    row, column = clicked_cell(query, key, state.weights)
    clickable = Matrix(
        mean,
        state.mean,
        TOKENS,
        hidden=hidden,
        marked_row=row,
        marked_column=column,
        decimals=2,
        beside=True,
        narrow=True,
        click=CLICK_CELL,
    )
    panels: list[Panel] = [
        Note(_note(state, draw, p) if training else OFF),
        replace(clickable, title=title, values=state.dropped, dropped=state.dropped == 0),
        clickable,
    ]
    if training:
        made = replace(
            clickable, title=say("what softmax made"), values=state.weights, decimals=None
        )
        panels.append(made)
    if row is not None:
        path = NumberPath(TOKENS, row, column, state.queries, state.keys, hidden=hidden)
        kept = (state.dropped > 0) | hidden  # what is hidden has nothing to lose
        times = int(state.times[row, column]), draw
        panels.append(replace(path, kept=kept, p=p, times=times) if training else path)
    sums = {say("this draw"): _sums(state.dropped), say("mean so far"): _sums(state.mean)}
    return [*panels, Facts(sums, say("sums of the rows"))]


def _sums(weights: torch.Tensor) -> str:
    return " · ".join(
        f"{token} {row.sum():.2f}" for token, row in zip(TOKENS, weights, strict=True)
    )


OFF = say("Outside training nothing is dropped and nothing is scaled, whatever p and seed are.")


def _note(state: DropoutState, draw: int, p: float) -> str:
    of = {"draw": draw, "times": f"{1 / (1 - p):.2f}"}
    lost = [
        quoted(token) for token, row in zip(TOKENS, state.dropped, strict=True) if not row.any()
    ]
    said = say(
        "In draw {draw} every token keeps something; what is kept counts {times} times.", **of
    )
    if lost:
        said = say(
            "In draw {draw} {tokens} lost everything; what is kept counts {times} times.",
            tokens=say(" and ").join(lost),
            **of,
        )
    mean = say(
        "The mean so far is at most {off} away from what softmax made.",
        off=f"{(state.mean - state.weights).abs().max():.2f}",
    )
    return sentences(said, mean)


dropout_explorer = explorer_function(
    "dropout_explorer", say("dropout"), CONTROLS, dropout_state, dropout_panels
)
