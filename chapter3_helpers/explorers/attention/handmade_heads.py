"""Heads made by hand, each for a reason, so that ``attention_explorer`` starts with a picture that
can be judged by eye.

A token is five numbers: a constant, its place in the sentence, and its kind. The place is a clock
hand, written as cosine and sine, and so is the kind: words of one kind point the same way, and the
kinds of a sentence point far apart. Each head turns these numbers into queries and keys of two
numbers; where a query and a key point the same way, the weight is large.
``11_handmade_transformer`` makes a whole model by hand.
"""

import math

import torch
from torch import nn

from chapter3_helpers._language import say
from chapter3_helpers.copy_weights import copy_weights
from chapter3_helpers.fused_multihead import MultiHeadAttention
from chapter3_helpers.lexicon import features_of
from chapter3_helpers.sentence import split_tokens

D_IN, D_HEAD = 5, 2
HEADS = {
    say("same kind"): say(
        "Made by hand, this head attends to words of the same kind, itself included."
    ),
    say("one before"): say("Made by hand, this head attends to the token just before."),
    say("the first"): say("Made by hand, this head attends to the first token."),
    say("all alike"): say("Made by hand, this head attends to every token alike: a plain mean."),
}
CONTRAST = 3.0  # by how much the wanted score is above the next one


def place_and_kind(text: str) -> tuple[tuple[str, ...], torch.Tensor]:
    """Return the tokens of a text and five numbers for each, (T, 5).

    >>> tokens, x = place_and_kind("Ann saw cats and dogs")
    >>> x.shape, bool((x[2, 3:] == x[4, 3:]).all())  # both are animals
    (torch.Size([5, 5]), True)
    """
    tokens = split_tokens(text)
    x = torch.zeros(len(tokens), D_IN)
    kinds = [features_of(token)[:1] for token in tokens]  # none of an unknown word
    known = list(dict.fromkeys(kind for kind in kinds if kind))
    for place, kind in enumerate(kinds):
        x[place, 0] = 1.0
        x[place, 1:3] = _hand(place * math.pi / len(tokens))
        if kind:
            x[place, 3:] = _hand(known.index(kind) * _between(len(known)))
    return tokens, x


@torch.no_grad()
def make_by_hand(module: nn.Module, x: torch.Tensor) -> nn.Module:
    """Set the weight matrices of an attention module, as many heads as it has, two numbers each.

    Args:
        module: any that ``copy_weights`` can fill, with d_in = 5 and two numbers per head.
        x: what it is to read, (T, 5). The more places and kinds it has, the closer are their hands.

    Returns:
        The module.
    """
    num_heads = len(weights_by_head(module, x))
    parts = zip(*_matrices(x)[:num_heads], strict=True)
    made = MultiHeadAttention(D_IN, num_heads * D_HEAD, len(x), 0.0, num_heads)
    for layer, matrices in zip((made.W_query, made.W_key, made.W_value), parts, strict=True):
        layer.weight.copy_(torch.cat(matrices))
    nn.init.eye_(made.out_proj.weight)
    nn.init.zeros_(made.out_proj.bias)
    copy_weights(made, module)
    return module


def weights_by_head(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return the weights of every head, (H, T, T), of a module with one head or several.

    Raises:
        ValueError: its weights have another shape, as those of an edited class may.
    """
    weights, T = module.attention_weights(x), len(x)
    if weights.dim() not in (2, 3) or weights.shape[-2:] != (T, T):
        raise ValueError(
            say(
                "attention_weights must return (T, T) or (H, T, T) with T = {T}, got {shape}",
                T=T,
                shape=tuple(weights.shape),
            )
        )
    return weights.reshape(-1, T, T)


def _between(kinds: int) -> float:
    """Return the angle between the hands of two kinds."""
    return 2 * math.pi / max(kinds, 3)


def _hand(angle: float) -> torch.Tensor:
    return torch.tensor([math.cos(angle), math.sin(angle)])


def _matrices(x: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Return W_query, W_key and W_value of every head, (2, 5) each."""
    nothing = torch.zeros(D_HEAD, D_IN)
    constant, place, kind = (nothing.clone() for _ in range(3))
    constant[0, 0] = 1.0  # a hand that points to the start of the clock
    place[:, 1:3] = kind[:, 3:] = torch.eye(2)
    step = math.pi / len(x)
    kinds = len({tuple(row) for row in x[:, 3:].tolist() if any(row)})
    back = torch.tensor([[math.cos(step), math.sin(step)], [-math.sin(step), math.cos(step)]])
    before = nothing.clone()
    before[:, 1:3] = back  # the hand of one step earlier

    def sharp(angle: float) -> float:  # hands this far apart differ by CONTRAST after scaling
        return CONTRAST * math.sqrt(D_HEAD) / (1 - math.cos(angle))

    return [
        (sharp(_between(kinds)) * kind, kind, kind),
        (sharp(step) * before, place, kind),
        (sharp(step) * constant, place, kind),
        (nothing, nothing, kind),
    ]
