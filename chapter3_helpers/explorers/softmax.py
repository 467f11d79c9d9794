"""The explorer of ``02_softmax``: temperature, and one very large score."""

import torch

from chapter3_helpers.dot_products import attention_scores
from chapter3_helpers.explorers.controls import Settings, Steps
from chapter3_helpers.explorers.panels import Bars, Facts, Note, Panel, four_decimals
from chapter3_helpers.explorers.widget import explorer_function
from chapter3_helpers.sentence import TOKENS, example_inputs
from chapter3_helpers.softmax import softmax, softmax_naive

TEMPERATURES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0)
RAISED_TO = (*range(-10, 11), 20, 50, 80, 88, 89, 100, 200, 500, 1000)

CONTROLS = (
    Steps(
        "temperature",
        "temperature",
        1.0,
        "Every score is divided by it before softmax",
        options=TEMPERATURES,
    ),
    Steps(
        "token",
        "raised token",
        TOKENS.index("step"),
        "Which token gets another score",
        options=[(token, i) for i, token in enumerate(TOKENS)],
    ),
    Steps(
        "score",
        "its score",
        4,
        "The score that this token gets; beyond 88 times the temperature the formula overflows",
        options=RAISED_TO,
    ),
)


def softmax_state(settings: Settings) -> dict[str, torch.Tensor]:
    """Return the scores of ``journey`` with one of them changed, and their weights, (6,) each."""
    scores = attention_scores(example_inputs())[1]
    scores[settings["token"]] = float(settings["score"])
    scores = scores / settings["temperature"]
    return {"scores": scores, "naive": softmax_naive(scores), "weights": softmax(scores)}


def softmax_panels(settings: Settings) -> list[Panel]:
    """Return the weights, what the plain formula makes of them, and what to watch."""
    state = softmax_state(settings)
    weights, naive = state["weights"], state["naive"]
    facts = {
        "scores / temperature": four_decimals(state["scores"]),
        "largest exponential": f"{state['scores'].max().exp().item():.4g}",
        "plain formula": four_decimals(naive),
        "maximum subtracted": four_decimals(weights),
        "sum": f"{weights.sum().item():.4f}",
    }
    return [
        Note(_note(weights, naive)),
        Bars("what “journey” attends to", TOKENS, weights),
        Facts(facts, "the numbers"),
    ]


def _note(weights: torch.Tensor, naive: torch.Tensor) -> str:
    if not torch.isfinite(naive).all():
        return (
            "The largest exponential is beyond float32, so the plain formula gives nan; with the "
            "maximum subtracted the weights are as they should be."
        )
    largest = TOKENS[int(weights.argmax())]
    if weights.max() > 0.99:
        return f"“{largest}” takes nearly everything: softmax is close to a plain argmax here."
    if weights.max() - weights.min() < 0.02:
        return "All weights are nearly 1/6: softmax is close to a plain mean here."
    return f"“{largest}” gets the largest share, {weights.max():.4f}; the others share the rest."


def softmax_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same weights."""
    return [
        "from chapter3_helpers.dot_products import attention_scores",
        "from chapter3_helpers.sentence import example_inputs",
        "from chapter3_helpers.softmax import softmax",
        "",
        "scores = attention_scores(example_inputs())[1]",
        f"scores[{settings['token']}] = {settings['score']}",
        f"scores = scores / {settings['temperature']:g}",
        "weights = softmax(scores)",
    ]


softmax_explorer = explorer_function("softmax", CONTROLS, softmax_panels, softmax_code)
