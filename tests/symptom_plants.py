"""What each line of the page of symptoms must see, and what it must not: the data of its test.

``PLANTS`` gives for each line programs that have its cause. ``HEALTHY`` are programs that have none
of the causes, each with the names of the page that it has no use for, and why.

Where a line has a threshold, five seeds of all these programs gave, as the largest (or smallest)
with the cause and the nearest without:

    softmax twice, sums off by            2e-7    < 0.05 <  3.8
    all places alike, nats of context    .0065    < 0.03 <  .66   (.07 in a GPT before training)
    rows that do not sum to 1               .93   > 0.05 >  .008  (bfloat16)
    not divided, no mask, inverted: ratio  .016   < 1/3  <  .85   (bfloat16 with the cause)
    turned otherwise, of the largest        .62   > 0.02 >  .0024 (bfloat16; 0 at position 0)
    rounding, of the largest               4e-7   < 1e-5 <  .08   (.014 to .044 in bfloat16)
    loss / ln V                            1.02   > 0.9  >  .81   (after 80 steps)
    a head's total at one place             .95   > 0.8  >  .58
    a head's last row, largest / mean      1.008  < 1.1  <  1.26
    all heads, standard deviation             0   < 0.01 <  .08
"""

import copy
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers import fused_multihead
from chapter3_helpers.copy_weights import copy_weights
from chapter3_helpers.induction_heads import LetterReader
from chapter3_helpers.positions import apply_rotary, rotary_frequencies
from chapter3_helpers.real_model import chat, next_ids
from chapter3_helpers.softmax import softmax, softmax_naive
from tests.symptom_programs import (
    PAD,
    WIDTH,
    B,
    D,
    Encoder,
    FusedAttention,
    H,
    T,
    V,
    edited,
    encoder,
    gpt,
    gpt2,
    inside,
    llama,
    names,
    our_llama,
    runs,
    texts,
    tied,
    trained,
    with_class,
    with_eager,
)

Space = dict[str, Any]
IDS, NEXT = texts(7)[:, :-1], texts(7)[:, 1:]
FUTURE = torch.ones(T, T).triu(1).bool()
LENGTHS = torch.tensor([T, 7, 5, 9, 6, 8])
RIGHT = torch.arange(T) >= LENGTHS[:, None]  # True = padding
LEFT = RIGHT.flip(-1)
LEFT_IDS = torch.stack([row.roll(T - int(n)) for row, n in zip(IDS, LENGTHS, strict=True)])
LEFT_IDS = LEFT_IDS.masked_fill(LEFT, PAD)
RIGHT_IDS = IDS.masked_fill(RIGHT, PAD)
PACKED = torch.tensor([[1, 1, 1, 2, 2, 2, 2, 3, 3, 3]]).expand(B, T)
BY_TEXT = (PACKED[:, None, :, None] == PACKED[:, None, None]) & ~FUTURE  # True = visible


def half(model: nn.Module) -> nn.Module:
    return model.to(torch.bfloat16)


# ---- causes that several lines or symptoms see ----

NO_MASK = [
    lambda: with_class(gpt(), ("mask_scores(scores)", "scores")),
    lambda: encoder(hidden=torch.zeros(2 * T, 2 * T).bool()),
    lambda: with_eager(gpt2(), ("attn_weights + attention_mask", "attn_weights")),
    lambda: with_eager(llama(), ("attn_weights + attention_mask", "attn_weights")),
    lambda: with_class(tied(), ("is_causal=visible is None", "is_causal=False")),
    lambda: half(with_eager(gpt2(), ("attn_weights + attention_mask", "attn_weights"))),
]
UNDIVIDED = [
    lambda: with_class(gpt(), ("scores / keys.shape[-1] ** 0.5", "scores")),
    lambda: with_class(tied(), ("is_causal=visible is None", "is_causal=True, scale=1.0")),
    lambda: gpt2(scale_attn_weights=False),
    lambda: half(gpt2(scale_attn_weights=False)),
]
DROPPING = [
    lambda: gpt(dropout=0.1).train(),
    lambda: encoder(dropout=0.1).train(),
    lambda: gpt2(attn_pdrop=0.1).train(),
    lambda: with_class(
        tied(lambda: FusedAttention(0.1)), ("self.p if self.training else 0.0", "self.p")
    ),
]


def cut_wrongly() -> nn.Module:
    view = ("x.transpose(-3, -2)", "x.reshape(*x.shape[:-3], num_heads, -1, x.shape[-1])")
    return with_class(gpt(), split_heads=edited(fused_multihead.split_heads, view))


def joined_wrongly() -> nn.Module:
    no_transpose = ("x.transpose(-3, -2).contiguous()", "x")
    view = ("*x.shape[:-2], x.shape[-2] * x.shape[-1]", "len(x), -1, x.shape[-1] * len(x[0])")
    return with_class(gpt(), join_heads=edited(fused_multihead.join_heads, no_transpose, view))


def swapped() -> nn.Module:
    cut = edited(fused_multihead.split_heads, (".transpose(-3, -2)", ""))
    join = edited(fused_multihead.join_heads, ("x.transpose(-3, -2)", "x"))
    return with_class(gpt(), split_heads=cut, join_heads=join)


SWAPPED = [
    swapped,
    lambda: with_class(
        tied(), ("D).transpose(1, 2) for", "D) for"), ("y.transpose(1, 2).flatten", "y.flatten")
    ),
    lambda: half(
        with_class(
            tied(), ("D).transpose(1, 2) for", "D) for"), ("y.transpose(1, 2).flatten", "y.flatten")
        )
    ),
]
WRONG_HEADS = [
    cut_wrongly,
    joined_wrongly,
    lambda: with_class(tied(), ("y.transpose(1, 2).flatten(2)", "y.reshape(x.shape)")),
    lambda: with_class(
        gpt2(),
        (
            "attn_output.reshape(",
            "attn_output.transpose(1, 2).contiguous().reshape(B, T, -1).reshape(",
        ),
        B=B,
        T=T,
    ),
    lambda: with_class(
        llama(),
        (
            "self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)",
            "self.v_proj(hidden_states).view(B, -1, T, D)",
        ),
        B=B,
        T=T,
        D=D,
    ),
]


