"""The explorer of ``02_softmax``: one score is moved, and two rules share out a total of 1."""

from typing import NamedTuple

import torch

from chapter3_helpers._language import say, sentences
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
        (say("{value} (as it was)", value=brief(score)) if score == own else brief(score), score)
        for score in sorted({*SCORES, own})
    ]


CONTROLS = (
    Buttons(
        "token",
        say("change the score of"),
        TOKENS.index("step"),
        say("Which token gets another score"),
        options=[(token, i) for i, token in enumerate(TOKENS)],
    ),
    Steps(
        "score",
        say("to"),
        -2.0,
        say("The score that this token gets"),
        options=_score_options,
        returns_to=own_score,
        returns_when=("token",),
    ),
    Steps(
        "temperature",
        say("temperature"),
        1.0,
        say("Every score is divided by it before softmax"),
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
            say("softmax: what “journey” spends on each"),
            labels,
            weights,
            side="key",
            click={"k": "key"},
            marked_row=key,
            scale=shares,
        ),
        Bars(say("divided by the sum"), labels, shares, beside=True, scale=weights),
        *path,
    ]


def _note(weights: torch.Tensor, shares: torch.Tensor, temperature: float) -> str:
    most = {"token": TOKENS[int(weights.argmax())], "share": f"{weights.max():.0%}"}
    said = say("Softmax: “{token}” gets most, {share} of the total.", **most)
    if weights.max() - weights.min() < 0.02:
        said = say("Softmax: every weight is close to 1/6.")
    elif weights.max() > 0.99:
        said = say("Softmax: “{token}” takes nearly everything.", **most)
    low, high = (f"{share:.0%}".replace("-", "−") for share in (shares.min(), shares.max()))
    give = say(
        "Divided by their sum, the scores give shares from {low} to {high}.", low=low, high=high
    )
    if (shares >= 0).all():
        give = say(
            "Divided by their sum, the scores give most to “{token}”, {share}.",
            token=TOKENS[int(shares.argmax())],
            share=high,
        )
    brackets = say(
        "In brackets: each score divided by the temperature, {temperature}.",
        temperature=f"{temperature:g}",
    )
    return sentences(said, give) if temperature == 1 else sentences(said, give, brackets)


softmax_explorer = explorer_function(
    "softmax_explorer", "softmax", CONTROLS, softmax_state, softmax_panels
)
