"""The exercises of ``07_fused_multihead``."""

import torch
from torch.nn import functional

from chapter3_helpers.exercises import Exercise, drawn

GPT2_ATTENTION = Exercise(
    name="07a",
    solution=lambda H, d, T: (
        d // H,
        d * (4 * d + 1),
    ),
    cases=((12, 768, 1024), (25, 1600, 1024), (5, 60, 7)),
    misconceptions={
        "The count includes a bias for queries, keys and values. GPT-2 does have them; the "
        "exercise, like the class by default, leaves them out.": (
            lambda H, d, T: (d // H, 4 * d * (d + 1))
        ),
        "Three matrices were counted. The fourth, with a bias, is out_proj.": (
            lambda H, d, T: (d // H, 3 * d * d)
        ),
        "The bias of out_proj is missing: one number for each of its outputs.": (
            lambda H, d, T: (d // H, 4 * d * d)
        ),
        "You counted the mask. It is computed, not learned, so context_length adds no parameter.": (
            lambda H, d, T: (
                d // H,
                d * (4 * d + 1) + T**2,
            )
        ),
        "You gave every head projections as wide as all heads together. They share the width: "
        "W_query, W_key and W_value have width * width numbers each.": (
            lambda H, d, T: (
                d // H,
                3 * H * d * d + d * (d + 1),
            )
        ),
        "The parameters are right. But the width is shared by the heads: each answers with "
        "width / num_heads numbers per token.": (lambda H, d, T: (d, d * (4 * d + 1))),
    },
)


def _contributions(context: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    blocks = weight.chunk(len(context), dim=1)
    return torch.stack([head @ block.T for head, block in zip(context, blocks, strict=True)])


HEAD_CONTRIBUTIONS = Exercise(
    name="07b",
    solution=_contributions,
    # more numbers on the way out than on the way in, then fewer
    cases=((drawn(2, 5, 3), drawn(7, 6, seed=2)), (drawn(5, 4, 2), drawn(9, 10, seed=2))),
    misconceptions={
        "These are rows of weight. nn.Linear stores (outputs, inputs): what it does with a "
        "head's numbers stands in columns.": lambda context, weight: torch.stack(
            [head @ weight[h * len(head.T) :][: len(head.T)] for h, head in enumerate(context)]
        ),
        "That is what all heads add together. Leave out the sum: one (T, d_out) for each head.": (
            lambda context, weight: _contributions(context, weight).sum(dim=0)
        ),
        "These are every H-th column. The numbers of a head stand side by side: columns h * D "
        "to h * D + D.": lambda context, weight: torch.stack(
            [head @ weight[:, h :: len(context)].T for h, head in enumerate(context)]
        ),
    },
)


def _queries_keys_values(*shape: int) -> tuple[torch.Tensor, ...]:
    """Return three tensors that have nothing in common, so that a swap of two is noticed."""
    return tuple(2 * drawn(*shape, seed=seed) for seed in (1, 2, 3))


def _scaled(queries, keys):
    return queries @ keys.mT / queries.shape[-1] ** 0.5


def _attend(queries, keys, values, hidden):
    return functional.scaled_dot_product_attention(queries, keys, values, attn_mask=~hidden)


# a window: a token sees itself and the token before it
WINDOW = ~torch.ones(5, 5, dtype=torch.bool).triu(diagonal=-1).tril(diagonal=0)
# here a token sees itself and the two tokens after it
AHEAD = ~torch.ones(7, 7, dtype=torch.bool).triu(diagonal=0).tril(diagonal=2)
# here it sees itself and some others, before and after it; the last row sees all
SCATTERED = torch.arange(36).reshape(6, 6) * 5 % 7 > torch.tensor([2, 1, 3, 2, 1, 9])[:, None]
SCATTERED.fill_diagonal_(False)

WINDOW_ATTENTION = Exercise(
    name="07c",
    solution=_attend,
    cases=(
        (*_queries_keys_values(3, 5, 2), WINDOW),
        (*_queries_keys_values(2, 7, 3), AHEAD),
        (*_queries_keys_values(2, 3, 6, 4), SCATTERED),
    ),
    misconceptions={
        "True means visible to scaled_dot_product_attention and hidden in our masks: every "
        "token attends to exactly what it should not see.": (
            lambda q, k, v, hidden: _attend(q, k, v, ~hidden)
        ),
        "Nothing is hidden: every token attends to all of them. Hand the mask over as "
        "`attn_mask`.": lambda q, k, v, hidden: _scaled(q, k).softmax(-1) @ v,
        "A mask of floats is added to the scores, and 0 and 1 change them little. Hand over "
        "Booleans: True where a key is visible.": (
            lambda q, k, v, hidden: (_scaled(q, k) + ~hidden).softmax(-1) @ v
        ),
        "That hides the future, whatever stands in hidden.": (
            lambda q, k, v, hidden: _attend(q, k, v, torch.ones_like(hidden).triu(1))
        ),
        "You hide the future as well. What is hidden is said by `hidden` alone, and it may leave "
        "later keys in sight.": (
            lambda q, k, v, hidden: _attend(q, k, v, hidden | torch.ones_like(hidden).triu(1))
        ),
        "The scores are scaled twice: the function divides them by sqrt(D) by itself.": (
            lambda q, k, v, hidden: _attend(q / q.shape[-1] ** 0.5, k, v, hidden)
        ),
        "The hidden scores are 0. Softmax turns a score of 0 into a weight above 0, so hidden "
        "tokens still count.": lambda q, k, v, hidden: (
            _scaled(q, k).masked_fill(hidden, 0.0).softmax(-1) @ v
        ),
    },
)
