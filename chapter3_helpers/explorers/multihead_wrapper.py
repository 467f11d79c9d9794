"""The explorer of ``06_multihead_wrapper``: heads that learn who and whom, or random ones."""

from typing import Any

import torch

from chapter3_helpers._figures.colours import KEY_LABEL
from chapter3_helpers.explorers.core.attention_state import projections
from chapter3_helpers.explorers.core.controls import (
    Buttons,
    Seed,
    Settings,
    Slider,
    Switch,
    TextField,
    Thumbnails,
)
from chapter3_helpers.explorers.core.inputs import (
    CELL,
    SENTENCE,
    cell_picks,
    picked_cell,
    read_sentence,
    read_tokens,
    row_picker,
    seeded,
    sentence_code,
)
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Facts, Heads, Matrix, Note, Panel
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.fused_multihead import count_parameters
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.training import who_whom

PICK = {"q": "row", "k": "key"}  # of random heads; of those that learned, a row is a head


def _learned(settings: Settings) -> bool:
    return settings["kind"] == "learned"


def _random(settings: Settings) -> bool:
    return not _learned(settings)


CONTROLS = (
    Buttons(
        "kind",
        "heads",
        "learned",
        "Trained on who and whom, or as they were drawn",
        options=[("learned", "learned"), ("random", "random")],
    ),
    Buttons(
        "learners",
        "how many",
        2,
        "The total width is the same",
        enabled=_learned,
        options=[("one, 32 wide", 1), ("two, 16 wide", 2)],
    ),
    Slider(
        "step",
        "batches of training",
        400,
        "How long they have learned",
        enabled=_learned,
        low=0,
        high=400,
        step=10,
        play=200,
    ),
    TextField(
        "names",
        "sentence",
        "Ann thanked Bob",
        "Any three words: who, verb, whom",
        enabled=_learned,
        presented=True,
    ),
    TextField(
        "text",
        SENTENCE.label,
        SENTENCE.default,
        SENTENCE.tooltip,
        enabled=_random,
        presented=True,
    ),
    Slider("num_heads", "how many", 4, "Heads side by side", enabled=_random, low=1, high=12),
    Slider(
        "d_out",
        "d_out per head",
        2,
        "What each head returns",
        enabled=_random,
        low=1,
        high=8,
        presented=False,
    ),
    Seed("seed", "seed", 123, "Another seed draws other weight matrices", enabled=_random),
    Switch(
        "stretched",
        "inputs ten times as large",
        True,
        "Untrained heads hardly choose among small inputs",
        enabled=_random,
        presented=False,
    ),
    row_picker(default=1, enabled=_random),
    Thumbnails(
        "head",
        "head",
        0,
        "Which head to read",
        enabled=_random,
        options=lambda settings: [(f"head {h}", h) for h in range(settings["num_heads"])],
    ),
    *cell_picks(lambda settings: _tokens(settings)),
)


def _tokens(settings: Settings) -> tuple[str, ...]:
    if _learned(settings):
        return who_whom.encode(settings["names"])[0]
    return read_tokens(settings["text"])


def multihead_wrapper_state(settings: Settings) -> dict[str, Any]:
    """Return the tokens; queries, keys and values (H, T, D), ``projected``; the weights (H, T, T);
    the context (T, H * d_out); and more of a kind."""
    if _learned(settings):
        tokens, x = who_whom.encode(settings["names"])
        states, losses = who_whom.trained_reader(settings["learners"])
        reader = states[settings["step"]]
        loss = losses[min(settings["step"], len(losses) - 1)]  # on the batch that comes next
        module = reader.attention
        more = {"answer": who_whom.answer(reader, settings["names"]), "loss": loss}
    else:
        tokens, x = read_sentence(settings["text"])
        x = 10 * x if settings["stretched"] else x
        with seeded(settings["seed"]):
            module = MultiHeadAttentionWrapper(
                3, settings["d_out"], len(x), 0.0, settings["num_heads"]
            )
        more = {"parameters": count_parameters(module)}
    with torch.no_grad():
        weights, context = module.attention_weights(x), module(x)
        projected = projections(module, x, len(weights))
    shown = {"tokens": tokens, "projected": projected, "weights": weights, "context": context}
    return shown | more


def multihead_wrapper_panels(settings: Settings) -> list[Panel]:
    """Return what heads see: of the full stop where they have learned, of any token otherwise."""
    state = multihead_wrapper_state(settings)
    return _learned_panels(state, settings) if _learned(settings) else _panels(state, settings)


