"""Why do layers stack? A reader of letters, whose second layer uses what the first one has found.

Two layers of attention form an *induction head*: the first writes into each token what came before
it, and the second looks for a token that came after one like the present.

Source: Elhage et al., 2021, and Olsson et al., 2022, who found such heads in language models.
Taught in ``10_induction_heads``.
"""

import torch
from torch import nn

from chapter3_helpers.causal_attention import CausalAttention
from chapter3_helpers.positions import LearnedPositions


class LetterReader(nn.Module):
    """Layers of attention and nothing between them: letters in, logits for the next letter out.

    Args:
        num_layers: how many layers, of one causal head each.
        residual: whether each layer's input is added to its output.

    >>> reader = LetterReader(num_layers=2)
    >>> reader(torch.tensor([7, 14, 11])).shape
    torch.Size([3, 26])
    """

    def __init__(self, num_layers: int, residual: bool = True):
        super().__init__()
        self.residual = residual
        self.embedding = nn.Embedding(26, 32)
        self.positions = LearnedPositions(24, 32)
        self.norms = nn.ModuleList(nn.LayerNorm(32) for _ in range(num_layers))
        self.layers = nn.ModuleList(CausalAttention(32, 32, 24, 0.0) for _ in range(num_layers))
        self.output = nn.Linear(32, 26)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Map letters (..., T) to logits (..., T, 26) for the letter that comes next."""
        x = self.positions(self.embedding(ids))  # (..., T, 32)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            found = layer(norm(x))  # (..., T, 32)
            x = x + found if self.residual else found
        return self.output(x)
