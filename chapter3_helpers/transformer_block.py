"""Why is attention alone not enough? The smallest transformer, piece by piece.

Attention mixes tokens; a feed-forward network with a nonlinearity works on what was mixed;
positions tell order; residual connections keep what was there. How it learns to predict is in
``tasks.next_word``. The notebook ``one_page`` has a whole GPT, attention included, in one cell.

Source: lecture notes on self-attention, section 3. Taught in ``09_transformer_block``.
"""

import torch
from torch import nn

from chapter3_helpers.fused_multihead import MultiHeadAttention
from chapter3_helpers.positions import LearnedPositions


def collapse_two_layers(
    alpha1: torch.Tensor, alpha2: torch.Tensor, V1: torch.Tensor, V2: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Fold two layers of attention without a nonlinearity between them into one.

    A layer with the weights alpha and the value matrix V maps tokens x to alpha @ x @ V. So two
    of them give alpha2 @ (alpha1 @ x @ V1) @ V2 = (alpha2 @ alpha1) @ x @ (V1 @ V2).

    Tokens are rows here. Lecture notes write them as columns: their value matrices are the
    transposes of these, and their V* = V2 V1 is the same matrix, transposed.

    Args:
        alpha1, alpha2: attention weights (..., T, T) of the first and the second layer.
        V1: value matrix (d_in, d) of the first layer.
        V2: value matrix (d, d_out) of the second layer.

    Returns:
        The weights alpha* (..., T, T) and the value matrix V* (d_in, d_out) of the one layer.

    >>> half, V = torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.eye(3)
    >>> collapse_two_layers(half, half, V, 2 * V)[0]
    tensor([[1.0000, 0.0000],
            [0.7500, 0.2500]])

    Source: lecture notes, section 3.
    """
    return alpha2 @ alpha1, V1 @ V2  # (..., T, T), (d_in, d) @ (d, d_out) -> (d_in, d_out)


class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, the same for each position.

    ::

        x (..., T, d) --up--> (..., T, hidden) --ReLU--> --down--> (..., T, d)

    Args:
        d: numbers per token, in and out.
        hidden: numbers per token in between (default: 4 d).

    >>> _ = torch.manual_seed(123)
    >>> feed_forward = FeedForward(d=3)
    >>> feed_forward(torch.zeros(5, 3)).shape, feed_forward.up.out_features
    (torch.Size([5, 3]), 12)

    Source: lecture notes, section 3.
    """

    def __init__(self, d: int, hidden: int | None = None):
        super().__init__()
        hidden = 4 * d if hidden is None else hidden
        self.up = nn.Linear(d, hidden)
        self.down = nn.Linear(hidden, d)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d) to tokens (..., T, d), each by itself."""
        x = torch.relu(self.up(x))  # (..., T, hidden)
        return self.down(x)  # (..., T, d)


class TransformerBlock(nn.Module):
    """Attention and a feed-forward network, each on normalised tokens and each with a residual.

    New compared with ``MultiHeadAttention``: layer norm before each of the two parts, a
    feed-forward network after attention, and the input of each part added to its output.

    ::

        x --+-- norm1 -- attention --(+)--+-- norm2 -- feed-forward --(+)--> (..., T, d)
            +-------------------------+   +----------------------------+

    Args:
        d: numbers per token, in and out.
        num_heads: how many heads share ``d``.
        context_length: the most tokens it will read at once.
        dropout: the probability that an attention weight, or a number that is about to be added
            to the residual, is dropped; in training only.

    >>> _ = torch.manual_seed(123)
    >>> TransformerBlock(d=6, num_heads=2, context_length=5)(torch.zeros(4, 6)).shape
    torch.Size([4, 6])

    Source: lecture notes, section 3; the order of norm and residual is GPT-2's (pre-norm).
    """

    def __init__(self, d: int, num_heads: int, context_length: int, dropout: float = 0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d)
        self.attention = MultiHeadAttention(d, d, context_length, dropout, num_heads)
        self.norm2 = nn.LayerNorm(d)
        self.feed_forward = FeedForward(d)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d) to tokens (..., T, d)."""
        found = self.attention(self.norm1(x))  # (..., T, d): what earlier tokens hold
        x = x + self.dropout(found)
        worked = self.feed_forward(self.norm2(x))  # (..., T, d): each token by itself
        return x + self.dropout(worked)


