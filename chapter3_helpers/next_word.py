"""How does a model learn to predict the next word? The loss, the training, and a text.

The causal mask lets one pass train every position.

Source: lecture notes on self-attention, section 5. Taught in ``09_transformer_block``.
"""

import ast
import importlib.util
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.sentence import split_tokens
from chapter3_helpers.training_progress import training_progress
from chapter3_helpers.validation import check_flag, check_size, check_sizes

BATCH_SIZE = 32
LEARNING_RATE = 0.01  # the largest: it rises at first and falls to zero at the end


def next_token_losses(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """Return how surprised a model is by every token but the first.

    One pass over ids[..., :-1] predicts them all: thanks to the mask, no prediction has seen the
    token that it is compared with.

    Args:
        model: maps ids (..., T) to logits (..., T, vocab_size), such that no row depends on
            later ids.
        ids: a piece of text (T + 1,), or several (B, T + 1).

    Returns:
        Minus the logarithm of the probability that each next token got: (..., T).

    Raises:
        TypeError, ValueError: as the model; or ``ids`` holds fewer than two tokens.

    >>> from chapter3_helpers.transformer_block import MinimalTransformerBlock
    >>> _ = torch.manual_seed(123)
    >>> model = MinimalTransformerBlock(vocab_size=11, d=6, context_length=5, num_heads=2)
    >>> next_token_losses(model, torch.tensor([7, 0, 10])).shape
    torch.Size([2])

    Source: lecture notes, section 5. Taught in ``09_transformer_block``.
    """
    if isinstance(ids, torch.Tensor) and ids.dim() > 0 and ids.shape[-1] < 2:
        raise ValueError(f"ids must hold at least two tokens, got {ids.shape[-1]}")
    logits = model(ids[..., :-1])  # (..., T, vocab_size)
    targets = ids[..., 1:].long()  # (..., T)
    return functional.cross_entropy(logits.movedim(-1, 1), targets, reduction="none")


def train(
    model: nn.Module, ids: torch.Tensor, steps: int = 600, seed: int = 0, progress: bool = True
) -> list[float]:
    """Train a model in place to predict the next token of a text.

    Every step draws 32 pieces of the text, as long as the model's context.

    Args:
        model: a ``MinimalTransformerBlock``, or another module that maps ids to logits and has a
            ``context_length``.
        ids: the text (N,), longer than the context.
        steps: how many batches of 32 pieces.
        seed: of the places where pieces start; the model's own weights were drawn before.
        progress: whether a bar with the loss is shown.

    Returns:
        The loss of every step: the mean over all its predictions.

    Raises:
        TypeError, ValueError: ``model`` or ``ids`` is not of that kind, ``steps`` not an integer of
            at least 1, ``seed`` below 0, or ``progress`` no bool.

    >>> from chapter3_helpers.transformer_block import MinimalTransformerBlock
    >>> _ = torch.manual_seed(123)
    >>> model = MinimalTransformerBlock(vocab_size=3, d=8, context_length=4, num_heads=2)
    >>> losses = train(model, torch.tensor([0, 1, 2] * 20), steps=60, progress=False)
    >>> losses[-1] < 0.2 < losses[0]
    True

    Source: lecture notes, section 5. Taught in ``09_transformer_block``.
    """
    if not isinstance(model, nn.Module) or not hasattr(model, "context_length"):
        raise TypeError(f"model must be a module with a context_length, got {type(model).__name__}")
    check_sizes(steps=steps)
    check_size("seed", seed, minimum=0)
    check_flag("progress", progress)
    if not isinstance(ids, torch.Tensor):
        raise TypeError(f"ids must be a torch.Tensor, got {type(ids).__name__}")
    if ids.dim() != 1:
        raise ValueError(f"ids must have shape (N,), got {tuple(ids.shape)}")
    T = model.context_length
    if len(ids) <= T:
        raise ValueError(f"ids must hold more than context_length={T} tokens, got {len(ids)}")
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, LEARNING_RATE, total_steps=steps, pct_start=0.1
    )
    losses = []
    with training_progress("next token", steps, shown=progress) as batch_done:
        for _ in range(steps):
            starts = torch.randint(len(ids) - T, (BATCH_SIZE, 1), generator=generator)
            pieces = ids[starts + torch.arange(T + 1)]  # (B, 1) + (T + 1,) -> (B, T + 1)
            loss = next_token_losses(model, pieces).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            batch_done(losses[-1])
    return losses


# Modules of plain Python with long docstrings; 3.11 and all later versions have them.
LIBRARY: tuple[str, ...] = (
    *("_pydecimal", "_pyio", "argparse", "ast", "calendar", "collections", "dataclasses"),
    *("difflib", "doctest", "enum", "fractions", "functools", "heapq", "inspect", "json"),
    *("logging", "mailbox", "pdb", "random", "shutil", "smtplib", "socket", "ssl", "statistics"),
    *("subprocess", "tarfile", "tempfile", "textwrap", "threading", "traceback", "typing"),
    *("unittest.case", "unittest.mock", "urllib.request", "uuid", "zipfile"),
)


def docstring_words(modules: Sequence[str] = LIBRARY) -> tuple[str, ...]:
    """Read the docstrings of installed Python modules: a real text that every reader has.

    The source is read, not imported; a module that is missing, or has no source, is passed over.

    Args:
        modules: their names.

    Returns:
        All words and punctuation marks in order, in small letters.

    Raises:
        ValueError: not one docstring was found.

    >>> docstring_words(["this_module_is_missing", "heapq"])[:5]
    ('heap', 'queue', 'algorithm', '(', 'a')

    Taught in ``09_transformer_block``.
    """
    docstrings: list[str] = []
    for name in modules:
        spec = importlib.util.find_spec(name)
        source = spec.loader.get_source(name) if spec and hasattr(spec.loader, "get_source") else ""
        for node in ast.walk(ast.parse(source or "")):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                docstrings.append(ast.get_docstring(node) or "")
    words = split_tokens("\n".join(docstrings).lower())
    if not words:
        raise ValueError(f"modules must hold at least one docstring, got {', '.join(modules)}")
    return words
