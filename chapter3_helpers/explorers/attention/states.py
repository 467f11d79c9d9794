"""What ``attention_explorer`` computes: a function for each kind of mechanism.

For every class, the reader's too, sizes are read from what the module computes, and whether it
scales and masks is inferred from its weights.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import nn

from chapter3_helpers._language import say, to_say
from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.dot_products import simple_self_attention
from chapter3_helpers.dropout import dropout_mask
from chapter3_helpers.explorers.attention.handmade_heads import (
    D_HEAD,
    place_and_kind,
    weights_by_head,
)
from chapter3_helpers.explorers.attention.mechanisms import (
    BY_HAND,
    CLASSES,
    FUSED,
    SIMPLE,
    SPLIT,
    UNMASKED,
    make_module,
)
from chapter3_helpers.explorers.core.inputs import read_sentence, read_tokens
from chapter3_helpers.fused_multihead import join_heads
from chapter3_helpers.masking import causal_mask, mask_then_renormalise
from chapter3_helpers.read_attention import read_attention
from chapter3_helpers.softmax import softmax

CLOSE = 5e-4  # what rounding makes of the same weights


@dataclass(frozen=True)
class AttentionState:
    """Everything that the explorer shows for one choice of settings."""

    tokens: tuple[str, ...]
    x: torch.Tensor  # (T, 3), or (T, 5) by hand
    module: nn.Module | None
    out_proj: nn.Module | None  # what it mixes its heads by
    queries: torch.Tensor  # (H, T, D)
    keys: torch.Tensor  # (H, T, D)
    values: torch.Tensor  # (H, T, D)
    undropped: torch.Tensor  # (H, T, T), the weights after softmax and mask
    scaled: bool  # whether the scores are divided by sqrt(D)
    hidden: torch.Tensor | None  # (T, T), True where a key is hidden
    fault: str = ""  # why the rest does not lead to the weights and the context, if it does not
    dropout: float = 0.0  # the share of the weights that is dropped; 0 where dropout is off
    kept: torch.Tensor | None = None  # (H, T, T), False where dropout takes a weight

    @property
    def scores(self) -> torch.Tensor:
        """The dot products of queries and keys, (H, T, T)."""
        return self.queries @ self.keys.transpose(-2, -1)

    @property
    def weights(self) -> torch.Tensor:
        """The weights that mix the values, (H, T, T): after dropout."""
        return self.undropped * self.kept / (1 - self.dropout) if self.dropout else self.undropped

    @property
    def mixed(self) -> torch.Tensor:
        """The values that each head mixes, (H, T, D)."""
        return self.weights @ self.values

    @property
    def context(self) -> torch.Tensor:
        """What comes out, (T, width)."""
        joined = join_heads(self.mixed)
        with torch.no_grad():
            return self.out_proj(joined) if self.out_proj else joined


@as_torch_starts()
def simple_state(*, text: str, scale: int, causal: bool) -> AttentionState:
    """Return what dot products alone make of a sentence, as in 01 and 02."""
    tokens, x = read_sentence(text)
    x = scale * x
    _, weights = simple_self_attention(x)
    state = AttentionState(
        tokens, x, None, None, x[None], x[None], x[None], weights[None], scaled=False, hidden=None
    )
    return hide_future(state) if causal else state


@as_torch_starts()
def unmasked_state(
    *,
    text: str,
    made: str,
    seed: int,
    scale: int,
    d_out: int,
    causal: bool,
    attention_class: type[nn.Module],
) -> AttentionState:
    """Return what one head makes of a sentence that leaves the mask to others, as in 03."""
    tokens, x = read_inputs(text, made, scale)
    d_out = D_HEAD if made == BY_HAND else d_out
    state = state_of(tokens, x, make_module(attention_class, x, made, seed, d_out=d_out))
    return hide_future(state) if causal else state


@as_torch_starts()
def causal_state(
    *,
    mechanism: str,
    text: str,
    made: str,
    seed: int,
    scale: int,
    d_out: int,
    num_heads: int,
    dropout: float,
    attention_class: type[nn.Module],
) -> AttentionState:
    """Return what one causal head or several make of a sentence, as in 05, 06 and 07."""
    tokens, x = read_inputs(text, made, scale)
    if made == BY_HAND:
        d_out = D_HEAD * (num_heads if mechanism in (SPLIT, FUSED) else 1)
    module = make_module(attention_class, x, made, seed, d_out=d_out, num_heads=num_heads)
    return drop(state_of(tokens, x, module), dropout, seed)


STATES: Mapping[str, Callable[..., AttentionState]] = {
    SIMPLE: simple_state,
    **{
        mechanism: partial(
            unmasked_state if mechanism in UNMASKED else causal_state, attention_class=kind
        )
        for mechanism, kind in CLASSES.items()
    },
}


def read_inputs(text: str, made: str, scale: int) -> tuple[tuple[str, ...], torch.Tensor]:
    """Return the tokens of a sentence and what is known of each: place and kind, (T, 5), for
    weights that are made by hand; embeddings (T, 3), multiplied by ``scale``, for others."""
    if made == BY_HAND:
        read_tokens(text)  # refuses what can't be drawn
        return place_and_kind(text)
    tokens, x = read_sentence(text)
    return tokens, scale * x


@torch.no_grad()
def state_of(tokens: tuple[str, ...], x: torch.Tensor, module: nn.Module) -> AttentionState:
    """Return what a module makes of x (T, d_in) outside training, and how."""
    weights = weights_by_head(module, x)  # (H, T, T)
    layers = replace(read_attention(module), num_heads=len(weights))
    queries, keys, values = layers.project(x)  # (H, T, D) each
    found = explain(queries @ keys.transpose(-2, -1), weights, queries.shape[-1])
    state = AttentionState(
        *(tokens, x, module, layers.out_proj, queries, keys, values, weights), *found
    )
    if state.fault or type(module) in CLASSES.values():
        return state
    output, wanted = module(x), state.context
    if output.shape == wanted.shape and torch.allclose(output, wanted, rtol=1e-3, atol=1e-4):
        return state
    fault = to_say(
        "Its weights are right; what it returns is not these times its values: its shape is "
        "{shape}, not {wanted}. Look at forward."
    )
    if output.shape == wanted.shape:
        fault = to_say(
            "Its weights are right; what it returns is not these times its values. Look at forward."
        )
    shapes = {"shape": tuple(output.shape), "wanted": tuple(wanted.shape)}
    return replace(state, fault=say(fault, **shapes))


def explain(
    scores: torch.Tensor, weights: torch.Tensor, head_dim: int
) -> tuple[bool, torch.Tensor | None, str]:
    """Find out how weights (H, T, T) come from scores (H, T, T): whether they were divided by
    sqrt(D), what (T, T) hides keys, and what is at fault if they come in another way.

    Every way is computed, and the one that comes closest to the weights is meant.
    """
    errors = {}
    for scaled in (True, False):
        divided = scores / head_dim**0.5 if scaled else scores
        for hidden in (causal_mask(scores.shape[-1]), None):
            seen = divided if hidden is None else divided.masked_fill(hidden, -torch.inf)
            error = (softmax(seen) - weights).abs().max().item()
            errors.setdefault(error, (scaled, hidden, ""))
    if min(errors) < CLOSE:
        return errors[min(errors)]
    nothing = (weights == 0).all(dim=0)
    rows, columns = ((weights.sum(dim) - 1).abs().max() < CLOSE for dim in (-1, -2))
    fault = say("The rows of its weights do not sum to 1: is softmax the last step?")
    if weights.isnan().any():
        fault = say("Some of its weights are NaN: does each row see at least one token?")
    elif rows:
        fault = say("Its weights are not the softmax of its queries times its keys.")
    elif columns:
        fault = say(
            "Its columns sum to 1 and its rows do not: does softmax need another dimension?"
        )
    return False, nothing if nothing.any() else None, fault


def hide_future(state: AttentionState) -> AttentionState:
    """Return the state with a causal mask put over the weights."""
    masked = mask_then_renormalise(state.undropped)
    return replace(state, undropped=masked, hidden=causal_mask(len(state.tokens)))


def drop(state: AttentionState, dropout: float, seed: int) -> AttentionState:
    """Return the state as in training, with a mask that is drawn natively."""
    if not dropout:
        return state
    weights = state.undropped
    kept = dropout_mask(tuple(weights.shape), dropout, seed) | (weights == 0)  # nothing to lose
    return replace(state, dropout=dropout, kept=kept)