class GPT(nn.Module):
    """A GPT-style language model: embedding, positions, N blocks, norm, output.

    New compared with ``TransformerBlock``: token ids come in, and logits for the next token come
    out at every position.

    ::

        ids (..., T) --embedding--> (..., T, d) --positions--> N blocks --> norm
            --> output --> logits (..., T, vocab_size)

    Args:
        vocab_size: how many tokens there are to choose from.
        d: numbers per token, in every layer.
        context_length: the most tokens it will read at once.
        num_layers: how many blocks, one after another.
        num_heads: how many heads share ``d``, in each block.
        dropout: the probability that an attention weight, or a number that is about to be added
            to the residual, is dropped; in training only.

    >>> _ = torch.manual_seed(123)
    >>> model = GPT(vocab_size=11, d=6, context_length=5, num_layers=2, num_heads=3)
    >>> model(torch.tensor([7, 0, 10])).shape  # one row of logits per position
    torch.Size([3, 11])

    Source: lecture notes, section 3; Radford et al., 2019.
    """

    def __init__(
        self,
        vocab_size: int,
        d: int,
        context_length: int,
        num_layers: int,
        num_heads: int,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.context_length = context_length
        self.embedding = nn.Embedding(vocab_size, d)
        self.positions = LearnedPositions(context_length, d)
        self.blocks = nn.ModuleList(
            TransformerBlock(d, num_heads, context_length, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d)
        self.output = nn.Linear(d, vocab_size, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Map token ids (..., T) to logits (..., T, vocab_size) for the token that comes next."""
        x = self.positions(self.embedding(ids))  # (..., T, d)
        for block in self.blocks:
            x = block(x)
        return self.output(self.norm(x))

    def attention_weights(self, ids: torch.Tensor) -> list[torch.Tensor]:
        """Return the weights (..., H, T, T) of each block for token ids (..., T)."""
        x, weights = self.positions(self.embedding(ids)), []
        for block in self.blocks:
            weights.append(block.attention.attention_weights(block.norm1(x)))
            x = block(x)
        return weights


class MinimalLanguageModel(nn.Module):
    """The smallest architecture that can do what attention alone can't, from ids to logits.

    A block of a real transformer has residual connections and layer norm as well, and knows
    nothing of ids and logits.

    ::

        ids (..., T) --embedding--> (..., T, d) --positions--> causal attention
            --> feed-forward --> output --> logits (..., T, vocab_size)

    Args:
        vocab_size, d, context_length, num_heads: as in ``GPT``.

    >>> _ = torch.manual_seed(123)
    >>> model = MinimalLanguageModel(vocab_size=11, d=6, context_length=5, num_heads=2)
    >>> model(torch.tensor([7, 0, 10])).shape  # one row of logits per position
    torch.Size([3, 11])

    Source: lecture notes, section 3.
    """

    def __init__(self, vocab_size: int, d: int, context_length: int, num_heads: int):
        super().__init__()
        self.context_length = context_length
        self.embedding = nn.Embedding(vocab_size, d)
        self.positions = LearnedPositions(context_length, d)
        self.attention = MultiHeadAttention(d, d, context_length, dropout=0.0, num_heads=num_heads)
        self.feed_forward = FeedForward(d)
        self.output = nn.Linear(d, vocab_size)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Map token ids (..., T) to logits (..., T, vocab_size) for the token that comes next."""
        x = self.positions(self.embedding(ids))  # (..., T, d)
        mixed = self.attention(x)  # (..., T, d): every token reads earlier ones
        worked = self.feed_forward(mixed)  # (..., T, d): and works on what it has read
        return self.output(worked)

    def attention_weights(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the weights (..., H, T, T) for token ids (..., T)."""
        return self.attention.attention_weights(self.positions(self.embedding(ids)))