class OverTokens(nn.Module):
    """A norm that takes (B, d, T), as those for pictures do."""

    def __init__(self, norm: nn.Module):
        super().__init__()
        self.norm = norm

    def forward(self, x):
        return self.norm(x.mT).mT


def with_norm(norm: nn.Module) -> nn.Module:
    model = tied()
    model.ln[0] = norm
    return model


NORMS = [
    lambda: with_norm(nn.LayerNorm([T, WIDTH])),
    lambda: with_norm(OverTokens(nn.BatchNorm1d(WIDTH))),
    lambda: with_norm(OverTokens(nn.GroupNorm(1, WIDTH))),
]


def normed() -> list[Callable[[], Space]]:
    x = torch.randn(B, T, WIDTH)
    x_changed = torch.cat([x[:, :-1], torch.randn(B, 1, WIDTH)], dim=1)
    return [
        lambda make=make: {"norm": make().ln[0], "x": x, "x_changed": x_changed} for make in NORMS
    ]


ROWS_WRONG = [
    lambda: with_class(gpt(), ("** 0.5, dim=-1)", "** 0.5, dim=-2)")),
    lambda: with_class(  # the mask comes after softmax
        gpt(), ("mask_scores(scores)", "scores"), ("** 0.5, dim=-1)", "** 0.5, dim=-1).tril()")
    ),
    lambda: with_eager(gpt2(), ("attn_weights, dim=-1", "attn_weights, dim=1")),
    lambda: with_eager(llama(), ("attn_weights, dim=-1", "attn_weights, dim=0")),
    lambda: half(with_eager(llama(), ("attn_weights, dim=-1", "attn_weights, dim=-2"))),
]


def inverted() -> list[Callable[[], Space]]:
    tril = "scores.masked_fill(torch.ones(scores.shape[-2:]).tril().bool(), -torch.inf)"
    fused = tied()
    return [
        lambda: names(with_class(gpt(), ("mask_scores(scores)", tril))),
        lambda: names(encoder(hidden=torch.ones(2 * T, 2 * T).tril().bool())),
        lambda: names(fused, lambda ids: fused(ids, visible=FUTURE)),
    ]


def seen_in(models: list[Callable[[], nn.Module]]) -> list[Callable[[], Space]]:
    """Return what the lines name in each of these models, left as it is made."""

    def look(make: Callable[[], nn.Module]) -> Space:
        model = make()
        was = model.training
        space = names(model)
        model.train(was)
        return space

    return [lambda make=make: look(make) for make in models]


def of(**space: Any) -> Callable[[], Space]:
    return lambda: space


# ---- training ----


def program(model: nn.Module, run=None, **how: Any) -> Space:
    """Return a program in training, directly before a step of the optimizer."""
    after = trained(model, run, **how)
    return names(model, run) | after


def cut_off() -> list[Callable[[], Space]]:
    def without_gradient():
        model = encoder()
        run = torch.no_grad()(runs(model))
        return program(model, run, steps=1)

    def too_late():
        model = gpt2()
        space = program(model, steps=2)
        space["optimizer"].zero_grad()
        return space

    gone = lambda logits: logits.detach().requires_grad_()  # noqa: E731
    return [lambda: program(gpt(), steps=2, given=gone), without_gradient, too_late]


def not_held() -> list[Callable[[], Space]]:
    def copied():
        model = gpt()
        optimizer = torch.optim.AdamW(copy.deepcopy(model).parameters())
        return {"model": model, "optimizer": optimizer, "parameter": model.output.weight}

    def new_output():
        model = encoder()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model.output = nn.Linear(WIDTH, V + 1)
        return {"model": model, "optimizer": optimizer, "parameter": model.output.bias}

    def other_head():
        model = gpt2()
        optimizer = torch.optim.AdamW([{"params": model.parameters()}])
        model.lm_head = nn.Linear(WIDTH, V, bias=False)
        return {"model": model, "optimizer": optimizer, "parameter": model.lm_head.weight}

    return [copied, new_output, other_head]


def no_gradient() -> list[Callable[[], Space]]:
    def seen(model: nn.Module, parameter: nn.Parameter) -> Space:
        return names(model, parameter=parameter)

    def detached():
        model = with_class(
            gpt(), ("self.attention_weights(x)", "self.attention_weights(x).detach()")
        )
        return seen(model, model.blocks[0].attention.W_query.weight)

    def thrown_away():
        model = with_class(gpt(), ("x + self.dropout(found)", "x"), part="TransformerBlock")
        return seen(model, model.blocks[1].attention.out_proj.weight)

    def unused():
        model = encoder()
        model.second_output = nn.Linear(WIDTH, V)
        return seen(model, model.second_output.weight)

    def cut():
        model = with_class(gpt2(), ("self.c_proj(attn_output)", "self.c_proj(attn_output.data)"))
        return seen(model, model.transformer.h[0].attn.c_attn.weight)

    return [detached, thrown_away, unused, cut]


def alike() -> list[Callable[[], Space]]:
    """The context changes nothing."""

    def blind():
        model = encoder()
        for table in (model.embedding, model.positions):
            nn.init.zeros_(table.weight).requires_grad_(False)
        return program(model)

    def empty():
        model = gpt2()
        zeros = torch.zeros(B, T, WIDTH)
        return program(model, lambda ids: model(inputs_embeds=zeros).logits)

    def collapsed():
        torch.manual_seed(1)
        return program(LetterReader(8, residual=False), steps=30, rate=0.003)

    elsewhere = lambda text: text[:, 1:].roll(1, 0)  # noqa: E731
    return [collapsed, blind, empty, lambda: program(gpt(), targets=elsewhere)]


def half_scores(model: nn.Module, part: nn.Parameter, times: float = 3000) -> Space:
    part.data *= times
    return names(model.half())


def sharp() -> list[Callable[[], Space]]:
    ours, tied_, theirs = gpt(), tied(), gpt2()
    return [
        lambda: half_scores(ours, ours.blocks[0].attention.W_query.weight, 5e4),
        lambda: half_scores(tied_, tied_.attn[0].c_attn.weight),
        lambda: half_scores(theirs, theirs.transformer.h[0].attn.c_attn.weight),
    ]


