"""When it does not work: every cause is made, and within its symptom only its own line sees it."""

import copy
import importlib.util
import re
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from chapter3_helpers.dropout import cpu_dropout_generator
from chapter3_helpers.positions import apply_rotary, rotary_frequencies
from chapter3_helpers.real_model import Llama, chat, next_ids
from chapter3_helpers.transformer_block import GPT
from tools import questions_page, symptoms_page

SYMPTOMS = symptoms_page.symptoms()
T, V = 6, 7


def gpt(dropout: float = 0.0) -> GPT:
    torch.manual_seed(1)
    return GPT(V, d=8, context_length=T, num_layers=1, num_heads=2, dropout=dropout).eval()


class Leaky(nn.Module):
    """Logits from the mean of the whole text."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(V, V)

    def forward(self, ids):
        x = self.embedding(ids)
        return x + x.mean(dim=-2, keepdim=True)


def attend(queries, keys, scale=0.5, causal=True, dim=-1):
    scores = queries @ keys.mT * scale
    if causal:
        scores = scores.masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf)
    return torch.softmax(scores, dim=dim)


TURNS = rotary_frequencies(4, T)


def turned_by_halves(queries):
    a, b = queries.chunk(2, dim=-1)  # number k is turned together with number k + D / 2
    return torch.cat([a * TURNS.real - b * TURNS.imag, a * TURNS.imag + b * TURNS.real], dim=-1)


def written_past_the_end() -> list[int]:
    """Return what is written by a Llama that says the token 0, its end token, each time."""
    model = Llama(V, 8, 1, 2, 1, hidden=8, context_length=T, tied=False).requires_grad_(False)
    model.output.weight.zero_()
    return list(next_ids(model, [1, 2], 3))


def right() -> dict[str, Any]:
    """Return what the lines name, in a program that has none of the faults."""
    torch.manual_seed(0)
    model = gpt()
    ids = torch.tensor([[1, 2, 3, 4, 5, 6], [2, 4, 6, 1, 3, 5]])
    logits = model(ids)
    queries, keys, values = torch.randn(3, 2, 2, T, 4)
    weights = attend(queries, keys)
    own = {"first.weight": torch.zeros(2, 3), "second.weight": torch.zeros(3)}
    parameter = model.output.weight
    parameter.grad = torch.ones_like(parameter)
    visible = torch.ones(T, T).tril()
    return {
        "torch": torch,
        "importlib": importlib,
        "model": model,
        "other": gpt(),
        "ids": ids,
        "changed": torch.cat([ids[:, :-1], torch.zeros(2, 1).long()], dim=1),
        "targets": torch.cat([ids[:, 1:], torch.zeros(2, 1).long()], dim=1),
        "loss": logits.logsumexp(-1).mean(),
        "new_loss": torch.tensor(2.5),
        "parameter": parameter,
        "called": [1],
        "optimizer": torch.optim.Adam(model.parameters()),
        "logits": logits.detach(),
        "x": torch.randn(2, T, 8),
        "queries": queries,
        "projected": queries.transpose(1, 2).flatten(2),
        "keys": keys,
        "values": values,
        "scores": torch.randn(2, 2, T, T),
        "weights": weights,
        "mine": weights @ values,
        "attention": scaled_dot_product_attention,
        "turned": apply_rotary(queries, TURNS),
        "theirs": apply_rotary(queries, TURNS),
        "mask": torch.ones(2, 1, T, T),
        "context": torch.zeros(2, T, 8),
        "constant": -1e4,
        "T": T,
        "V": V,
        "B": 2,
        "H": 2,
        "context_length": T,
        "longest_trained": T,
        "d_out": 8,
        "num_heads": 2,
        "first": torch.ones(3),
        "second": torch.zeros(3),
        "printed": torch.zeros(2, 2, T, 4),
        "cpu_dropout_generator": lambda: "native",
        "padding": torch.zeros(2, T).bool(),
        "pad_id": 0,
        "positions": torch.arange(T).expand(2, T),
        "text": torch.zeros(2, T),
        "alone": torch.ones(3),
        "together": torch.zeros(3),
        "norm": nn.LayerNorm(8),
        "cached": 0,
        "with_cache": torch.ones(3),
        "without": torch.zeros(3),
        "encode": str.split,
        "decode": " ".join,
        "used": logits[:, -1].detach(),
        "chosen": logits[:, -1].argmin(-1),
        "question": "Are dogs real?",
        "prompt": chat("Are dogs real?"),
        "chat": chat,
        "written": [3, 5, 0],
        "end_id": 0,
        "end_mark": "<|im_end|>",
        "new_ids": ids[:, -1:],
        "need_weights": False,
        "losses": [0.1] * 100,
        "counted": 4.5,
        "memory": 10_000,
        "cache_bytes": 100,
        "own": own,
        "state": dict(own),
        "stop": T - 2,
        "even": visible / visible.sum(dim=-1, keepdim=True),
    }


def planted(**changes: Any) -> dict[str, Any]:
    return changes


def first_heads(rows: torch.Tensor) -> torch.Tensor:
    """Return weights in which the first head has these rows."""
    weights = right()["weights"].clone()
    weights[:, 0] = rows
    return weights


def sharp_on(column: int) -> torch.Tensor:
    return torch.tensor([min(row, column) for row in range(T)]).unsqueeze(-1) == torch.arange(T)


IDS, LOGITS, WEIGHTS = (right()[name] for name in ("ids", "logits", "weights"))
Q, K, VALUES = (right()[name] for name in ("queries", "keys", "values"))
ELSEWHERE = torch.optim.Adam([nn.Parameter(torch.zeros(1))])
FROZEN = nn.Parameter(torch.zeros(1), requires_grad=False)
UNUSED = nn.Parameter(torch.zeros(1))
HELD = torch.optim.Adam([FROZEN, UNUSED])
ROUNDED = torch.full((3,), 1e-7)
ONE_KEY = torch.zeros(2, 2, 1, T)
ONE_KEY[..., 0] = 1
LEFT = torch.zeros(2, T).bool()
LEFT[0, :2] = True
NO_LEFT = WEIGHTS.masked_fill(LEFT[:, None, None], 0)
COUNTED = (~LEFT).cumsum(-1) - 1
PADDED = planted(padding=LEFT, positions=COUNTED, ids=IDS.masked_fill(LEFT, 0), weights=NO_LEFT)
PACKED = (torch.arange(T) > 2).long().expand(2, T)
OFF = torch.tensor([[[[float("-inf")] * T] * T] * 2] * 2)
HALF_ROW = torch.full((2, T), 0.5)
INPLACE = WEIGHTS.clone()
INPLACE[..., 0] *= 1
TWO = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
REORDERED = nn.ModuleDict(dict(reversed([*gpt().named_children()])))


def counted_from_left():
    return torch.arange(T).expand(2, T)


def learns_slowly():
    return torch.optim.Adam(gpt().parameters(), lr=0.0)


def stopped(lr: float) -> dict[str, Any]:
    model = gpt()
    return planted(
        parameter=model.output.weight, optimizer=torch.optim.Adam(model.parameters(), lr=lr)
    )


TRAINING = gpt(dropout=0.5).train()
FAULTS = {  # symptom: for each cause, in the order of the page, what it changes
    "It learns too well": [
        planted(model=Leaky()),
        planted(targets=IDS),
        planted(new_loss=torch.tensor(9.0)),
    ],
    "It learns nothing": [
        planted(loss=torch.tensor(2.0)),
        planted(optimizer=ELSEWHERE),
        stopped(lr=0.0),
        planted(weights=torch.eye(T).expand(2, 2, T, T)),
    ],
    "The loss stays at ln V": [
        planted(logits=LOGITS.softmax(-1)),
        planted(targets=IDS.flip(0)),
        planted(logits=torch.randn(2, 1, V).expand(2, T, V)),
    ],
    "It learns, but the loss stays too high": [
        planted(losses=[4.5] * 100),
        planted(losses=[1.0, 3.0] * 50),
        planted(losses=[1 - step / 200 for step in range(100)]),
    ],
    "A parameter has no gradient, or does not move": [
        planted(parameter=FROZEN, optimizer=HELD),
        planted(parameter=UNUSED, optimizer=HELD, called=[]),
        planted(parameter=UNUSED, optimizer=HELD),
        planted(optimizer=ELSEWHERE),
    ],
    "NaN": [
        planted(x=torch.tensor([[[torch.nan]]])),
        planted(scores=torch.full((1, 1, 2, 2), 300.0).half() * 300),
        planted(scores=OFF),
    ],
    "A shape error": [
        planted(T=T + 1),
        planted(num_heads=3),
        planted(mask=torch.ones(2, T, T)),
        planted(keys=K[:, :1]),
    ],
    "An error about device, dtype, view or in-place": [
        planted(mask=torch.ones(1, device="meta")),
        planted(keys=K.half()),
        planted(constant=-1e9, scores=torch.zeros(1).half()),
        planted(context=torch.zeros(2, 2, T, 4).transpose(1, 2)),
        planted(weights=INPLACE),
    ],
    "Results differ from PyTorch's": [
        planted(model=TRAINING),
        planted(mine=attend(Q, K, scale=1.0) @ VALUES),
        planted(mine=attend(Q, K, causal=False) @ VALUES),
        planted(weights=attend(Q, K, causal=False, dim=-2)),
        planted(theirs=turned_by_halves(Q)),
    ],
    "Results differ from run to run, machine to machine or dtype to dtype": [
        planted(model=TRAINING),
        planted(first=ROUNDED),
        planted(other=TWO),
    ],
    "My digits are not the printed ones": [
        planted(mine=ROUNDED, printed=torch.zeros(3)),
        planted(seed=7),
        planted(other=REORDERED),
        planted(cpu_dropout_generator=lambda: "mkl"),
    ],
    "Good in training and bad in use": [
        planted(model=TRAINING),
        planted(model=Leaky().eval()),
        planted(T=T + 1),
        planted(padding=LEFT.flip(-1)),
    ],
    "It depends on the other texts of the batch": [
        PADDED | planted(pad_id=6),
        PADDED | planted(weights=WEIGHTS),
        PADDED | planted(positions=counted_from_left()),
        planted(text=PACKED, positions=torch.arange(T).remainder(3).expand(2, T)),
        planted(attention=SimpleNamespace(batch_first=False)),
        planted(alone=ROUNDED),
    ],
    "Earlier outputs change when text is appended": [
        planted(weights=attend(Q, K, causal=False)),
        planted(weights=attend(Q, K, causal=False).tril()),
        planted(norm=nn.LayerNorm([T, 8])),
        planted(queries=right()["projected"].reshape(2, 2, T, 4)),
    ],
    "Other words with a cache than without": [
        planted(cached=2, T=T - 2, positions=torch.arange(T - 2)),
        planted(weights=ONE_KEY),
        planted(keys=torch.cat([K, K], dim=2)),
        planted(with_cache=ROUNDED),
    ],
    "It writes nonsense, or one word again and again": [
        planted(targets=IDS),
        planted(decode="".join),
        planted(used=LOGITS[:, 0] + 1),
        planted(logits=LOGITS / 1e4, used=LOGITS[:, -1] / 1e4),
        planted(chosen=LOGITS[:, -1].argmax(-1)),
    ],
    "It does not stop": [
        planted(written=written_past_the_end()),
        planted(prompt="Are dogs real?"),
        planted(encode=list),
    ],
    "It is slow": [
        planted(logits=gpt()(IDS)),
        planted(new_ids=IDS),
        planted(need_weights=True),
        planted(padding=torch.ones(2, T).bool()),
    ],
    "Out of memory": [
        planted(logits=gpt()(IDS)),
        planted(losses=[gpt()(IDS).sum()]),
        planted(T=100),
        planted(cache_bytes=20_000),
    ],
    "Weights do not load": [
        planted(state={f"module.{name}": value for name, value in right()["own"].items()}),
        planted(state={"a.weight": torch.zeros(2, 3)}),
        planted(state=right()["own"] | {"first.weight": torch.zeros(3, 2)}),
        planted(own=right()["own"] | {"attn.masked_bias": torch.zeros(1)}),
    ],
    "The picture of the weights looks odd": [
        planted(weights=WEIGHTS.mean(dim=1)),
        planted(weights=first_heads(sharp_on(0).float())),
        planted(weights=first_heads(sharp_on(T - 2).float())),
        planted(weights=first_heads(right()["even"])),
        planted(weights=WEIGHTS[:, :1].expand(2, 2, T, T)),
    ],
    "An explorer does not appear": [
        planted(missing="chapter3_helpers"),
        planted(missing="ipywidgets"),
    ],
}


def fired(symptom: dict[str, Any], changes: dict[str, Any]) -> list[bool]:
    """Return which lines of a symptom are true in a program that is changed like this."""
    space = right()
    if symptom["symptom"] == "It depends on the other texts of the batch":
        space["attention"] = SimpleNamespace(batch_first=True)
    if symptom["symptom"] == "Other words with a cache than without":
        space["positions"] = torch.arange(T)
    if symptom["symptom"] == "It writes nonsense, or one word again and again":
        logits = space["logits"] = 5 * space["logits"]
        space |= {"used": logits[:, -1], "chosen": logits[:, -1].argmin(-1)}
        if "used" not in changes:
            changes = changes | {"used": logits[:, -1]}
    space |= changes
    space["model"] = copy.deepcopy(space["model"])
    torch.manual_seed(space.get("seed", 123))
    if "missing" in space:
        util = SimpleNamespace(find_spec=lambda name: None if name == space["missing"] else name)
        space["importlib"] = SimpleNamespace(util=util)
    return [bool(eval(cause["line"], space)) for cause in symptom["causes"]]


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda symptom: symptom["symptom"])
def test_only_the_line_of_the_planted_cause_is_true(symptom):
    faults = FAULTS[symptom["symptom"]]
    assert len(faults) == len(symptom["causes"])
    assert not any(fired(symptom, {}))
    for i, fault in enumerate(faults):
        seen = fired(symptom, fault)
        lines = [c["line"] for c, true in zip(symptom["causes"], seen, strict=True) if true]
        assert lines == [symptom["causes"][i]["line"]]


def test_a_layer_that_is_missing_is_seen_as_one_with_another_name_is():
    symptom = next(s for s in SYMPTOMS if s["symptom"] == "Weights do not load")
    lacks_second = {"first.weight": torch.zeros(2, 3)}
    assert fired(symptom, planted(state=lacks_second)) == [False, True, False, False]


def test_the_generator_that_the_page_names_is_one_that_there_is():
    assert cpu_dropout_generator() in ("native", "mkl")


def test_the_page_of_symptoms_is_what_the_data_make():
    assert symptoms_page.PAGE.read_text("utf-8") == symptoms_page.page(), "make questions"


def test_the_page_of_symptoms_is_short():
    text = symptoms_page.PAGE.read_text("utf-8")
    prose = re.sub(r"`[^`]+`|\]\([^)]+\)", " ", text)
    assert len(re.findall(r"\w+", prose)) <= 1250
    assert questions_page.PAGE.name in text
