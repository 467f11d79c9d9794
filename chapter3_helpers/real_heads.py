"""What do the heads of a real model do, and what is lost without them?

Scores say where each head looks. Taking a head out says whether something needed it.

Source: Olsson et al., "In-context Learning and Induction Heads" (2022). Taught in
``16_heads_of_a_real_model``.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import index

import torch
from torch import nn
from torch.nn import functional

Head = int | tuple[int, int]  # of one module; or the layer and the head of a model, both from 0


def repeated_tokens(vocab_size: int, length: int = 40, seed: int = 123) -> torch.Tensor:
    """Draw tokens at random and write them twice: ids (2 * length,).

    The first round follows no rule, so nobody can foretell it. The second one is a copy.

    >>> repeated_tokens(vocab_size=100, length=3)
    tensor([82, 89,  2, 82, 89,  2])
    """
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(vocab_size, (length,), generator=generator).repeat(2)


@torch.no_grad()
def head_scores(model: nn.Module, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    """Measure how much of its weight each head gives to three places, as means over rows.

    Args:
        model: has ``attention_weights(ids)``, a tensor (H, T, T) for each of L layers, as a
            ``Llama`` and a ``GPT`` have.
        ids: one text, (T,).

    Returns:
        Numbers from 0 to 1 for all heads, (L, H), by the name of the place: "token before";
        "induction", what came after an earlier copy of the present token, in the rows that have
        such a copy; and "first token". The first row is left out, since it has one place to look
        at. NaN where there is no row.

    Source: Olsson et al., 2022.
    """
    weights = torch.stack(model.attention_weights(ids))  # (L, H, T, T)
    same = ids[:, None] == ids[:-1]  # (T, T - 1): is the row's token that of the column?
    after = functional.pad(same, (1, 0)).tril(-1)  # (T, T): the places one after these, if earlier
    has_copy = after.any(dim=-1)  # (T,)
    return {
        "token before": weights.diagonal(-1, dim1=-2, dim2=-1).mean(dim=-1),
        "induction": (weights * after).sum(dim=-1)[..., has_copy].mean(dim=-1),
        "first token": weights[..., 1:, 0].mean(dim=-1),
    }


def head_columns(model: nn.Module, head: Head) -> torch.Tensor:
    """Return the columns (d, D) of ``out_proj`` that read what a head writes, as a view.

    The heads' outputs stand side by side, D numbers each, when ``out_proj`` reads them.

    Raises:
        TypeError: the model has no such layers; or a model is not given (layer, head).
        ValueError: there is no such layer or head.
    """
    blocks, name, number = getattr(model, "blocks", None), "the module", head
    attention = model
    if blocks is not None:
        if not isinstance(head, Sequence) or len(head) != 2:
            raise TypeError(f"a head of a model must be (layer, head), got {head!r}")
        layer, number = head
        attention = blocks[_number(layer, len(blocks), "layer", "the model")].attention
        name = f"layer {layer}"
    out_proj, D = getattr(attention, "out_proj", None), getattr(attention, "head_dim", None)
    if not isinstance(out_proj, nn.Linear) or D is None:
        raise TypeError(
            "model must be attention with out_proj, a nn.Linear, and head_dim, or a model of "
            f"blocks that have such an attention, got {type(attention).__name__} with "
            f"{type(out_proj).__name__} as out_proj and head_dim {D}"
        )
    start = D * _number(number, out_proj.in_features // D, "head", name)
    return out_proj.weight.detach()[:, start : start + D]


def _number(number: int, count: int, what: str, where: str) -> int:
    if isinstance(number, Sequence):
        raise TypeError(f"a head of one module must be its number, got {number!r}")
    if index(number) not in range(count):
        raise ValueError(f"{what} must be from 0 to {count - 1} in {where}, got {number}")
    return number


@contextmanager
def cut_heads(model: nn.Module, heads: Sequence[Head]) -> Iterator[None]:
    """Take heads out of a model while a ``with`` block runs, and put them back, also after errors.

    The columns that ``head_columns`` returns are 0 in between, so nothing of what the heads write
    goes on. (The bias of ``out_proj`` belongs to no head and stays.)

    Args:
        model: a ``Llama``, a ``GPT``, or attention with ``out_proj``, such as
            ``MultiHeadAttention``.
        heads: (layer, head) of a model, or numbers of one module, all from 0.

    Raises:
        TypeError, ValueError: as ``head_columns``. Nothing is taken out then.

    >>> from chapter3_helpers.fused_multihead import MultiHeadAttention
    >>> attention = MultiHeadAttention(3, 4, context_length=6, dropout=0.0, num_heads=2)
    >>> with cut_heads(attention, [1]):
    ...     print(attention.out_proj.weight[:, 2:].abs().max().item())
    0.0
    """
    columns = [head_columns(model, head) for head in heads]  # views (d, D)
    numbers = [view.clone() for view in columns]
    try:
        for view in columns:
            view.zero_()
        yield
    finally:
        for view, kept in zip(columns, numbers, strict=True):
            view.copy_(kept)