def blind_rows() -> list[Callable[[], Space]]:
    theirs, fused = encoder(), tied()
    visible = ~FUTURE & ~LEFT[:, None, None]
    tril = "scores.masked_fill(torch.ones(scores.shape[-2:]).tril().bool(), -torch.inf)"
    return [
        lambda: names(with_class(gpt(), ("mask_scores(scores)", tril))),
        lambda: names(theirs, lambda ids: theirs(ids, LEFT), LEFT_IDS),
        lambda: names(fused, lambda ids: fused(ids, visible), LEFT_IDS),
    ]


def with_x(model: nn.Module, table: nn.Embedding, value: float) -> Space:
    table.weight.data[int(IDS[0, 3])] = value
    return names(model) | {"x": table(IDS)}


def poisoned() -> list[Callable[[], Space]]:
    ours, theirs, third = gpt(), encoder(), half(llama())
    return [
        lambda: with_x(ours, ours.embedding, torch.inf),
        lambda: with_x(theirs, theirs.embedding, torch.nan),
        lambda: with_x(third, third.model.embed_tokens, -torch.inf),
    ]


def exp_first(scores: torch.Tensor) -> torch.Tensor:
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


# ---- sizes, dtypes, devices: each of these programs stops with an error ----


def refused(call: Callable[[], Any], **space: Any) -> Callable[[], Space]:
    return lambda: space | {"refused": call}


def too_long() -> list[Callable[[], Space]]:
    ids = texts(3, length=2 * T + 1)
    sizes = {"T": 2 * T + 1, "context_length": 2 * T}
    return [refused(lambda m=m: m(ids), **sizes) for m in (gpt(), encoder(), gpt2(), tied())]


def masks() -> list[Callable[[], Space]]:
    q = torch.randn(B, H, T, D)
    mask = ~LEFT[:, None] & ~FUTURE  # (B, T, T)
    module = nn.MultiheadAttention(WIDTH, H, batch_first=True)
    x = torch.randn(B, T, WIDTH)
    seen = {"mask": mask, "B": B, "H": H}
    return [
        refused(lambda: (q @ q.mT).masked_fill(~mask, -torch.inf), **seen),
        refused(lambda: module(x, x, x, attn_mask=~mask), **seen),
        refused(lambda: functional.scaled_dot_product_attention(q, q, q, mask), **seen),
    ]


def devices() -> list[Callable[[], Space]]:
    x = torch.zeros(B, T, WIDTH, device="meta")
    heads = torch.zeros(B, H, T, D, device="meta")
    attend = functional.scaled_dot_product_attention
    return [
        refused(lambda: (x @ x.mT) + torch.zeros(T, T), x=x, mask=torch.zeros(T, T)),
        refused(lambda: (x @ x.mT).masked_fill(FUTURE, -torch.inf), x=x, mask=FUTURE),
        refused(lambda: attend(heads, heads, heads, FUTURE), x=x, mask=FUTURE),
    ]


def constants() -> list[Callable[[], Space]]:
    def hide(constant, dtype):
        scores = torch.zeros(T, T, dtype=dtype)
        call = lambda: scores.masked_fill(FUTURE, constant)  # noqa: E731
        return refused(call, constant=constant, scores=scores)

    low = torch.finfo(torch.float32).min
    return [hide(-1e9, torch.half), hide(low, torch.half), hide(-1e40, torch.bfloat16)]


# ---- positions, batches, caches ----


def turned() -> list[Callable[[], Space]]:
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    queries = torch.randn(B, H, T, D)
    ours = apply_rotary(queries, rotary_frequencies(D, T))
    turns = rotary_frequencies(D, T)
    angle = torch.cat([turns.angle(), turns.angle()], dim=-1)
    theirs = apply_rotary_pos_emb(queries, queries, angle.cos()[None], angle.sin()[None])[0]
    return [
        of(turned=ours, theirs=theirs),
        of(turned=ours, theirs=apply_rotary(queries, rotary_frequencies(D, T, 500.0))),
        of(turned=ours, theirs=apply_rotary(queries, turns.conj())),
    ]


def rounded() -> list[Callable[[], Space]]:
    """Pairs of results that differ by rounding alone, under all the names that the page uses."""

    def pair(first, second):
        first, second = first.detach(), second.detach()
        return of(
            first=first,
            second=second,
            alone=first,
            together=second,
            with_cache=first,
            without=second,
        )

    ours, fused = gpt(), gpt()
    for block in fused.blocks:
        attention = fused_multihead.FusedMultiHeadAttention(WIDTH, WIDTH, 2 * T, 0.0, H)
        copy_weights(block.attention, attention)
        block.attention = attention
    eager, sdpa = gpt2(), gpt2(attn_implementation="sdpa")
    for model in (eager, sdpa):  # logits far above 100
        model.lm_head = nn.Linear(WIDTH, V)
        nn.init.normal_(model.lm_head.weight, std=20.0, generator=torch.Generator().manual_seed(1))
        nn.init.zeros_(model.lm_head.bias)
    model = our_llama().requires_grad_(False)
    caches = model.new_caches(B)
    parts = torch.cat([model(IDS[:, :4], caches), model(IDS[:, 4:], caches)], dim=1)
    exact = [m.double() for m in (fused, encoder(), sdpa, our_llama())]  # another last digit
    exact = [runs(m)(IDS).float() for m in exact]
    others = [ours(IDS), encoder()(IDS), eager(IDS).logits, parts]
    return [pair(*results) for results in zip(others, exact, strict=True)]


def taken() -> list[Callable[[], Space]]:
    word = int(RIGHT_IDS[0, 2])  # the id of padding is a word's
    ids = IDS.masked_fill(RIGHT, word)
    return [
        of(padding=RIGHT, taken=ids == word),
        of(padding=RIGHT, taken=torch.zeros(B, T).bool()),  # no mask was passed
        of(padding=LEFT, taken=RIGHT),  # the tokenizer pads on the other side
    ]


