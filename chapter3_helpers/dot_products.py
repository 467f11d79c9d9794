"""How well do two tokens match? Dot products as attention scores.

Source: sections 3.3.1 and 3.3.2. Taught in ``01_dot_products``; ``simple_self_attention`` in
``02_softmax``.
"""

import torch

from chapter3_helpers.softmax import softmax


def attention_scores_loop(x: torch.Tensor) -> torch.Tensor:
    """Compute the dot product of every pair of tokens, one pair and one number at a time.

    Slow on purpose: this is the definition, which ``attention_scores`` has to agree with.

    Args:
        x: token embeddings, (..., T, d_in).

    Returns:
        Scores of shape (..., T, T): row i, column j holds x[i] . x[j].

    >>> attention_scores_loop(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[ 5., 11.],
            [11., 25.]])

    Source: section 3.3.2.
    """
    if x.dim() > 2:
        return torch.stack([attention_scores_loop(sequence) for sequence in x])
    num_tokens = x.shape[0]
    scores = x.new_empty(num_tokens, num_tokens)
    for i in range(num_tokens):
        for j in range(num_tokens):
            total = x.new_zeros(())
            for left, right in zip(x[i], x[j], strict=True):
                total = total + left * right
            scores[i, j] = total
    return scores


def attention_scores(x: torch.Tensor) -> torch.Tensor:
    """Compute the dot product of every pair of tokens in one matrix product.

    New compared with ``attention_scores_loop``: one call in place of three loops. From tokens
    (..., T, d_in) it makes the same scores (..., T, T).

    >>> attention_scores(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[ 5., 11.],
            [11., 25.]])

    Source: section 3.3.2.
    """
    return x @ x.transpose(-2, -1)  # (..., T, d_in) @ (..., d_in, T) -> (..., T, T)


def simple_self_attention(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mix every token with all others, weighted by how alike they are; nothing is trained.

    New compared with ``attention_scores``: the scores become weights, the weights mix the tokens.

    Returns:
        From tokens (..., T, d_in) the context vectors (..., T, d_in) and the attention weights
        (..., T, T), whose rows sum to 1.

    >>> context, weights = simple_self_attention(torch.eye(2))
    >>> weights
    tensor([[0.7311, 0.2689],
            [0.2689, 0.7311]])

    Source: section 3.3.2.
    """
    scores = attention_scores(x)  # (..., T, T)
    weights = softmax(scores, dim=-1)  # (..., T, T)
    return weights @ x, weights  # (..., T, T) @ (..., T, d_in) -> (..., T, d_in)
