"""The translators of ``00_why_attention``, each trained once for the notebook and its explorer."""

from functools import cache
from typing import TypeVar

import torch

from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder, train

Translator = TypeVar("Translator", bound=EncoderDecoder)


def translator(kind: type[Translator], d: int = 64, seed: int = 123) -> Translator:
    """Train an ``EncoderDecoder`` or a ``BahdanauDecoder``, and keep it.

    The first call takes some seconds and shows a bar; later ones return the same model.

    Args:
        kind: the class.
        d: the width of its state.
        seed: of its first numbers.
    """
    return _trained(kind, d, seed)


@cache
def _trained(kind: type[Translator], d: int, seed: int) -> Translator:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = kind(d)
    train(model)
    return model.requires_grad_(False)


def translators() -> tuple[EncoderDecoder, BahdanauDecoder]:
    """Return the two that the notebook trains: one with a single state, one that looks back."""
    return translator(EncoderDecoder), translator(BahdanauDecoder)
