"""The second explorer of ``03_trainable_qkv``: an adjective learns to find its noun."""

from typing import Any

import torch

from chapter3_helpers.explorers.core.controls import Buttons, Settings, Steps, TextField
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.inputs import clicked_query_and_key, read_tokens, row_buttons
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Bars, Note, Panel
from chapter3_helpers.explorers.core.source import explorer_function, source_of
from chapter3_helpers.tasks.pronoun_sentences import PRONOUNS, encode, find_answer
from chapter3_helpers.tasks.pronouns import trained_reader

SENTENCE = "The dog left the milk in the glass because it was sour"
BATCHES = (*range(0, 100, 5), *range(100, 200, 20), 200, 300, 400, 500)
SMOOTH = 5  # batches whose losses make one point of the curve
ROW, NUMBER = "where it looks", "one number"
CLICK = {"q": "query", "k": "column", "show": NUMBER}


def _tokens(settings: Settings) -> tuple[str, ...]:
    read_tokens(settings["text"])  # refuses what can't be drawn
    return encode(settings["text"])[0]


CONTROLS = (
    Buttons(
        "show",
        "show",
        ROW,
        "Where the adjective looks, or the arithmetic of one of its weights",
        options=(ROW, NUMBER),
    ),
    Steps(
        "batches",
        "batches",
        45,
        "How long it has learned",
        options=BATCHES,
        play=400,
    ),
    TextField(
        "text",
        "sentence",
        SENTENCE,
        "Type a sentence of its 38 words, with one adjective and a noun that it fits",
    ),
    row_buttons(
        4,
        _tokens,
        name="column",
        label="about",
        tooltip="Whose key the adjective's query meets",
        presented=False,
    ),
    clicked_query_and_key(lambda settings: read_tokens(settings["text"]))[0],
)


def pronouns_state(settings: Settings) -> dict[str, Any]:
    """Return tokens, queries, keys and values (T, 3), weights (T, T), the adjective's row of them,
    and its three probabilities."""
    tokens, x = encode(settings["text"])
    answer = find_answer(tokens)
    reader = trained_reader().states[settings["batches"]]
    weights = reader.attention_weights(x)
    return {
        "tokens": tokens,
        "answer": answer,
        "queries": reader.W_query(x),
        "keys": reader.W_key(x),
        "values": reader.W_value(x),
        "weights": weights,
        "row": weights[answer.adjective],
        "probabilities": torch.softmax(reader(x)[answer.adjective], dim=-1),
    }


def pronouns_panels(settings: Settings) -> list[Panel]:
    """Return where every word looks, which pronoun is likely, and how the loss has fallen; or the
    path of one number in place of the loss."""
    read_tokens(settings["text"])  # refuses what can't be drawn
    state = pronouns_state(settings)
    tokens, answer = state["tokens"], state["answer"]
    number, row = settings["show"] == NUMBER, answer.adjective
    if number and settings.get("query") is not None:
        row = settings.get("query")
    lines = Lines("attention weights", state["weights"], tokens, marked_row=row, click=CLICK)
    says = Bars("what “it” is", PRONOUNS, state["probabilities"], decimals=2)
    if number:
        column = min(settings["column"], len(tokens) - 1)
        projected = (state[name] for name in ("queries", "keys", "values"))
        path = NumberPath(tokens, row, column, *projected)
        return [Note(_note(settings["batches"], state)), lines, path, says]
    losses = torch.tensor(trained_reader().losses).view(-1, SMOOTH).mean(dim=1)
    numbered = [f"{i} {token}" for i, token in enumerate(tokens)]
    return [
        Note(_note(settings["batches"], state)),
        lines,
        Bars(
            f"where “{tokens[answer.adjective]}” looks",
            numbered,
            state["row"],
            decimals=2,
            side="k",
        ),
        Curves(
            "loss, by batches",
            "batches",
            "loss",
            torch.arange(len(losses)) * SMOOTH + SMOOTH / 2,
            {f"mean of {SMOOTH} batches": losses},
            mark=settings["batches"],
        ),
        says,
    ]


def _note(batches: int, state: dict[str, Any]) -> str:
    tokens, answer, row = state["tokens"], state["answer"], state["row"]
    adjective, noun = tokens[answer.adjective], tokens[answer.noun]
    most = int(row.argmax())
    if row.max() - row.min() < 0.08:
        looks = f"“{adjective}” looks at everything alike"
    else:
        looks = f"“{adjective}” looks most at “{tokens[most]}” ({row[most]:.2f})"
    said = PRONOUNS[int(state["probabilities"].argmax())]
    if said == answer.pronoun:
        verdict = f"and says “{said}”, which is right: “{noun}” is meant."
    else:
        verdict = f"and says “{said}”; “{noun}” is meant, which is “{answer.pronoun}”."
    return f"After {batches} batches {looks}, {verdict}"


pronouns_explorer = explorer_function(
    "learning to find a noun", CONTROLS, pronouns_panels, source_of(pronouns_state)
)
