"""The explorer of ``02_softmax``: one score is moved, and two rules share out a total of 1."""

from typing import NamedTuple

import torch

from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.dot_products import attention_scores
from chapter3_helpers.explorers.core.controls import Buttons, Steps
from chapter3_helpers.explorers.core.inputs import clicked_query_and_key
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Bars, Note, Panel
from chapter3_helpers.explorers.core.style import brief, written
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.sentence import TOKENS, example_inputs
from chapter3_helpers.softmax import softmax

TEMPERATURES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0)
SCORES = (*[half / 2 for half in range(-20, 21)], 20.0, 50.0, 100.0, 1000.0)


def own_score(token: int) -> float:
    """Return the score that a token has before it is changed, as it is written."""
    return round(float(attention_scores(example_inputs())[1, token]), 2)


def _score_options(token: int) -> list[tuple[str, float]]:
    own = own_score(token)
    return [
        (brief(score) + " (as it was)" * (score == own), score) for score in sorted({*SCORES, own})
    ]


CONTROLS = (
    Buttons(
        "token",
        "change the score of",
        TOKENS.index("step"),
        "Which token gets another score",
        options=[(token, i) for i, token in enumerate(TOKENS)],
    ),
    Steps(
        "score",
        "to",
        -2.0,
        "The score that this token gets",
        options=_score_options,
        returns_to=own_score,
        returns_when=("token",),
    ),
    Steps(
        "temperature",
        "temperature",
        1.0,
        "Every score is divided by it before softmax",
        options=[(f"{temperature:g}", temperature) for temperature in TEMPERATURES],
    ),
    clicked_query_and_key(lambda: TOKENS)[1],
)


class SoftmaxState(NamedTuple):
    """What is made of six scores, (6,) each."""

    scores: torch.Tensor
    shares: torch.Tensor  # divided by their sum
    weights: torch.Tensor  # softmax


@as_torch_starts()
def softmax_state(*, token: int, score: float, temperature: float) -> SoftmaxState:
    """Change one of the scores of ``journey``, and share out a total of 1."""
    scores = attention_scores(example_inputs())[1]
    if score != own_score(token):  # which has two decimals
        scores[token] = score
    scores = scores / temperature
    return SoftmaxState(scores, scores / scores.sum(), softmax(scores))


def softmax_panels(state: SoftmaxState, *, temperature: float, key: int | None) -> list[Panel]:
    """Return what to watch, and the weights beside the quotients, on one scale.

    A click explains a weight, so the quotients beside it answer neither to it nor to pointing.
    """
    scores, weights, shares = state.scores, state.weights, state.shares
    labels = [f"{token} ({written(score)})" for token, score in zip(TOKENS, scores, strict=True)]
    path = []
    if key is not None:
        divided = {} if temperature == 1 else {"temperature": temperature}
        how = {"scores": (scores * temperature)[None], "askers": ["journey"], **divided}
        path = [NumberPath(TOKENS, 0, key, values=example_inputs(), **how)]
    return [
        Note(_note(weights, shares, temperature)),
        Bars(
            "softmax: what “journey” spends on each",
            labels,
            weights,
            side="key",
            click={"k": "key"},
            marked_row=key,
            scale=shares,
        ),
        Bars("divided by the sum", labels, shares, beside=True, scale=weights),
        *path,
    ]


def _note(weights: torch.Tensor, shares: torch.Tensor, temperature: float) -> str:
    said = f"“{TOKENS[int(weights.argmax())]}” gets most, {weights.max():.0%} of the total"
    if weights.max() - weights.min() < 0.02:
        said = "every weight is close to 1/6"
    elif weights.max() > 0.99:
        said = f"“{TOKENS[int(weights.argmax())]}” takes nearly everything"
    if (shares >= 0).all():
        give = f"most to “{TOKENS[int(shares.argmax())]}”, {shares.max():.0%}"
    else:
        low, high = (f"{share:.0%}".replace("-", "−") for share in (shares.min(), shares.max()))
        give = f"shares from {low} to {high}"
    said = f"Softmax: {said}. Divided by their sum, the scores give {give}."
    if temperature != 1:
        said += f" In brackets: each score divided by the temperature, {temperature:g}."
    return said


softmax_explorer = explorer_function(
    "softmax_explorer", "softmax", CONTROLS, softmax_state, softmax_panels
)