def leaking() -> list[Callable[[], Space]]:
    theirs, third, fused = encoder(hidden=torch.zeros(2 * T, 2 * T).bool()), llama(), tied()
    right, left = 1 - RIGHT.long(), 1 - LEFT.long()
    return [
        lambda: names(theirs, ids=RIGHT_IDS, text=right),
        lambda: names(third, ids=LEFT_IDS, text=left),
        lambda: names(fused, text=PACKED),
        lambda: names(gpt(), ids=LEFT_IDS, text=left),
    ]


def first_for_tokens() -> list[Callable[[], Space]]:
    x = torch.randn(B, T, WIDTH)
    layer = nn.TransformerEncoderLayer(WIDTH, H)
    return [
        of(module=nn.MultiheadAttention(WIDTH, H), tokens=x, B=B),
        of(module=layer.self_attn, tokens=x, B=B),
        of(module=Encoder(batch_first=False).layers.layers[0].self_attn, tokens=x, B=B),
    ]


def read_twice() -> list[Callable[[], Space]]:
    from transformers import DynamicCache

    ids = IDS[:1]

    def ours():
        model = our_llama().requires_grad_(False)
        caches = model.new_caches()
        model(ids, caches)
        model(ids[:, -1:], caches)
        return {"S": len(caches[0]), "so_far": ids}

    def theirs():
        model, cache = llama(), DynamicCache()
        model(ids, past_key_values=cache)
        model(ids[:, -1:], past_key_values=cache)
        return {"S": cache.get_seq_length(), "so_far": ids}

    def lacking():  # the prompt was read without the cache
        model, cache = gpt2(), DynamicCache()
        model(ids)
        model(ids[:, -1:], past_key_values=cache)
        return {"S": cache.get_seq_length(), "so_far": ids}

    return [ours, theirs, lacking]


def unmasked_prompt() -> list[Callable[[], Space]]:
    """A prompt of 4 after 6 tokens in the cache, or of all: mask only where there is no cache."""
    fused, third = tied(), llama()
    everything = torch.zeros(1, 1, T, T)
    q, k = torch.randn(1, H, 4, D), torch.randn(1, H, T, D)
    attend = functional.scaled_dot_product_attention
    return [
        lambda: names(fused, lambda ids: fused(ids, torch.ones(T, T).bool())),
        lambda: names(third, lambda ids: third(ids, attention_mask=everything).logits, IDS[:1]),
        of(weights=attend(q, k, torch.eye(T).expand(1, H, T, T)), T=4, S=T),
        lambda: seen_in(NO_MASK)[0]() | {"S": T},
    ]


def causal_from_the_first() -> list[Callable[[], Space]]:
    def step(new: int, dtype: torch.dtype):
        q, k = torch.randn(1, H, new, D, dtype=dtype), torch.randn(1, H, T, D, dtype=dtype)
        eye = torch.eye(T, dtype=dtype).expand(1, H, T, T)
        weights = functional.scaled_dot_product_attention(q, k, eye, is_causal=True)
        return of(weights=weights, T=new, S=T)

    return [step(1, torch.float32), step(3, torch.float32), step(3, torch.bfloat16)]


def last_is_padding() -> list[Callable[[], Space]]:
    ours, theirs, third = gpt(), encoder(), gpt2()
    return [
        lambda: names(ours, ids=RIGHT_IDS) | {"last": LENGTHS - 1},
        lambda: names(theirs, lambda ids: theirs(ids, RIGHT), RIGHT_IDS) | {"last": LENGTHS - 1},
        lambda: (
            names(third, lambda ids: third(ids, attention_mask=(~RIGHT).long()).logits, RIGHT_IDS)
            | {"last": LENGTHS - 1}
        ),
    ]


# ---- writing ----


def other_row() -> list[Callable[[], Space]]:
    def used(make, row):
        space = names(make())
        return space | {"used": row(space["logits"])}

    return [
        lambda: used(gpt, lambda logits: logits[:, 0]),
        lambda: used(encoder, lambda logits: logits[-1]),
        lambda: used(lambda: half(gpt2()), lambda logits: logits[:, -2].float()),
    ]


def not_learned() -> list[Callable[[], Space]]:
    def other_ids(make):  # each id stands for another word
        model = make()
        trained(model)
        torch.manual_seed(3)
        order = torch.randperm(V)
        logits = runs(model)(order[IDS]).detach()
        return {"loss": functional.cross_entropy(logits.mT, order[NEXT]), "V": V}

    return [
        lambda: names(gpt()) | {"V": V},
        lambda: names(gpt2()) | {"V": V},
        lambda: other_ids(encoder),
        lambda: other_ids(lambda: llama()),
    ]


def unending() -> list[Callable[[], Space]]:
    ours = our_llama().requires_grad_(False)
    ours.output.weight = nn.Parameter(torch.zeros(V, WIDTH))  # it says 0, its end, each time
    third = gpt2(eos_token_id=None)
    third.lm_head.weight = nn.Parameter(torch.zeros(V, WIDTH))
    written = third.generate(IDS[:1], max_new_tokens=4, do_sample=False, pad_token_id=PAD)
    return [
        of(written=list(next_ids(ours, [1, 2], 3)), end_id=0),
        of(written=written[0, T:], end_id=0),
        of(written=[4, 0, 9, 9], end_id=0),
    ]


def with_grad() -> list[Callable[[], Space]]:
    return [lambda m=m: {"logits": runs(m)(IDS)} for m in (gpt(), encoder(), gpt2())]


def kept() -> list[Callable[[], Space]]:
    losses = [names(make())["loss"] for make in (gpt, encoder, gpt2)]
    return [of(kept=losses[0]), of(kept=losses[1] + losses[0]), of(kept=losses[2].mean())]


# ---- files ----


def loading(state: Callable[[dict], dict], *makes: Callable[[], nn.Module]) -> list:
    def seen(make):
        model = make()
        return {"model": model, "own": model.state_dict(), "state": state(model.state_dict())}

    return [lambda make=make: seen(make) for make in makes]


def renamed(old: str, new: str) -> Callable[[dict], dict]:
    return lambda state: {name.replace(old, new): value for name, value in state.items()}


