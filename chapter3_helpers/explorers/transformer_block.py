"""The explorer of ``09_transformer_block``: a trained model writes on, word by word.

Type a beginning, pick a head, and see what the last word looks at and what may come next. The
model is trained when the explorer is first shown; that takes some seconds.
"""

from typing import Any

import torch

from chapter3_helpers.explorers.core.controls import (
    Seed,
    Settings,
    Slider,
    Steps,
    TextField,
    Thumbnails,
)
from chapter3_helpers.explorers.core.inputs import read_tokens
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.panels import Bars, Facts, Heads, Matrix, Note, Panel
from chapter3_helpers.explorers.core.source import source_of
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.training.docstring_model import CONTEXT_LENGTH, trained_model
from chapter3_helpers.training.next_word import docstring_text

HEADS, LIKELIEST = 4, 8
TEMPERATURES = (0.1, 0.2, 0.5, 0.8, 1.0, 1.5, 2.0, 5.0)

CONTROLS = (
    TextField("text", "beginning", "Return true if the", "Type how a docstring may begin"),
    Slider(
        "written",
        "new words",
        0,
        "How many words the model has drawn and appended",
        low=0,
        high=20,
        play=700,
    ),
    Steps(
        "temperature",
        "temperature",
        1.0,
        "Logits are divided by it: below 1 the likeliest words gain, above 1 the others",
        options=[(f"{temperature:g}", temperature) for temperature in TEMPERATURES],
    ),
    Seed("seed", "seed", 123, "Another seed draws other words"),
    Thumbnails(
        "head",
        "head",
        2,
        "Whose weights to look at",
        options=[(f"head {head}", head) for head in range(HEADS)],
    ),
)


def transformer_block_state(settings: Settings) -> dict[str, Any]:
    """Let the model write on, and return what it then sees and expects.

    Returns:
        ``ids`` (T,): what is read, the last 32 words; ``tokens``: as they are written;
        ``appended``: those that the model drew; ``weights`` (H, T, T); ``chances``: how likely
        each word that has a number of its own is to come next.

    Raises:
        ValueError: there is no word in the text, or there are too many.
    """
    tokens = read_tokens(settings["text"])
    model, corpus = trained_model().model, docstring_text()
    ids, generator = corpus.read(settings["text"]), torch.Generator().manual_seed(settings["seed"])
    with torch.inference_mode():
        for step in range(settings["written"] + 1):
            read = ids[-CONTEXT_LENGTH:]
            logits = model(read)[-1, 1:]  # without <rare>
            chances = torch.softmax(logits / settings["temperature"], dim=0)
            if step < settings["written"]:
                drawn = 1 + torch.multinomial(chances, 1, generator=generator)
                ids = torch.cat([ids, drawn])
        weights = model.attention_weights(read)
    appended = tuple(corpus.vocabulary[i] for i in ids[len(tokens) :].tolist())
    return {
        "ids": read,
        "tokens": (*tokens, *appended)[-CONTEXT_LENGTH:],
        "appended": appended,
        "weights": weights,
        "chances": chances,
    }


def transformer_block_panels(settings: Settings) -> list[Panel]:
    """Return what may come next, and where one head looks."""
    state, text = transformer_block_state(settings), docstring_text()
    tokens, weights = state["tokens"], state["weights"]
    labels = [
        token if number else f"{token} (rare)"
        for token, number in zip(tokens, state["ids"].tolist(), strict=True)
    ]
    chances, best = state["chances"].topk(LIKELIEST)
    likely = [text.vocabulary[1 + i] for i in best.tolist()]
    head, last = settings["head"], len(tokens) - 1
    future = causal_mask(len(tokens))
    return [
        Note(_note(settings["text"], state, likely[0])),
        Heads("attention weights", weights, future, head, control="head"),
        Bars("what may come next", likely, chances, decimals=2),
        Lines(f"head {head}", weights[head], labels, hidden=future, picked=last),
        Matrix(f"weights of head {head}", weights[head], labels, hidden=future, picked=last),
        Facts(
            {
                "words that the model knows": len(text.vocabulary) - 1,
                "it reads the last": f"{CONTEXT_LENGTH} words",
                "as hard as choosing among": f"{_spread(state['chances']):.0f} words",
            },
            "the model",
        ),
    ]


def _spread(chances: torch.Tensor) -> float:
    """Return among how many equally likely words one seems to choose."""
    return torch.special.entr(chances).sum().exp().item()


def _note(beginning: str, state: dict[str, Any], likeliest: str) -> str:
    written = " ".join([beginning.strip(), *state["appended"]])
    return f"“{written}” … next, most likely: “{likeliest}”, {state['chances'].max():.0%}."


transformer_block_explorer = explorer_function(
    "a trained model", CONTROLS, transformer_block_panels, source_of(transformer_block_state)
)
