"""How does a phrase go on that has been said before? One layer of attention, or two.

A phrase of 4 to 11 different letters is repeated until the text is full. Every text has a phrase of
its own, so the training cannot teach which letter follows which. But from the second round on, the
letter that was read last stood in the text before, and the next letter stood behind it.

Taught in ``10_induction_heads``.

Source: Elhage et al., 2021, and Olsson et al., 2022, who found such heads in language models.
"""

from typing import Any

import torch
from torch import nn

from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.induction_heads import LetterReader
from chapter3_helpers.recurrent import ALPHABET, tokenize
from chapter3_helpers.tasks.next_word import next_token_losses
from chapter3_helpers.tasks.training import Trained, minimise, trained

LENGTH = 24  # letters in a text


def encode(letters: str) -> torch.Tensor:
    """Turn letters into their numbers, (T,); anything but letters is refused.

    >>> encode("cab")
    tensor([2, 0, 1])
    """
    return tokenize(letters)[0]


def decode(ids: torch.Tensor) -> str:
    """Turn numbers (T,) into letters."""
    return "".join(ALPHABET[i] for i in ids.tolist())


@as_torch_starts()
def draw_texts(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw texts (count, 24), a repeated phrase each, and the lengths of the phrases (count,)."""
    lengths = torch.randint(4, 12, (count, 1), generator=generator)
    shuffled = torch.rand(count, len(ALPHABET), generator=generator).argsort(dim=1)
    texts = shuffled.gather(1, torch.arange(LENGTH) % lengths)  # (count, 24)
    return texts, lengths[:, 0]


def train(model: nn.Module, batches: int = 400, **options: Any) -> list[float]:
    """Train a model, letters (B, T) to logits (B, T, 26), to predict every next letter of a text.

    Every batch has 64 new texts.
    """

    def draw_loss(generator: torch.Generator) -> torch.Tensor:
        texts, _ = draw_texts(64, generator)
        return next_token_losses(model, texts).mean()

    return minimise(model, draw_loss, batches, 0.01, "repeated phrases", **options)


def trained_reader(
    kind: type[nn.Module] = LetterReader, num_layers: int = 2, residual: bool = True
) -> Trained:
    """Train a ``LetterReader``, or your own class in its place, once; keep it every 20 batches.

    The first call takes some seconds and shows a bar.
    """
    return trained(kind, train, num_layers, residual, every=20)


@torch.no_grad()
def share_right(model: nn.Module, texts: int = 1000) -> float:
    """Return the share of letters of new texts that get the largest logit.

    Only letters from the second one of the second round on count. Before it nothing in the text
    says how the phrase goes on. That it has ended is known only after eleven letters, the most.
    """
    ids, lengths = draw_texts(texts, torch.Generator().manual_seed(99))
    right = model(ids[:, :-1]).argmax(dim=-1) == ids[:, 1:]
    known = torch.arange(LENGTH - 1) >= lengths[:, None]  # (texts, 23)
    return right[known].float().mean().item()


@torch.no_grad()
def continued(model: nn.Module, beginning: str, letters: int = 8) -> str:
    """Let a model continue a text, each time by the letter with the largest logit.

    >>> len(continued(LetterReader(num_layers=1), "abcab", letters=3))
    3
    """
    ids = encode(beginning)
    for _ in range(letters):
        chosen = model(ids[-LENGTH:])[-1].argmax()
        ids = torch.cat([ids, chosen[None]])
    return decode(ids[-letters:])


@torch.no_grad()
def layer_inputs(model: nn.Module, ids: torch.Tensor) -> list[torch.Tensor]:
    """Return the input (T, d) of every layer of a ``LetterReader`` that reads letters (T,)."""
    kept = []
    hooks = [
        layer.register_forward_pre_hook(lambda layer, given: kept.append(given[0]))
        for layer in model.layers
    ]
    try:
        model(ids)
    finally:
        for hook in hooks:
            hook.remove()
    return kept


@torch.no_grad()
def layer_weights(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """Return the weights (layers, T, T) of a ``LetterReader`` that reads letters (T,)."""
    pairs = zip(model.layers, layer_inputs(model, ids), strict=True)
    return torch.stack([layer.attention_weights(x) for layer, x in pairs])
