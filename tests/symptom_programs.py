"""Programs for the page of symptoms: small language models in three people's style, and what their
lines see in them.

The styles are the series' own classes, ``nn.TransformerEncoder``, and ``transformers`` (beside it a
class with one projection for queries, keys and values and with a tied output, as many write it). A
cause is planted where a person would plant it: a statement of a class is edited, an argument is
wrong, a call is missing. ``names`` then runs the program and looks.
"""

import functools
import inspect
import sys
import textwrap
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.real_model import Llama
from chapter3_helpers.transformer_block import GPT

B, T, V, H, D, LAYERS = 6, 10, 17, 4, 8, 2  # no two alike
WIDTH = H * D
PAD = 0


def edited(thing: Any, *edits: tuple[str, str], **others: Any) -> Any:
    """Return a class or function with statements edited as a reader would edit its cell."""
    source = textwrap.dedent(inspect.getsource(thing))
    for old, new in edits:
        if old not in source:
            raise ValueError(f"{thing.__name__} must have the line {old!r}")
        source = source.replace(old, new)
    space = vars(sys.modules[thing.__module__]) | others
    exec(compile(source, f"<{thing.__name__}, edited>", "exec"), space)
    return space[thing.__name__]


# ---- data: each word is followed by its successor, or by a word drawn by frequency ----


@functools.cache
def texts(seed: int, number: int = B, length: int = T + 1) -> torch.Tensor:
    """Return ids (number, length); the id of padding is no word."""
    generator = torch.Generator().manual_seed(seed)
    frequent = torch.arange(V).float()  # so PAD, 0, never comes
    ids = torch.multinomial(frequent, number, True, generator=generator)[:, None]
    for _ in range(length - 1):
        drawn = torch.multinomial(frequent, number, True, generator=generator)
        follows = torch.rand(number, generator=generator) < 0.7
        ids = torch.cat([ids, torch.where(follows, ids[:, -1] * 5 % V, drawn)[:, None]], dim=1)
    return ids


# ---- the styles ----


def gpt(dropout: float = 0.0, seed: int = 1, **sizes: int) -> GPT:
    torch.manual_seed(seed)
    sizes = {"context_length": 2 * T, "num_layers": LAYERS, "num_heads": H} | sizes
    return GPT(V, d=WIDTH, dropout=dropout, **sizes)


class FusedAttention(nn.Module):
    """One projection for queries, keys and values, and torch's function."""

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.p = dropout

    def forward(self, x, visible=None):
        q, k, v = self.c_attn(x).split(WIDTH, dim=2)
        q, k, v = (t.view(*t.shape[:2], H, D).transpose(1, 2) for t in (q, k, v))
        p = self.p if self.training else 0.0
        y = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=visible, dropout_p=p, is_causal=visible is None
        )
        return self.c_proj(y.transpose(1, 2).flatten(2))


class Tied(nn.Module):
    """A GPT whose output layer is the embedding table, called as a function."""

    def __init__(self, attention: Callable[[], nn.Module] = FusedAttention):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, WIDTH), nn.Embedding(2 * T, WIDTH)
        self.ln = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS + 1))
        self.attn = nn.ModuleList(attention() for _ in range(LAYERS))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))
            for _ in range(LAYERS)
        )
        nn.init.normal_(self.wte.weight, std=0.2)

    def forward(self, ids, visible=None, positions=None):
        positions = torch.arange(ids.shape[1]) if positions is None else positions
        x = self.wte(ids) + self.wpe(positions)
        for ln, attn, mlp in zip(self.ln, self.attn, self.mlp, strict=False):
            x = x + attn(ln(x), visible)
            x = x + mlp(x)
        return functional.linear(self.ln[-1](x), self.wte.weight)


def tied(attention: Callable[[], nn.Module] = FusedAttention, seed: int = 1) -> Tied:
    torch.manual_seed(seed)
    return Tied(attention)


class Encoder(nn.Module):
    """PyTorch's own layers, with a causal mask: True hides."""

    def __init__(self, dropout: float = 0.0, hidden: torch.Tensor | None = None, **options: Any):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(V, WIDTH), nn.Embedding(2 * T, WIDTH)
        options = {"batch_first": True, "norm_first": True} | options
        layer = nn.TransformerEncoderLayer(WIDTH, H, WIDTH, dropout, **options)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.output = nn.Linear(WIDTH, V)
        future = torch.ones(2 * T, 2 * T).triu(1).bool()
        self.register_buffer("hidden", future if hidden is None else hidden, persistent=False)

    def forward(self, ids, padding=None):
        n = ids.shape[1]
        x = self.embedding(ids) + self.positions.weight[:n]
        if self.layers.layers[0].self_attn.batch_first:
            return self.output(self.layers(x, self.hidden[:n, :n], padding))
        return self.output(self.layers(x.transpose(0, 1), self.hidden[:n, :n])).transpose(0, 1)


