"""A model of docstrings that is trained once, for whoever wants to see one at work.

Used by the explorer of ``09_transformer_block``.
"""

from functools import cache

import torch

from chapter3_helpers.training.next_word import Text, docstring_text, train
from chapter3_helpers.transformer_block import ResidualLanguageModel

CONTEXT_LENGTH = 32
SEED = 123  # of the model's first numbers, as in the notebook


@cache
def docstring_model() -> tuple[ResidualLanguageModel, Text]:
    """Train a model with residuals on the docstrings of this Python, and keep it.

    The first call takes some seconds and shows a bar; later ones return the same model.

    Returns:
        The model, and the text that it was trained on.
    """
    text = docstring_text()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        model = ResidualLanguageModel(len(text.vocabulary), 64, CONTEXT_LENGTH, num_heads=4)
    train(model, text.training)
    return model.requires_grad_(False), text
