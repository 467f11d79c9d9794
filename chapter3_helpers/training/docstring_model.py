"""A model of docstrings that is trained once, to be seen at work.

Used by the explorer of ``09_transformer_block``.
"""

from typing import Any

from torch import nn

from chapter3_helpers.training.next_word import docstring_text, train
from chapter3_helpers.training.trained import Trained, trained
from chapter3_helpers.transformer_block import ResidualLanguageModel

CONTEXT_LENGTH = 32
SEED = 123  # of the model's first numbers, as in the notebook


def trained_model() -> Trained:
    """Train a model with residuals on the docstrings of this Python, once.

    The first call takes some seconds and shows a bar. The text is ``docstring_text()``.
    """
    return trained(_make_model, _train_on_docstrings, seed=SEED)


def _make_model() -> ResidualLanguageModel:
    vocab_size = len(docstring_text().vocabulary)
    return ResidualLanguageModel(vocab_size, 64, CONTEXT_LENGTH, num_heads=4)


def _train_on_docstrings(model: nn.Module, **options: Any) -> list[float]:
    return train(model, docstring_text().training, **options)
