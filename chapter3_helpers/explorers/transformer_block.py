"""The explorer of ``09_transformer_block``: take an ingredient away, and see what is lost."""

from typing import Any

import torch
from torch import nn

from chapter3_helpers.copy_weights import copy_weights
from chapter3_helpers.explorers.controls import Settings, Slider, Switch, Words
from chapter3_helpers.explorers.drawings import Curves
from chapter3_helpers.explorers.inputs import read_tokens, seeded, swap_pickers
from chapter3_helpers.explorers.panels import Facts, Heads, Matrix, Note, Panel
from chapter3_helpers.explorers.widget import explorer_function
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.transformer_block import MinimalLanguageModel

D, HEADS, MOST_LINES = 8, 2, 4
SCALES = torch.linspace(-4, 4, 81, dtype=torch.float64)
NOTHING = 1e-9  # below it, a float64 has not changed


def read_words(text: str) -> tuple[tuple[str, ...], tuple[str, ...], torch.Tensor]:
    """Return the tokens, the different ones among them in order, and the ids (T,)."""
    tokens = read_tokens(text)
    vocabulary = tuple(sorted(set(tokens)))
    return tokens, vocabulary, torch.tensor([vocabulary.index(token) for token in tokens])


CONTROLS = (
    Switch("attention", "attention", True, "Off: every word keeps to itself"),
    Switch(
        "mask",
        "mask",
        True,
        "Off: every word sees the whole sentence",
        lambda settings: settings["attention"],
    ),
    Switch("positions", "positions", True, "Off: no vector says where a word stands"),
    Switch("relu", "ReLU", True, "Off: the feed-forward network is two linear layers"),
    Words("text", "sentence", "the oven cooked the bread so", "Type a sentence of your own"),
    *swap_pickers(),
    Slider("seed", "seed", 123, "Another seed draws another untrained model", low=0, high=999),
)