def prefixed() -> list[Callable[[], Space]]:
    def longer(prefix):
        return lambda state: {prefix + name: value for name, value in state.items()}

    def shorter(state):
        return {name.removeprefix("transformer."): value for name, value in state.items()}

    return [
        *loading(longer("module."), gpt),
        *loading(longer("_orig_mod."), encoder),
        *loading(shorter, gpt2),
    ]


def transposed() -> list[Callable[[], Space]]:
    flip = lambda state: {n: v.mT if v.dim() == 2 else v for n, v in state.items()}  # noqa: E731
    return loading(flip, gpt, encoder, gpt2)


# ---- pictures ----


def heads(change: Callable[[torch.Tensor], torch.Tensor]) -> list[Callable[[], Space]]:
    """Return weights of three styles, changed: those of one head, or of all."""

    def seen(make):
        space = names(make())
        weights = space["weights"].clone()
        return space | {"weights": change(weights)}

    return [lambda make=make: seen(make) for make in (gpt, encoder, lambda: half(gpt2()))]


def sink(place: int) -> list[Callable[[], Space]]:
    def spend(weights):
        weights[:, 1] = 0.05 * weights[:, 1]
        weights[:, 1, place + 1 :, place] += 0.95
        return weights

    return [lambda look=look: look() | {"place": place} for look in heads(spend)]


def even_head() -> list[Callable[[], Space]]:
    """Queries of one head, or of all, are zero."""
    ours, theirs, third = gpt(), encoder(), gpt2()
    ours.blocks[0].attention.W_query.weight.data[:D] = 0
    theirs.layers.layers[0].self_attn.in_proj_weight.data[:WIDTH] = 0
    third.transformer.h[0].attn.c_attn.weight.data[:, D : 2 * D] *= 1e-3
    return seen_in([lambda: ours, lambda: theirs, lambda: half(third)])


def same_heads() -> list[Callable[[], Space]]:
    def repeated(weight):  # (3 * WIDTH or WIDTH, WIDTH): each head has the first one's rows
        parts = weight.reshape(-1, H, D, WIDTH)
        weight.copy_(parts[:, :1].expand_as(parts).reshape(weight.shape))

    ours, theirs, third = gpt(), encoder(), gpt2()
    with torch.no_grad():
        for layer in (ours.blocks[0].attention.W_query, ours.blocks[0].attention.W_key):
            repeated(layer.weight)
        repeated(theirs.layers.layers[0].self_attn.in_proj_weight)
        packed = third.transformer.h[0].attn.c_attn.weight
        columns = packed.mT.clone()
        repeated(columns)
        packed.copy_(columns.mT)
    return seen_in([lambda: ours, lambda: theirs, lambda: third])


def moved(targets: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[], Space]:
    """Return ids and what a text's loss is computed from, as (ids, targets)."""
    return of(ids=IDS, targets=targets(texts(7)), T=T)


SAME = "(targets == ids[:, :targets.shape[1]])[targets >= 0].all()"
LEAK = "not torch.equal(earlier(ids), earlier(changed))"