def encoder(seed: int = 1, **options: Any) -> Encoder:
    torch.manual_seed(seed)
    return Encoder(**options)


def gpt2(seed: int = 1, **options: Any) -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    off = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    sizes = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": H, "n_positions": 2 * T}
    ends = {"bos_token_id": 1, "eos_token_id": 1, "pad_token_id": PAD, "initializer_range": 0.2}
    options = {"attn_implementation": "eager"} | options
    config = GPT2Config(vocab_size=V, **off | sizes | ends | options)
    return GPT2LMHeadModel(config)


def llama(seed: int = 1, **options: Any) -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    sizes = {"hidden_size": WIDTH, "intermediate_size": WIDTH, "num_hidden_layers": LAYERS}
    heads = {"num_attention_heads": H, "num_key_value_heads": 2, "max_position_embeddings": 2 * T}
    ends = {"bos_token_id": 1, "eos_token_id": 1, "pad_token_id": PAD, "initializer_range": 0.2}
    config = LlamaConfig(
        vocab_size=V, **sizes | heads | ends | {"attn_implementation": "eager"} | options
    )
    return LlamaForCausalLM(config)


def our_llama(seed: int = 1) -> Llama:
    torch.manual_seed(seed)
    return Llama(V, WIDTH, LAYERS, H, 2, hidden=WIDTH, context_length=2 * T)


