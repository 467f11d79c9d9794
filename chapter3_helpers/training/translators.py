"""Both translators of ``00_why_attention``, trained once, for whoever wants to see them at work.

Used by the explorer of that notebook.
"""

from functools import cache

import torch

from chapter3_helpers.recurrent import BahdanauDecoder, EncoderDecoder, train

SEED = 123  # of the first numbers of each, as in the notebook


@cache
def translators() -> tuple[EncoderDecoder, BahdanauDecoder]:
    """Train one translator with a single state and one that looks back, and keep them.

    The first call takes some seconds and shows two bars; later ones return the same models.
    """
    models = []
    for kind in (EncoderDecoder, BahdanauDecoder):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            model = kind()
        train(model)
        models.append(model.requires_grad_(False))
    return models[0], models[1]