@functools.cache
def plants() -> dict[str, list[Callable[[], Space]]]:
    """Return for each line the programs that have its cause."""
    return {
        LEAK: seen_in([*NO_MASK, *NORMS, *WRONG_HEADS, *ROWS_WRONG]),
        SAME: [
            moved(lambda text: text[:, :-1]),
            moved(lambda text: text[:, :-1].masked_fill(RIGHT, -100)),
            moved(lambda text: text[:, :-2]),  # labels moved forth, and back by the model
        ],
        "not any(grad.any() for grad in grads)": cut_off(),
        "[name for name, p in model.named_parameters() if p.requires_grad and p not in held]": (
            not_held()
        ),
        "(given.sum(dim=1) - 1).abs().max() < 0.05": [
            lambda: program(gpt(), steps=2, given=lambda logits: logits.softmax(dim=1)),
            lambda: {"given": encoder()(IDS).softmax(dim=-1).flatten(0, 1)},
            lambda: {"given": half(gpt2())(IDS).logits.softmax(dim=-1).flatten(0, 1)},
        ],
        "(p * (p / p.mean(dim=1, keepdim=True)).log()).sum(dim=-1).mean() < 0.03": alike(),
        "(targets[:, :T - 1] != ids[:, 1:])[targets[:, :T - 1] >= 0].any()": [
            moved(lambda text: text[:, 1:].roll(1, 0)),  # of another text
            moved(lambda text: text[:, 2:]),  # labels moved by one, and again by the model
            moved(lambda text: text[:, :-1].roll(1, 1).masked_fill(RIGHT, -100)),  # backwards
            moved(lambda text: text[:, :-1]),
        ],
        "not parameter.requires_grad": [
            lambda: {"parameter": gpt().blocks[0].requires_grad_(False).norm1.weight},
            lambda: {"parameter": encoder().requires_grad_(False).output.weight},
            lambda: {"parameter": gpt2().transformer.wte.requires_grad_(False).weight},
        ],
        "torch.autograd.grad(loss, parameter, retain_graph=True, allow_unused=True)[0] is None": (
            no_gradient()
        ),
        "parameter not in held": not_held(),
        "mask.is_floating_point() and ((mask == 0) | (mask == 1)).all() and mask.any()": [
            of(mask=torch.ones(T, T).tril()),
            of(mask=(IDS != PAD).float()[:, None, None]),
            of(mask=torch.ones(T, T).triu(1).half()),
        ],
        "not x.isfinite().all()": poisoned(),
        "scores.isposinf().any()": sharp(),
        "softmax(scores).isnan().sum() > scores.softmax(dim=-1).isnan().sum()": [
            of(softmax=softmax_naive, scores=torch.tensor([[1000.0, 999.0]])),
            of(softmax=exp_first, scores=torch.tensor([[12.0, 1.0]]).half()),
            of(
                softmax=lambda s: torch.exp(s) / torch.exp(s).sum(-1, True),
                scores=torch.eye(3) * 100,
            ),
        ],
        "scores.isneginf().all(dim=-1).any()": blind_rows(),
        "not (targets >= 0).any()": [
            of(targets=torch.full((B, T), -100)),
            of(targets=IDS.masked_fill(torch.ones(B, T).bool(), -100)),
            of(targets=torch.full((B * T,), -100)),
        ],
        "T > context_length": too_long(),
        "d_out % num_heads != 0": [
            refused(lambda: gpt(num_heads=5), d_out=WIDTH, num_heads=5),
            refused(lambda: nn.MultiheadAttention(WIDTH, 5), d_out=WIDTH, num_heads=5),
            refused(lambda: gpt2(n_head=5), d_out=WIDTH, num_heads=5),
        ],
        "mask.dim() == 3 and len(mask) != B * H": masks(),
        "x.device != mask.device": devices(),
        "-torch.inf < constant < torch.finfo(scores.dtype).min": constants(),
        "not torch.equal(run(ids), run(ids))": seen_in(DROPPING),
        "off(is_causal=True, scale=1.0) < off(is_causal=True) / 3": seen_in(UNDIVIDED),
        "off() < off(is_causal=True) / 3": seen_in(NO_MASK),
        "off(attn_mask=hidden) < off(attn_mask=~hidden) / 3": inverted(),
        "((rows - 1).abs() > 0.05)[rows > 0].any()": seen_in(ROWS_WRONG),
        "queries.shape[-2] != T": seen_in(SWAPPED),
        "not (torch.equal(flat(cut), projected) and torch.equal(flat(mine), joined))": seen_in(
            WRONG_HEADS
        ),
        "(turned - theirs)[:, :, 0].abs().max() < 0.02 * theirs.abs().max()"
        " < (turned - theirs).abs().max()": turned(),
        "rounding(first, second)": rounded(),
        "T > longest_trained": [
            of(T=T + 1, longest_trained=T),
            of(T=2 * T, longest_trained=T),
            of(T=texts(1, length=12).shape[1], longest_trained=T),
        ],
        "not torch.equal(used.float(), logits[range(B), last].float())": [
            *last_is_padding(),
            *other_row(),
        ],
        "(taken != padding).any()": taken(),
        "((text[:, None, :, None] != text[:, None, None])"
        " & (text[:, None, :, None] > 0) & (weights > 0)).any()": leaking(),
        "positions.masked_fill(padding, T).amin(dim=-1).max() > 0": [
            of(positions=torch.arange(T), padding=LEFT, T=T),
            of(positions=torch.arange(T).expand(B, T), padding=LEFT, T=T),
            of(positions=LEFT.logical_not().cumsum(-1), padding=LEFT, T=T),  # from 1
        ],
        "not module.batch_first and len(tokens) == B": first_for_tokens(),
        "rounding(alone, together)": rounded(),
        "weights[..., -2:-1, -1].any()": [*seen_in([*NO_MASK, ROWS_WRONG[2]]), *unmasked_prompt()],
        "not torch.equal(norm(x)[:, :-1], norm(x_changed)[:, :-1])": normed(),
        "positions.min() != cached": [
            of(positions=torch.arange(3), cached=T),
            of(positions=torch.zeros(1, 1).long(), cached=T),
            of(positions=torch.tensor([T + 1]), cached=T),  # one was read twice
        ],
        "S != so_far.shape[-1]": read_twice(),
        "S > T and not weights[..., -1, T:].any()": causal_from_the_first(),
        "rounding(with_cache, without)": rounded(),
        "loss > 0.9 * torch.tensor(V).log()": not_learned(),
        "end_id in written[:-1]": unending(),
        "end_mark not in prompt": [
            of(end_mark="<|im_end|>", prompt="Are dogs real?"),
            of(end_mark="<|eot_id|>", prompt=chat("Are dogs real?")),  # another model's form
            of(end_mark="</s>", prompt="User: Are dogs real?\nAssistant:"),
        ],
        "end_id not in encode(end_mark)": [
            of(end_id=2, encode=lambda text: [ord(c) for c in text], end_mark="<|im_end|>"),
            of(end_id=2, encode=lambda text: [1, 27, 91, 320], end_mark="<|im_end|>"),
            of(end_id=2, encode=lambda text: torch.tensor([1, 9]), end_mark="</s>"),
        ],
        "not ((targets == end_id) & (targets != ignored)).any()": [
            of(end_id=PAD, targets=RIGHT_IDS.masked_fill(RIGHT_IDS == PAD, -100), ignored=-100),
            of(end_id=PAD, targets=IDS, ignored=-100),
            of(end_id=PAD, targets=RIGHT_IDS, ignored=PAD),
        ],
        "logits.requires_grad": with_grad(),
        "getattr(kept, 'requires_grad', False)": kept(),
        "new_ids.shape[-1] > 1": [of(new_ids=IDS), of(new_ids=IDS[0]), of(new_ids=IDS[:, :2])],
        "padding.float().mean() > 0.5": [
            of(padding=torch.arange(4 * T) >= LENGTHS[:, None]),
            of(padding=torch.arange(4 * T) < 3 * LENGTHS[:, None]),
            of(padding=(torch.arange(4 * T) >= LENGTHS[:, None]).long()),
        ],
        "{name.partition('.')[2] for name in missing | extra} & (missing | extra)": prefixed(),
        "missing & {name for name, _ in model.named_parameters()}": [
            *loading(renamed("W_query", "q_proj"), gpt),
            *loading(renamed("layers.0.", "layer.0."), encoder),
            *loading(lambda state: {n: v for n, v in state.items() if "mlp" not in n}, gpt2),
        ],
        "[name for name in {*own} & {*state}"
        " if state[name].shape[::-1] == own[name].shape != state[name].shape]": transposed(),
        "weights[..., place + 1:, place].mean(dim=-1).max() > 0.8": [*sink(0), *sink(4)],
        "(weights[..., -1, :].amax(dim=-1) * weights.shape[-1]).amax(dim=0).min() < 1.1": (
            even_head()
        ),
        "weights.std(dim=1).max() < 0.01": same_heads(),
    }


# ---- programs without any of the causes ----

