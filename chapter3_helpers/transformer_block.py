"""Why is attention alone not enough? The smallest transformer, and how it learns to predict.

Attention mixes tokens; a feed-forward network with a nonlinearity works on what was mixed;
positions tell order; the causal mask lets one pass train every position.

Source: lecture notes on self-attention, sections 3 to 5. Taught in ``09_transformer_block``.
"""

import ast
import importlib.util
import sys
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional
from tqdm import tqdm

from chapter3_helpers.fused_multihead import MultiHeadAttention
from chapter3_helpers.positions import LearnedPositions
from chapter3_helpers.recurrent import PROGRESS_BAR
from chapter3_helpers.sentence import split_tokens
from chapter3_helpers.validation import (
    check_flag,
    check_size,
    check_sizes,
    check_square,
    check_tensor,
)

BATCH_SIZE = 32
LEARNING_RATE = 0.01  # the largest: it rises at first and falls to zero at the end


def collapse_two_layers(
    alpha1: torch.Tensor, alpha2: torch.Tensor, V1: torch.Tensor, V2: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Fold two layers of attention without a nonlinearity between them into one.

    A layer with the weights alpha and the value matrix V maps tokens x to alpha @ x @ V. So two
    of them give alpha2 @ (alpha1 @ x @ V1) @ V2 = (alpha2 @ alpha1) @ x @ (V1 @ V2).

    Tokens are rows here, so the layer that comes first stands on the right of the weights and on
    the left of the value matrices. Lecture notes write tokens as columns: their value matrices
    are the transposes of these, and their V* = V2 V1 is the same matrix, transposed.

    Args:
        alpha1, alpha2: attention weights (..., T, T) of the first and the second layer.
        V1: value matrix (d_in, d) of the first layer.
        V2: value matrix (d, d_out) of the second layer.

    Returns:
        The weights alpha* (..., T, T) and the value matrix V* (d_in, d_out) of the one layer.

    Raises:
        TypeError, ValueError: an argument is no floating-point tensor of such a shape.

    >>> half, V = torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.eye(3)
    >>> collapse_two_layers(half, half, V, 2 * V)[0]
    tensor([[1.0000, 0.0000],
            [0.7500, 0.2500]])

    Source: lecture notes, section 3. Taught in ``09_transformer_block``.
    """
    check_square("alpha1", alpha1)
    check_square("alpha2", alpha2)
    check_tensor("V1", V1, dims=(2,), form="(d_in, d)")
    check_tensor("V2", V2, dims=(2,), form="(d, d_out)")
    if alpha1.shape[-1] != alpha2.shape[-1]:
        raise ValueError(
            "alpha1 and alpha2 must be for the same number of tokens, "
            f"got {alpha1.shape[-1]} and {alpha2.shape[-1]}"
        )
    if V1.shape[1] != V2.shape[0]:
        raise ValueError(
            f"V2 must have as many rows as V1 has columns, {V1.shape[1]}, got {V2.shape[0]}"
        )
    return alpha2 @ alpha1, V1 @ V2


class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, the same for each position.

    ::

        x (..., T, d) --up--> (..., T, hidden) --ReLU--> --down--> (..., T, d)

    Args:
        d: numbers per token, in and out.
        hidden: numbers per token in between (default: 4 d).

    Raises:
        TypeError, ValueError: a size is not an integer of at least 1.

    >>> _ = torch.manual_seed(123)
    >>> feed_forward = FeedForward(d=3)
    >>> feed_forward(torch.zeros(5, 3)).shape, feed_forward.hidden
    (torch.Size([5, 3]), 12)

    Source: lecture notes, section 3. Taught in ``09_transformer_block``.
    """

    def __init__(self, d: int, hidden: int | None = None):
        super().__init__()
        check_sizes(d=d, hidden=1 if hidden is None else hidden)
        self.d, self.hidden = d, 4 * d if hidden is None else hidden
        self.up = nn.Linear(d, self.hidden)
        self.down = nn.Linear(self.hidden, d)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d) to tokens (..., T, d), each by itself."""
        check_tensor("x", x, form="(..., T, d)")
        if x.shape[-1] != self.d:
            raise ValueError(f"the last dimension of x must be d={self.d}, got {x.shape[-1]}")
        return self.down(torch.relu(self.up(x)))


class MinimalTransformerBlock(nn.Module):
    """The smallest architecture that can do what attention alone can't, from ids to logits.

    ::

        ids (..., T) --embedding--> (..., T, d) --positions--> causal attention
            --> feed-forward --> output --> logits (..., T, vocab_size)

    Args:
        vocab_size: how many tokens there are to choose from.
        d: numbers per token, in every layer.
        context_length: the most tokens it will read at once.
        num_heads: how many heads share ``d``.
        hidden: numbers per token inside the feed-forward network (default: 4 d).
        positions: whether a learned vector is added to every token; without it, a token can't
            tell in which order the ones before it came.

    Raises:
        TypeError, ValueError: a size is not an integer of at least 1, ``num_heads`` does not
            divide ``d``, or ``positions`` is no bool.

    >>> _ = torch.manual_seed(123)
    >>> model = MinimalTransformerBlock(vocab_size=11, d=6, context_length=5, num_heads=2)
    >>> model(torch.tensor([7, 0, 10])).shape  # one row of logits a position
    torch.Size([3, 11])

    Source: lecture notes, section 3. Taught in ``09_transformer_block``.
    """

    def __init__(
        self,
        vocab_size: int,
        d: int,
        context_length: int,
        num_heads: int,
        hidden: int | None = None,
        positions: bool = True,
    ):
        super().__init__()
        check_sizes(vocab_size=vocab_size, d=d, context_length=context_length, num_heads=num_heads)
        if d % num_heads:
            raise ValueError(
                f"d must be divisible by num_heads, got d={d} and num_heads={num_heads}"
            )
        check_flag("positions", positions)
        self.vocab_size, self.d, self.context_length = vocab_size, d, context_length
        self.num_heads, self.head_dim = num_heads, d // num_heads
        self.embedding = nn.Embedding(vocab_size, d)
        self.positions = LearnedPositions(context_length, d) if positions else None
        self.attention = MultiHeadAttention(d, d, context_length, 0.0, num_heads)
        self.feed_forward = FeedForward(d, hidden)
        self.output = nn.Linear(d, vocab_size)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Map token ids (..., T) to logits (..., T, vocab_size) for the token that comes next."""
        mixed = self.attention(self._embed(ids))  # (..., T, d): every token reads earlier ones
        return self.output(self.feed_forward(mixed))  # ... and works on what it has read

    def attention_weights(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the weights (..., H, T, T) for token ids (..., T)."""
        return self.attention.attention_weights(self._embed(ids))

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        check_ids(ids, self.vocab_size, self.context_length)
        x = self.embedding(ids)  # (..., T, d)
        return x if self.positions is None else self.positions(x)


def check_ids(ids: torch.Tensor, vocab_size: int, context_length: int) -> None:
    """Refuse anything but token ids (T,) or (B, T), in [0, vocab_size), that fit the context."""
    if not isinstance(ids, torch.Tensor):
        raise TypeError(f"ids must be a torch.Tensor, got {type(ids).__name__}")
    if ids.dim() not in (1, 2) or ids.numel() == 0:
        raise ValueError(f"ids must have shape (T,) or (B, T), not empty, got {tuple(ids.shape)}")
    if ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"ids must be an integer tensor, got {ids.dtype}")
    if ids.shape[-1] > context_length:
        raise ValueError(
            f"ids must hold at most context_length={context_length} tokens, got {ids.shape[-1]}"
        )
    if not torch.compiler.is_compiling():  # a compiled graph can't look at values
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= vocab_size:
            raise ValueError(f"ids must be in [0, {vocab_size}), got {low} to {high}")


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
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # with matrices this small, threads mostly wait for one another
    look = {"file": sys.stdout, "bar_format": PROGRESS_BAR, "ncols": 100}
    try:
        with tqdm(desc="next token", total=steps, disable=not progress, **look) as bar:
            for _ in range(steps):
                starts = torch.randint(len(ids) - T, (BATCH_SIZE, 1), generator=generator)
                pieces = ids[starts + torch.arange(T + 1)]  # (B, 1) + (T + 1,) -> (B, T + 1)
                loss = next_token_losses(model, pieces).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                losses.append(loss.item())
                bar.set_postfix_str(f"loss {losses[-1]:4.2f}", refresh=False)
                bar.update()
            bar.set_postfix_str("finished.", refresh=False)  # as long as the loss that it covers
    finally:
        torch.set_num_threads(threads)
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
