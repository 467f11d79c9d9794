"""The exercises of ``16_heads_of_a_real_model``."""

import torch

from chapter3_helpers.exercises import Exercise, drawn


def _weights(T: int, seed: int) -> torch.Tensor:
    """Return causal weights (T, T) by chance."""
    scores = drawn(T, T, seed=seed)
    return scores.masked_fill(torch.ones(T, T).triu(1) > 0, -torch.inf).softmax(dim=-1)


def _copies(ids: torch.Tensor) -> torch.Tensor:
    """Return for each row which places hold an earlier copy of its token, (T, T)."""
    return (ids[:, None] == ids).tril(-1)


def _score(weights: torch.Tensor, ids: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Return what the rows with an earlier copy give to the wanted places, on average."""
    return (weights * wanted).sum(dim=-1)[_copies(ids).any(dim=-1)].mean()


def _last_copy(ids: torch.Tensor) -> torch.Tensor:
    copies = _copies(ids)
    return copies & (copies.flip(-1).cumsum(-1).flip(-1) == 1)


COPY_SCORE = Exercise(
    name="16a",
    solution=lambda weights, ids: _score(weights, ids, _copies(ids)),
    cases=(
        (_weights(7, seed=1), torch.tensor([5, 8, 5, 3, 5, 8, 9])),
        (_weights(8, seed=2), torch.tensor([1, 2, 3, 4, 1, 2, 3, 4])),
    ),
    misconceptions={
        "You take the token after the copy. That is the score of an induction head; here the copy "
        "itself is asked for.": lambda weights, ids: _score(
            weights, ids, torch.nn.functional.pad(ids[:, None] == ids[:-1], (1, 0)).tril(-1)
        ),
        "You count the row's own token as well. A copy stands earlier.": (
            lambda weights, ids: _score(weights, ids, (ids[:, None] == ids).tril())
        ),
        "You take the mean over all rows. A row whose token has no earlier copy says nothing about "
        "the head.": lambda weights, ids: (weights * _copies(ids)).sum(dim=-1).mean(),
        "You take the mean over all copies. First add up what each row gives to its copies, then "
        "take the mean over the rows.": lambda weights, ids: weights[_copies(ids)].mean(),
        "You count the nearest copy alone. Where there are several, add their weights.": (
            lambda weights, ids: _score(weights, ids, _last_copy(ids))
        ),
    },
)


def _only_head(weight: torch.Tensor, head: int, num_heads: int) -> torch.Tensor:
    """Keep the columns of one head, and set all others to 0."""
    columns = torch.arange(weight.shape[1]).chunk(num_heads)[head]
    return torch.zeros_like(weight).index_copy(1, columns, weight[:, columns])


def _every_nth(weight: torch.Tensor, head: int, num_heads: int) -> torch.Tensor:
    cut = weight.clone()
    cut[:, head::num_heads] = 0
    return cut


def _rows(weight: torch.Tensor, head: int, num_heads: int) -> torch.Tensor:
    D = weight.shape[1] // num_heads
    cut = weight.clone()
    cut[head * D : (head + 1) * D] = 0
    return cut


WITHOUT_HEAD = Exercise(
    name="16b",
    solution=lambda weight, head, num_heads: weight - _only_head(weight, head, num_heads),
    cases=(
        (torch.arange(1.0, 61).view(5, 12), 1, 3),
        (torch.arange(1.0, 71).view(7, 10), 4, 5),
        (torch.arange(1.0, 89).view(11, 8), 0, 2),
    ),
    misconceptions={
        "You set rows to 0. A row makes one number of the output, from all heads. Columns read "
        "what one head has written.": _rows,
        "You set every `num_heads`-th column to 0. The numbers of a head stand side by side.": (
            _every_nth
        ),
        "You count heads from 1. The first head is head 0.": (
            lambda weight, head, num_heads: weight - _only_head(weight, head - 1, num_heads)
        ),
        "You keep this head and take out the others.": _only_head,
    },
)


def _strongest(scores: torch.Tensor) -> tuple[int, int]:
    return divmod(int(scores.argmax()), scores.shape[1])


def _of_the_mean(scores: torch.Tensor) -> tuple[int, int]:
    layer = int(scores.mean(dim=-1).argmax())
    return layer, int(scores[layer].argmax())


STRONGEST = Exercise(
    name="16c",
    solution=_strongest,
    cases=(
        (torch.tensor([[0.3, 0.4, 0.3, 0.4], [0.0, 0.9, 0.0, 0.1], [0.5, 0.1, 0.2, 0.3]]),),
        (torch.tensor([[0.1, 0.2], [0.4, 0.5], [0.3, 0.4], [0.8, -0.9], [0.2, 0.1]]),),
    ),
    misconceptions={
        "You take the layer with the highest mean first. A mean over heads hides one head that "
        "does something among others that do not.": _of_the_mean,
        "You return (head, layer). The layer comes first.": (
            lambda scores: _strongest(scores)[::-1]
        ),
        "You return the place in the flattened scores. Divide by the number of heads: the quotient "
        "is the layer, and the rest is the head.": lambda scores: int(scores.argmax()),
        "You divide by the number of layers. A layer holds as many places as it has heads.": (
            lambda scores: divmod(int(scores.argmax()), len(scores))
        ),
    },
)


def _as_bad(loss: float, others: list[float]) -> float:
    return sum(other >= loss for other in others) / len(others)


AS_BAD = Exercise(
    name="16d",
    solution=_as_bad,
    cases=(
        (4.0, [2.5, 4.5, 2.75, 4.0]),
        (10.5, [2.75, 3.0, 2.5, 3.75, 2.75]),
        (3.0, [2.75, 3.25, 3.5, 2.5, 3.0, 2.5, 3.75, 4.0]),
    ),
    misconceptions={
        "You count the sets that do less harm. The question is how many do at least as much.": (
            lambda loss, others: sum(other < loss for other in others) / len(others)
        ),
        "You leave out sets with the same loss. They do as much harm.": (
            lambda loss, others: sum(other > loss for other in others) / len(others)
        ),
        "You return how many sets there are. Divide by the number of all other sets.": (
            lambda loss, others: sum(other >= loss for other in others)
        ),
        "You compare with the mean of the others. Two sets that do great harm can hide behind a "
        "calm mean.": lambda loss, others: float(sum(others) / len(others) >= loss),
    },
)