MAY_LACK = {  # names that a program may lack, and why
    "turned": "no two ways to turn queries are compared",
    "first": "no two results are compared",
    "alone": "no two results are compared",
    "with_cache": "no two results are compared",
    "padding": "no text is padded",
    "taken": "no text is padded",
    "text": "no text is padded, and no two share a row",
    "positions": "queries and keys are turned, and no positions are added to tokens",
    "projected": "the module keeps its projection to itself",
    "module": "PyTorch's module is not used",
    "mask": "the mask is made inside",
    "cached": "there is no cache",
    "so_far": "there is no cache",
    "new_ids": "nothing is written",
    "kept": "no losses are collected",
    "written": "nothing is written",
    "end_mark": "nothing is written",
    "end_id": "nothing is written",
    "ignored": "nothing is written",
    "optimizer": "nothing is trained",
    "held": "nothing is trained",
    "grads": "nothing is trained",
    "given": "nothing is trained",
    "targets": "nothing is trained",
    "ids": "no model runs",
    "model": "no model runs",
    "run": "no model runs",
    "earlier": "no model runs",
    "logits": "no model runs",
    "parameter": "no model runs",
    "loss": "no model runs",
    "x": "no model runs",
    "scores": "no model runs",
    "weights": "no model runs",
    "queries": "no model runs",
    "cut": "no model runs",
    "norm": "no model runs",
    "d_out": "no model runs",
    "T": "no model runs",
    "p": "no model runs",
    "constant": "no model runs",
    "used": "no model runs",
    "extra": "no model runs",
    "missing": "no model runs",
    "off": "no model runs",
    "mine": "no model runs",
    "rows": "no model runs",
    "S": "no model runs",
    "softmax": "no model runs",
    "context_length": "no model runs",
    "hidden": "no model runs",
    "longest_trained": "no model runs",
    "own": "no model runs",
    "state": "no model runs",
    "place": "no model runs",
    "last": "no model runs",
    "x_changed": "no model runs",
}


def healthy(model: nn.Module, run=None, ids=IDS, dtype=None, **how: Any) -> Space:
    """Return a program after training, with what its lines name."""
    more = {name: how.pop(name) for name in ("targets", "optimizer") if name in how}
    seen = trained(model, run if ids is IDS else None, **how)
    if dtype is not None:
        model.to(dtype)
    space = names(model, run, ids)
    x_changed = torch.cat([space["x"][:, :-1], torch.randn(B, 1, WIDTH)], dim=1)
    space |= {"x_changed": x_changed.to(dtype), "x": space["x"].to(dtype)}
    space["parameter"] = next(p for p in model.parameters() if p.grad is not None)
    return space | seen | {"targets": NEXT} | more


def ours_at_the_first_step() -> Space:
    """Dropout is 0.0, the model is in training mode, and the rate has just begun to rise."""
    space = healthy(gpt())
    optimizer = torch.optim.AdamW(space["model"].parameters(), lr=0.01)
    torch.optim.lr_scheduler.LinearLR(optimizer, 1e-6, total_iters=100)
    space["model"].train()
    return space | {"optimizer": optimizer, "kept": space["loss"].item()}


def ours_with_dropout() -> Space:
    space = healthy(gpt(dropout=0.1), steps=100)
    return space | {"kept": space["loss"].detach(), "mask": FUTURE}


def ours_in_bfloat16_after_zero_grad() -> Space:
    space = healthy(gpt(), dtype=torch.bfloat16)
    space["grads"] = [p.grad for p in space["model"].parameters()]
    space["optimizer"].zero_grad()
    return space | {"constant": -1e9, "softmax": lambda scores: softmax(scores)}


def groups_and_tied_output() -> Space:
    model = tied()
    matrices = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": rest, "weight_decay": 0.0}, {"params": matrices}]
    optimizer = torch.optim.AdamW(groups, lr=0.01)
    space = healthy(model)
    return space | {"optimizer": optimizer, "softmax": softmax, "scores": 1000 * space["scores"]}


def under_autocast() -> Space:
    model = tied()
    run = torch.autocast("cpu", torch.bfloat16)(model)
    return healthy(model, run)


def padded_on_the_right() -> Space:
    """Causal, with targets of -100 at padding, and the last word of each text is read."""
    model = encoder()
    run = lambda ids: model(ids, RIGHT if ids.shape == RIGHT.shape else None)  # noqa: E731
    space = healthy(
        model, run, RIGHT_IDS, targets=NEXT.masked_fill(RIGHT.roll(-1, 1) | RIGHT, -100)
    )
    space["used"] = space["logits"][torch.arange(B), LENGTHS - 1]
    module = model.layers.layers[0].self_attn
    pads = {"padding": RIGHT, "taken": RIGHT, "text": 1 - RIGHT.long(), "module": module}
    pads |= {"tokens": space["x"], "last": LENGTHS - 1}
    del space["so_far"]
    mask = (FUTURE | RIGHT[:, None]).repeat_interleave(H, dim=0)  # (B * H, T, T)
    return space | pads | {"mask": mask}


def right_padding_without_a_mask() -> Space:
    space = healthy(
        gpt(), None, RIGHT_IDS, targets=NEXT.masked_fill(RIGHT.roll(-1, 1) | RIGHT, -100)
    )
    pads = {"padding": RIGHT, "taken": RIGHT, "text": 1 - RIGHT.long(), "last": LENGTHS - 1}
    space["used"] = space["logits"][torch.arange(B), LENGTHS - 1]
    return space | pads


def tokens_first() -> Space:
    model = encoder(batch_first=False)
    space = healthy(model)
    return space | {"module": model.layers.layers[0].self_attn, "tokens": torch.randn(T, B, WIDTH)}


def theirs_padded_on_the_left() -> Space:
    model = gpt2()
    positions = (LEFT.logical_not().cumsum(-1) - 1).clamp(min=0)

    def run(ids):
        if ids.shape != LEFT.shape:
            return model(ids).logits
        return model(ids, attention_mask=(~LEFT).long(), position_ids=positions).logits

    space = healthy(model, run, LEFT_IDS)
    space |= {"padding": LEFT, "taken": LEFT, "text": 1 - LEFT.long(), "positions": positions}
    targets = torch.cat([LEFT_IDS[:, 1:], NEXT[:, -1:]], dim=1).masked_fill(LEFT, -100)
    return space | {"targets": targets}


