"""Heads made by hand, each for a reason, so that ``attention_explorer`` starts with a picture that
can be judged by eye.

A token is five numbers: a constant, its place as a clock hand (cosine and sine), and its kind as
another one: words of a kind point the same way, and the kinds of a sentence far apart. Each head
turns these into queries and keys of two numbers; where they point the same way, the weight is
large. ``10_handmade_transformer`` makes a whole model by hand.
"""

import math

import torch
from torch import nn

from chapter3_helpers.fused_multihead import FusedMultiHeadAttention
from chapter3_helpers.lexicon import features_of
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.sentence import split_tokens
from chapter3_helpers.trainable_qkv import SelfAttention_v1

D_IN, D_HEAD = 5, 2
NAMES = ("query", "key", "value")
HEADS = {
    "same kind": "words of the same kind, itself included",
    "one before": "the token just before",
    "the first": "the first token",
    "all alike": "every token alike: a plain mean",
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


def make_by_hand(module: nn.Module, x: torch.Tensor) -> nn.Module:
    """Set the weight matrices of an attention module, as many heads as it has, two numbers each.

    Args:
        module: any of the series, with d_in = 5 and two numbers per head.
        x: what it is to read, (T, 5): the more places and kinds, the closer their hands.

    Returns:
        The module.
    """
    count = len(module.heads) if hasattr(module, "heads") else getattr(module, "num_heads", 1)
    parts = [torch.cat(part) for part in zip(*_matrices(x)[:count], strict=True)]
    with torch.no_grad():
        if isinstance(module, MultiHeadAttentionWrapper):
            for number, head in enumerate(module.heads):
                for name, part in zip(NAMES, parts, strict=True):
                    rows = part[D_HEAD * number : D_HEAD * (number + 1)]
                    getattr(head, f"W_{name}").weight.copy_(rows)
        elif isinstance(module, FusedMultiHeadAttention):
            module.W_qkv.weight.copy_(torch.cat(parts))
        elif isinstance(module, SelfAttention_v1):
            for name, part in zip(NAMES, parts, strict=True):
                getattr(module, f"W_{name}").copy_(part.T)
        else:
            for name, part in zip(NAMES, parts, strict=True):
                getattr(module, f"W_{name}").weight.copy_(part)
        if hasattr(module, "out_proj"):
            nn.init.eye_(module.out_proj.weight)
            nn.init.zeros_(module.out_proj.bias)
    return module


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