def _learned_panels(state: dict[str, Any], settings: Settings) -> list[Panel]:
    tokens, rows = state["tokens"], state["weights"][:, -1]  # (H, T)
    names = [f"head {head}" for head in range(len(rows))] if len(rows) > 1 else ["the head"]
    who, whom = state["answer"]
    right = [who == tokens[0], whom == tokens[2]]
    verdict = "both right" if all(right) else "one right" if any(right) else "both wrong"
    sentence = " ".join(tokens[:-1])
    title = "where the full stop looks"
    cell = picked_cell(settings, rows)
    head, column = cell or (None, None)
    at = {"picked": head, "picked_column": column}
    return [
        Note(
            f"After {settings['step']} batches, “{sentence}” – who? “{who}”. Whom? “{whom}”: "
            f"{verdict}. The loss on one batch is {state['loss']:.2f}."
        ),
        Lines(title, rows, names, tokens, sides="from head to token", pick=CELL),
        Matrix(title, rows, names, tokens, corner=("head", KEY_LABEL), pick=CELL, **at),
        *([_path(state, head, len(tokens) - 1, column)] if cell else []),
    ]


def _path(state: dict[str, Any], head: int, row: int, column: int) -> NumberPath:
    projected = (part[head] for part in state["projected"])
    tokens = state["tokens"]
    return NumberPath(tokens, row, column, *projected, hidden=causal_mask(len(tokens)))


def _panels(state: dict[str, Any], settings: Settings) -> list[Panel]:
    tokens, weights = state["tokens"], state["weights"]
    heads, d_out = settings["num_heads"], settings["d_out"]
    row, head = settings["row"], settings["head"]
    hidden, key = causal_mask(len(tokens)), settings.get("key")
    columns = [f"{number}.{i}" for number in range(heads) for i in range(d_out)]
    facts = {
        "context": f"({len(tokens)}, {heads} · {d_out}) = {tuple(state['context'].shape)}",
        "parameters": f"{heads} · 3 · 3 · {d_out} = {state['parameters']}",
    }
    return [
        Heads(weights, hidden),
        Note(_note(weights, tokens, row)),
        Lines(f"head {head}", weights[head], tokens, hidden=hidden, picked=row, pick=PICK),
        Matrix(
            f"head {head}",
            weights[head],
            tokens,
            hidden=hidden,
            picked=row,
            picked_column=key,
            pick=PICK,
        ),
        *([_path(state, head, row, key)] if key is not None else []),
        Matrix(
            "context vectors: heads side by side (head.number)",
            state["context"],
            tokens,
            columns,
            signed=True,
            picked=row,
            corner=("token", "head.number"),
        ),
        Facts(facts, "shape and cost"),
    ]


def _note(weights: torch.Tensor, tokens: tuple[str, ...], row: int) -> str:
    if row == 0:
        return f"“{tokens[0]}” comes first and sees only itself, in every head."
    favourites = {tokens[int(key)] for key in weights[:, row].argmax(dim=-1)}
    listed = ", ".join(f"“{token}”" for token in tokens if token in favourites)
    return f"Asked by “{tokens[row]}”, the heads give their largest weight to: {listed}."


def multihead_wrapper_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same weights and context vectors."""
    if _learned(settings):
        return [
            "from chapter3_helpers.training import who_whom",
            "",
            f"states, losses = who_whom.trained_reader(num_heads={settings['learners']})",
            f"reader = states[{settings['step']}]  # after so many of 400 batches",
            f"tokens, x = who_whom.encode({settings['names']!r})",
            "weights = reader.attention.attention_weights(x).detach()",
            "context = reader.attention(x).detach()",
            f"answer = who_whom.answer(reader, {settings['names']!r})",
        ]
    imported, sentence = sentence_code(settings["text"])
    arguments = f"3, {settings['d_out']}, len(x), 0.0, {settings['num_heads']}"
    return [
        "import torch",
        "from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper",
        imported,
        "",
        sentence,
        *(["x = 10 * x  # so that untrained heads show what they prefer"] * settings["stretched"]),
        f"torch.manual_seed({settings['seed']})",
        f"attention = MultiHeadAttentionWrapper({arguments})",
        "weights = attention.attention_weights(x).detach()",
        "context = attention(x).detach()",
    ]


multihead_wrapper_explorer = explorer_function(
    "several heads", CONTROLS, multihead_wrapper_panels, multihead_wrapper_code
)
