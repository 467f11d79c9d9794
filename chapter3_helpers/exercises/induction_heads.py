"""The exercises of ``10_induction_heads``."""

import torch

from chapter3_helpers.exercises import Exercise, drawn


def _previous_token(T: int, first: int = 0) -> torch.Tensor:
    """Return weights with which the first row looks at the place ``first``."""
    weights = torch.diag(torch.ones(T - 1), diagonal=-1)
    weights[0, first] = 1
    return weights


def _next_token(T: int) -> torch.Tensor:
    return torch.diag(torch.ones(T - 1), diagonal=1)


PREVIOUS_TOKEN = Exercise(
    name="10a",
    solution=_previous_token,
    cases=((5,), (7,), (2,), (1,)),
    misconceptions={
        "Your rows look at the token after them. Token i is a row, and the token before it stands "
        "one column to the left.": (
            lambda T: _previous_token(T).T,
            lambda T: _previous_token(T).flip(0, 1),
            _next_token,
            lambda T: _next_token(T) + torch.eye(T)[:1] * torch.eye(T)[:, :1],
            lambda T: torch.eye(T).roll(1, 1),
        ),
        "Your first row looks at the last token, which is in its future. It sees itself alone.": (
            lambda T: _previous_token(T, first=-1)
        ),
        "Your first row is all zeros. Softmax makes every row sum to 1, so the first token, which "
        "sees nothing else, looks at itself.": lambda T: torch.diag(torch.ones(T - 1), -1),
        "Each of your rows looks at the token itself.": lambda T: torch.eye(T),
    },
)


def _places(ids: torch.Tensor, behind: int = 1) -> list[int]:
    last: dict[int, int] = {}
    found = []
    for i, token in enumerate(ids.tolist()):
        found.append(last[token] + behind if token in last else -1)
        last[token] = i
    return found


def _first_places(ids: torch.Tensor) -> list[int]:
    tokens = ids.tolist()
    firsts = [tokens.index(token) for token in tokens]
    return [first + 1 if first < i else -1 for i, first in enumerate(firsts)]


def _with_itself(ids: torch.Tensor) -> list[int]:
    return [i + 1 for i in range(len(ids))]


PLACES = Exercise(
    name="10b",
    solution=_places,
    cases=(
        (torch.tensor([7, 3, 9, 7, 3, 9, 7, 3]),),
        (torch.tensor([1, 0, 2, 0, 2, 0]),),  # banana
        (torch.tensor([4, 4, 4]),),
    ),
    misconceptions={
        "You return the place where the token stood. The head looks one place behind it, at what "
        "came next.": lambda ids: _places(ids, behind=0),
        "You take the first earlier place. Of several earlier places the last one counts.": (
            _first_places
        ),
        "You return the token that stands there. Asked for is its place.": (
            lambda ids: [ids[place].item() if place >= 0 else -1 for place in _places(ids)]
        ),
        "A token that stood at place 0 counts as well. In Python 0 is false: ask whether it is "
        "`None`, or `in` the dictionary.": (
            lambda ids: [-1 if place == 1 else place for place in _places(ids)]
        ),
        "Each of your tokens finds itself. Only earlier places count.": _with_itself,
    },
)


def _score(weights: torch.Tensor, n: int) -> torch.Tensor:
    return weights.diagonal(1 - n)[1:].mean()


def _weights(T: int) -> torch.Tensor:
    scores = drawn(T, T, seed=T)
    return scores.masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf).softmax(dim=-1)


SCORE = Exercise(
    name="10c",
    solution=_score,
    cases=((_weights(10), 3), (_weights(24), 7), (_weights(6), 5)),
    misconceptions={
        "You measure the weight on the same token, one round before. The head looks at what came "
        "after it: one place further.": lambda weights, n: weights.diagonal(-n).mean(),
        "You count a row of the first round, whose token has no earlier place.": (
            lambda weights, n: weights.diagonal(1 - n).mean()
        ),
        "You measure the weight on the token before.": (
            lambda weights, n: weights.diagonal(-1)[n - 1 :].mean()
        ),
        "You add the weights up. Take their mean, or a longer text would score higher.": (
            lambda weights, n: weights.diagonal(1 - n)[1:].sum()
        ),
    },
)