def runs(model: nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return what the page calls ``run``."""

    def run(ids):
        out = model(ids)
        return out.logits if hasattr(out, "logits") else out

    return run


def with_class(model: nn.Module, *edits: tuple[str, str], part: str = "", **others: Any):
    """Give a part of every layer of a model, or its attention, an edited class."""
    kinds = "MultiHeadAttention", "FusedAttention", "GPT2Attention", "LlamaAttention"
    for module in model.modules():
        if type(module).__name__ in ((part,) if part else kinds):
            module.__class__ = edited(type(module), *edits, **others)
    return model


def with_eager(model: nn.Module, *edits: tuple[str, str]) -> nn.Module:
    """Edit the function in which ``transformers`` attends."""
    home = sys.modules[type(model).__module__]
    return with_class(model, eager_attention_forward=edited(home.eager_attention_forward, *edits))


# ---- what stands in a layer while a program runs ----


def with_mask(scores, mask, is_causal):
    if is_causal:
        mask = torch.ones(scores.shape[-2:]).tril().bool()
    if mask is None:
        return scores
    return scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask


@contextmanager
def watched():
    """Yield a list that gets the queries, keys, values, weights and result of each attention."""
    seen: list[dict[str, torch.Tensor]] = []
    kernel = functional.scaled_dot_product_attention

    def attend(queries, keys, values, attn_mask=None, dropout_p=0.0, is_causal=False, **options):
        options = {"attn_mask": attn_mask, "is_causal": is_causal} | options
        context = kernel(queries, keys, values, dropout_p=dropout_p, **options)
        eye = torch.eye(keys.shape[-2], dtype=keys.dtype).expand(*keys.shape[:-2], -1, -1)
        found = {"queries": queries, "context": context, "cut": values}
        found["weights"] = kernel(queries, keys, eye, **options)
        times = queries.shape[1] // keys.shape[1]
        keys, values = (t.repeat_interleave(times, dim=1) for t in (keys, values))
        found |= {"keys": keys, "values": values}
        products = queries @ keys.mT
        scale = options.get("scale") or queries.shape[-1] ** -0.5
        found["scores"] = with_mask(products * scale, attn_mask, is_causal)
        seen.append(found)
        return context

    def look(frame, event, result):
        if event != "return" or result is None:
            return
        inside, name = frame.f_locals, frame.f_code.co_name
        if name == "attention_weights" and "queries" in inside:
            found = {name: inside[name] for name in ("queries", "keys")} | {"weights": result}
            found["scores"] = inside["scores"] / inside["keys"].shape[-1] ** 0.5
            seen.append(found)
        elif name == "forward" and {"values", "weights"} < set(inside):
            values = inside["values"]
            found = {"values": values, "cut": values, "context": inside["weights"] @ values}
            seen[-1] |= found
        elif name == "eager_attention_forward":
            keys, values = (inside.get(f"{n}_states", inside[n]) for n in ("key", "value"))
            found = {"queries": inside["query"], "keys": keys, "values": values}
            found["cut"] = inside["value"]
            found["context"], found["weights"] = result[0].transpose(1, 2), result[1]
            products = inside["query"] @ keys.mT * inside["scaling"]
            found["scores"] = with_mask(products, inside["attention_mask"], False)
            seen.append(found)

    with patch("torch.nn.functional.scaled_dot_product_attention", attend):
        before = sys.getprofile()
        sys.setprofile(look)
        try:
            yield seen
        finally:
            sys.setprofile(before)


def inside(model: nn.Module, call: Callable[[], Any]) -> dict[str, torch.Tensor]:
    """Return what the first layer has while ``call`` runs, and how its heads are cut and joined."""
    cut: dict[str, torch.Tensor] = {}
    hooks = []

    def keep(name, value):
        cut.setdefault(name, value.detach())

    for name, module in model.named_modules():
        last = name.rpartition(".")[-1]
        if last in ("W_value", "v_proj"):
            hooks.append(module.register_forward_hook(lambda m, i, out: keep("projected", out)))
        elif last == "c_attn":
            hooks.append(
                module.register_forward_hook(
                    lambda m, i, out: keep("projected", out.chunk(3, dim=-1)[2])
                )
            )
        elif last in ("out_proj", "o_proj", "c_proj"):
            hooks.append(module.register_forward_pre_hook(lambda m, i: keep("joined", i[0])))
    with watched() as seen:
        call()
    for hook in hooks:
        hook.remove()
    return {name: value.detach() for name, value in (seen[0] if seen else {}).items()} | cut


# ---- what the lines name, seen in a program ----


def trained(model, run=None, steps=80, targets=None, rate=0.01, given=lambda logits: logits, **how):
    """Train a model; return what training has at hand, directly before the last step."""
    run = run or runs(model)
    optimizer = how.get("optimizer") or torch.optim.AdamW(model.parameters(), lr=rate)
    model.train()
    for step in range(steps):
        text = texts(step)
        ids = text[:, :-1]
        wanted = targets(text) if targets else text[:, 1:]
        got = given(run(ids).transpose(1, 2))  # (B, V, T), as cross_entropy wants it
        loss = functional.cross_entropy(got.float()[..., : wanted.shape[1]], wanted)
        if step == steps - 1:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    optimizer.zero_grad()
    if loss.requires_grad:
        loss.backward(retain_graph=True)
    model.eval()
    return {"optimizer": optimizer, "targets": wanted, "given": got.detach()}


def names(model: nn.Module, run=None, ids=None, **more: Any) -> dict[str, Any]:
    """Return what the page's lines name in a program, as far as it has it."""
    run = run or runs(model)
    ids = texts(7)[:, :-1] if ids is None else ids
    model.eval()
    space = {"model": model, "run": run, "ids": ids, "T": ids.shape[1], "H": H, "D": D}
    space |= inside(model, lambda: run(ids))
    logits = run(ids)
    space |= {"x": torch.randn(*ids.shape, WIDTH), "logits": logits.detach()}
    if logits.shape[1] == T:
        plain = run(texts(7)[:, :-1])
        space["loss"] = functional.cross_entropy(plain.mT.float(), texts(7)[:, 1:])
    space |= {"norm": next((m for m in model.modules() if "Norm" in type(m).__name__), None)}
    space |= {
        "used": logits[:, -1].detach(),
        "last": torch.full((len(ids),), logits.shape[1] - 1),
        "softmax": lambda scores: scores.softmax(dim=-1),
    }
    space["hidden"] = torch.ones(T, T).triu(1).bool()
    space["mine"] = space.pop("context", None)
    space |= {"d_out": WIDTH, "num_heads": H, "constant": -torch.inf, "context_length": 2 * T}
    space |= {"longest_trained": T, "own": model.state_dict(), "state": model.state_dict()}
    space |= {"S": T, "cached": 0, "positions": torch.arange(T), "so_far": ids, "place": 0}
    return {name: value for name, value in (space | more).items() if value is not None}