def theirs_as_a_dictionary() -> Space:
    """Gradients of two batches are added up; the module moves the labels."""
    model = gpt2(attn_implementation="sdpa")
    space = healthy(model, lambda ids: dict(model(ids))["logits"])
    model(IDS, labels=IDS).loss.backward()
    kept = model(IDS, labels=IDS).loss.item()
    state = {name: v for name, v in space["own"].items() if name != "lm_head.weight"}
    state["transformer.h.0.attn.bias"] = torch.ones(1, 1, T, T).tril()  # of an old file
    return space | {"targets": IDS[:, 1:], "kept": kept, "state": state}


def llama_padded_on_the_left() -> Space:
    """Positions count padding, which turned queries and keys do not see."""
    model = llama()

    def run(ids):
        mask = (~LEFT).long() if ids.shape == LEFT.shape else None
        return model(ids, attention_mask=mask).logits

    space = healthy(model, run, LEFT_IDS)
    del space["positions"]
    targets = torch.cat([LEFT_IDS[:, 1:], NEXT[:, -1:]], dim=1).masked_fill(LEFT, -100)
    pads = {"padding": LEFT, "taken": LEFT, "text": 1 - LEFT.long()}
    return space | pads | {"targets": targets}


def llama_in_bfloat16() -> Space:
    model = llama(attn_implementation="sdpa")
    space = healthy(model, dtype=torch.bfloat16)
    low = torch.finfo(torch.bfloat16).min
    queries = torch.randn(B, H, T, D)
    turns = rotary_frequencies(D, T)
    turned = apply_rotary(queries, turns)
    del space["positions"]
    pair = {"turned": turned, "theirs": turned.bfloat16().float()}
    return space | {"constant": low} | pair


def texts_that_share_a_row() -> Space:
    model = tied()
    places = torch.tensor([0, 1, 2, 0, 1, 2, 3, 0, 1, 2]).expand(B, T)
    run = lambda ids: model(ids, BY_TEXT, places)  # noqa: E731
    space = healthy(model, run)
    return space | {"text": PACKED, "positions": places[0]}


def from_a_cache() -> Space:
    """A prompt was read, and now one word is, with the older keys in a cache."""
    from transformers import DynamicCache

    model, cache = gpt2().requires_grad_(False), DynamicCache()
    model(IDS[:, :-1], past_key_values=cache)
    run = lambda ids: model(ids[:, -1:], past_key_values=copy.deepcopy(cache)).logits  # noqa: E731
    step = names(model, run)
    wanted = {"weights", "queries", "logits", "used", "so_far"}
    space = {name: value for name, value in step.items() if name in wanted}
    space |= {"T": 1, "S": T, "cached": T - 1, "positions": torch.tensor([[T - 1]])}
    space |= {"B": B, "last": [0] * B, "p": None}  # of one place alone nothing can be compared
    return space | {"new_ids": IDS[:, -1:]}


def a_prompt_in_pieces() -> Space:
    """Three tokens at once, after seven in the cache."""
    model = our_llama().requires_grad_(False)
    caches = model.new_caches(B)
    model(IDS[:, :-3], caches)
    step = inside(model, lambda: model(IDS[:, -3:], caches))
    del step["cut"]  # with the older ones
    sizes = {"T": 3, "S": len(caches[0]), "cached": T - 3, "so_far": IDS}
    return step | sizes | {"positions": torch.arange(T - 3, T)}


def a_chat() -> Space:
    """Several questions and answers; the tokenizer puts a token before each text."""
    encode = lambda text: [1, 0] if text == "<|im_end|>" else [1, 5, 6]  # noqa: E731
    targets = torch.cat([NEXT, torch.zeros(B, 1).long()], dim=1)
    written = {
        "written": [4, 9, 0],
        "end_id": 0,
        "ignored": -100,
        "end_mark": "<|im_end|>",
        "encode": encode,
    }
    prompt = chat("Hi") + "Hello<|im_end|>" + chat("Are dogs real?")
    return written | {"targets": targets, "prompt": prompt, "constant": -1e9}


def an_answer() -> Space:
    """One that was cut before its end, as tensors."""
    encode = lambda text: torch.tensor([1])  # noqa: E731
    form = "<s>[INST] Are dogs real? [/INST]</s>"
    written = {"written": torch.tensor([4, 9, 5]), "end_id": 1, "ignored": -100, "end_mark": "</s>"}
    return written | {"encode": encode, "prompt": form, "targets": torch.ones(1, 3).long()}


KINDS = {"GPT": gpt, "Tied": tied, "Encoder": encoder, "GPT2LMHeadModel": gpt2}


def other_results(fault: int) -> Callable[[], Space]:
    """Results that differ by a fault, in float32 and in bfloat16, or that do not differ."""

    def seen():
        found = {}
        for name, dtype in (("first second", torch.float32), ("alone together", torch.bfloat16)):
            wrong = (NO_MASK + UNDIVIDED)[fault]()
            right = KINDS.get(type(wrong).__name__, llama)()
            pair = (runs(m.eval().to(dtype))(IDS).detach() for m in (wrong, right))
            found |= dict(zip(name.split(), pair, strict=True))
        found |= {"with_cache": found["first"], "without": found["first"].clone()}
        turns = rotary_frequencies(D, T)
        turned = apply_rotary(torch.randn(B, H, T, D), turns)
        found |= {"turned": turned, "theirs": (turned.double() * (1 + 1e-7)).float()}
        return found | {"new_ids": IDS[:, -1:], "mask": FUTURE.expand(B, 1, T, T), "x": IDS}

    return seen


HEALTHY: list[Callable[[], Space]] = [
    ours_at_the_first_step,
    ours_with_dropout,
    ours_in_bfloat16_after_zero_grad,
    groups_and_tied_output,
    under_autocast,
    padded_on_the_right,
    right_padding_without_a_mask,
    tokens_first,
    theirs_padded_on_the_left,
    theirs_as_a_dictionary,
    llama_padded_on_the_left,
    llama_in_bfloat16,
    texts_that_share_a_row,
    from_a_cache,
    a_prompt_in_pieces,
    a_chat,
    an_answer,
    *(other_results(fault) for fault in range(len(NO_MASK + UNDIVIDED))),
]