def transformer_block_state(settings: Settings) -> dict[str, Any]:
    """Return tokens, vocabulary; weights (H, T, T); logits and their reach; the swap; the lines.

    ``reach`` (T, T): how far the logits of a row move when the word of a column changes.
    ``swap``: the same for the last row, when two words change places. ``lines`` (81, vocabulary):
    the last row's logits, with what its word has gathered multiplied by ``SCALES``.
    """
    tokens, vocabulary, ids = read_words(settings["text"])
    T, first, second = len(ids), settings["first"], settings["second"]
    with seeded(settings["seed"]):
        model = MinimalLanguageModel(len(vocabulary), D, T, HEADS)
        unmasked = nn.MultiheadAttention(D, HEADS, batch_first=True).double()
    model = model.requires_grad_(False).double()
    feed_forward, rest = model.feed_forward, model.attention.out_proj.bias
    copy_weights(model.attention, unmasked.requires_grad_(False))  # PyTorch's own hides nothing

    def attend(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if settings["mask"]:
            return model.attention(x), model.attention.attention_weights(x)
        return unmasked(x, x, x, average_attn_weights=False)

    def place(x: torch.Tensor) -> torch.Tensor:
        return model.positions(x) if settings["positions"] else x

    def gather(x: torch.Tensor) -> torch.Tensor:
        return attend(place(x))[0] if settings["attention"] else place(x)

    def finish(gathered: torch.Tensor) -> torch.Tensor:
        inner = feed_forward.up(gathered)
        return model.output(feed_forward.down(torch.relu(inner) if settings["relu"] else inner))

    x = model.embedding(ids)  # (T, D)
    logits = finish(gather(x))  # (T, vocabulary)
    changed = x + torch.eye(T, dtype=x.dtype)[:, :, None]  # (T, T, D): text j has another word j
    order = list(range(T))
    order[first], order[second] = second, first
    own = gather(x)[-1]
    rest = rest if settings["attention"] else torch.zeros_like(own)
    weights = attend(place(x))[1]
    return {
        "tokens": tokens,
        "vocabulary": vocabulary,
        "weights": weights if settings["attention"] else torch.eye(T).expand_as(weights),
        "logits": logits,
        "reach": (finish(gather(changed)) - logits).abs().amax(dim=-1).T,
        "differ": tokens[first] != tokens[second],  # else the swap changes nothing
        "swap": (finish(gather(x[order]))[-1] - logits[-1]).abs().max().item(),
        "lines": finish(rest + SCALES[:, None] * (own - rest)),
    }


def transformer_block_panels(settings: Settings) -> list[Panel]:
    """Return who can change whom, the weights, the last word's lines, and four verdicts."""
    state = transformer_block_state(settings)
    tokens, reach, lines, moved = (state[name] for name in ("tokens", "reach", "lines", "swap"))
    T = len(tokens)
    hidden = causal_mask(T) if settings["mask"] else None
    verdicts = _verdicts(state)
    facts = {
        "hears earlier words": f"{verdicts['heard']} of {T * (T - 1) // 2} pairs",
        "could copy the answer": f"{verdicts['answers']} of {T - 1} predictions",
        "the swap moves a logit by": f"{moved:.5f}" if moved > NOTHING else "nothing",
        "bends from a straight line by": f"{verdicts['bend']:.4f}",
    }
    shown = dict(list(zip(state["vocabulary"], lines.T, strict=True))[:MOST_LINES])
    return [
        Note(_note(verdicts)),
        Matrix(
            "who can change whom: 0 is nothing, 1 the farthest",
            reach / reach.max().clamp(min=NOTHING),
            [f"after {token}" for token in tokens],
            tokens,
            corner=("prediction", "word changed"),
        ),
        Heads("attention weights", state["weights"], hidden),
        Curves(
            f"what {tokens[-1]!r} has gathered, turned up",
            "times",
            "logit",
            SCALES,
            shown,
            mark=1.0,
        ),
        Facts(facts, "what it can do"),
    ]


def _verdicts(state: dict[str, Any]) -> dict[str, Any]:
    reach, lines = state["reach"], state["lines"]
    share = torch.linspace(0, 1, len(lines), dtype=lines.dtype)[:, None]
    straight = lines[0] + share * (lines[-1] - lines[0])
    return {
        "heard": int((reach.tril(-1) > NOTHING).sum()),
        "answers": int((reach.diagonal(1) > NOTHING).sum()),
        "order": state["swap"] > NOTHING or not state["differ"],
        "bend": (lines - straight).abs().max().item(),
    }


def _note(verdicts: dict[str, Any]) -> str:
    lost = []
    if not verdicts["heard"]:
        lost.append("no word hears another")
    if verdicts["answers"]:
        lost.append("a prediction can read its own answer")
    if not verdicts["order"]:
        lost.append("the last word cannot tell that two words changed places")
    if verdicts["bend"] < 1e-6:
        lost.append("what follows the weights is one linear map")
    if not lost:
        return "Nothing is lost: it hears what came before, nothing that comes after, and it bends."
    return f"Lost: {'; '.join(lost)}."


def transformer_block_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same logits."""
    tokens, vocabulary, ids = read_words(settings["text"])
    x = "model.positions(model.embedding(ids))" if settings["positions"] else "model.embedding(ids)"
    inner = "model.feed_forward.up(gathered)"
    unmasked = settings["attention"] and not settings["mask"]
    lines = [
        "import torch",
        *(["from chapter3_helpers.copy_weights import copy_weights"] if unmasked else []),
        "from chapter3_helpers.transformer_block import MinimalLanguageModel",
        "",
        f"ids = torch.tensor({ids.tolist()})  # of {', '.join(map(repr, vocabulary))}",
        f"torch.manual_seed({settings['seed']})",
        f"model = MinimalLanguageModel({len(vocabulary)}, {D}, {len(tokens)}, {HEADS})",
        "model = model.requires_grad_(False).double()",
    ]
    if unmasked:
        lines += [
            f"unmasked = torch.nn.MultiheadAttention({D}, {HEADS}, batch_first=True).double()",
            "copy_weights(model.attention, unmasked)  # which hides nothing unless it is told to",
            f"x = {x}",
            "gathered = unmasked(x, x, x)[0]",
        ]
    else:
        lines.append(
            f"gathered = model.attention({x})" if settings["attention"] else f"gathered = {x}"
        )
    lines += [
        f"inner = torch.relu({inner})" if settings["relu"] else f"inner = {inner}",
        "logits = model.output(model.feed_forward.down(inner))",
    ]
    return lines


transformer_block_explorer = explorer_function(
    "four ingredients", CONTROLS, transformer_block_panels, transformer_block_code
)
