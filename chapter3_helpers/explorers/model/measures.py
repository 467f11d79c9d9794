"""What each head does, as numbers: how much of its weight goes where.

Each measure is a mean over the rows in which the thing can happen. The first token's row is left
out: in a model that hides the future it has one token to look at. So are rows of padding, and a
text begins behind them.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from chapter3_helpers._language import say, sentences, to_say

BEFORE, FIRST, ITSELF = to_say("token before"), to_say("first token"), to_say("itself")
INDUCTION, SPREAD = to_say("induction"), to_say("evenness")
PADDING, NOWHERE = to_say("padding"), to_say("no token")
PLACES = {  # where a share of the weight goes, in words
    BEFORE: say("the token before"),
    FIRST: say("the first token"),
    ITSELF: say("the token itself"),
    INDUCTION: say("the token that came after the present one earlier in the text"),
    PADDING: say("padding"),
    NOWHERE: say("no token"),
}
RARE = (PADDING, NOWHERE)  # which are shown where some weight goes there
LOST = 0.02  # a smaller part that is missing from the sum of a row is rounding


class Measure(NamedTuple):
    """One measure of some heads, (heads,) each."""

    values: torch.Tensor  # NaN where there is no row
    rows: torch.Tensor  # over how many rows each is the mean

    def order(self) -> list[int]:
        """Return the heads from the largest value to the smallest; those without one come last."""
        return self.values.nan_to_num(nan=-1.0).argsort(descending=True, stable=True).tolist()


Measures = Mapping[str, Measure]  # by their names


def followers(tokens: Sequence[str], rows: torch.Tensor) -> torch.Tensor:
    """Return for some rows which earlier tokens came after a copy of the present one, (rows, T).

    >>> followers("abcaa", torch.tensor([3, 4])).int().tolist()  # after the first a came b
    [[0, 1, 0, 0, 0], [0, 1, 0, 0, 0]]
    """
    ids = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    numbers = torch.tensor([ids[token] for token in tokens])
    before = torch.cat([torch.tensor([-1]), numbers[:-1]])
    return (numbers[rows, None] == before) & (torch.arange(len(tokens)) < rows[:, None])


def measure(
    layers: Sequence[torch.Tensor],
    tokens: Sequence[str],
    rows: range,
    *,
    cross: bool,
    causal: bool,
    is_text: torch.Tensor | None = None,
    without_first: bool = False,
) -> Measures:
    """Measure all heads of some layers in some rows.

    Args:
        layers: (H, R, S) each; the rows are those of the last R tokens.
        tokens: S of them, or those of another text.
        rows: the rows to look at.
        cross: whether the keys are the tokens of another text; then evenness alone means anything.
        causal: whether no token looks at a later one.
        is_text: (S,), False for keys that are padding (default: none is).
        without_first: whether nothing is on the first token of text; then the second one counts
            as the first.
    """
    R, S = layers[0].shape[1:]
    is_text = torch.ones(S, dtype=torch.bool) if is_text is None else is_text
    at, chosen = torch.arange(rows.start, rows.stop), torch.arange(rows.start, rows.stop)
    if not cross:
        order = is_text.cumsum(0) - 1  # the places of the keys among those that are text
        places = chosen + S - R
        chosen = chosen[is_text[places] & (order[places] > without_first)]
        at = order[chosen + S - R]
        tokens = [token for token, text in zip(tokens, is_text.tolist(), strict=True) if text]
    follow = None if cross else followers(tokens, at)[:, int(without_first) :]
    at = at - int(without_first)
    columns = []
    for layer in layers:
        weights = layer[:, chosen]
        of_text = weights if is_text.all() else weights[..., is_text]
        lost = (weights.sum(-1) - of_text.sum(-1)).clamp(min=0)  # to padding
        of_text = of_text[..., int(without_first) :]
        columns.append(_of_layer(of_text, at, follow, causal, lost))
    found = {
        name: Measure(*map(torch.cat, zip(*(layer[name] for layer in columns), strict=True)))
        for name in columns[0]
    }
    return {name: one for name, one in found.items() if name not in RARE or one.values.max() > LOST}


def _of_layer(
    weights: torch.Tensor,
    at: torch.Tensor,
    follow: torch.Tensor | None,
    causal: bool,
    lost: torch.Tensor,
) -> dict[str, Measure]:
    """Return each measure of the heads of a layer.

    Args:
        weights: (H, rows, S), on keys that are text.
        at: which rows these are.
        follow: what ``followers`` returns for them.
        causal: as for ``measure``.
        lost: the weight on padding, (H, rows).
    """
    H, R, S = weights.shape
    found = {}
    if follow is not None:
        every, here = torch.ones(R, dtype=torch.bool), torch.arange(R)
        shares = {
            BEFORE: (weights[:, here, at - 1], every),
            FIRST: (weights[..., 0], every),
            ITSELF: (weights[:, here, at], every),
            INDUCTION: ((weights * follow).sum(-1), follow.any(-1)),
        }
        found = {name: _mean(share, can.expand(H, R)) for name, (share, can) in shares.items()}
    sums = weights.sum(-1)  # (H, rows)
    seen = at + 1 if causal else torch.full_like(at, S)  # how many keys there are
    entropy = torch.special.entr(weights).sum(-1) / sums + sums.log()
    even = entropy / seen.log()  # 0 where all is on one token, 1 where all have the same
    found[SPREAD] = _mean(even, (seen > 1) & (sums > 0))
    every = torch.ones_like(sums, dtype=torch.bool)
    found[PADDING] = _mean(lost, every)
    found[NOWHERE] = _mean(1 - sums - lost, every)
    return found


def _mean(values: torch.Tensor, can: torch.Tensor) -> Measure:
    """Return the mean of (H, rows) over the rows that can."""
    rows = can.sum(-1)
    return Measure(values.where(can, 0).sum(-1) / rows, rows)


def sentence(
    measures: Measures, head: int, name: str, *, brief: bool = False, without_first: bool = False
) -> str:
    """Say what a head does: where the largest share of its weight goes, and how it spreads, which
    is left out where it should be ``brief``; ``without_first`` of what the first token leaves."""
    found = {n: one.values[head].item() for n, one in measures.items() if one.rows[head]}
    places = {place: found[place] for place in PLACES if place in found}
    rare = {place: places.pop(place) for place in RARE if place in places}
    said, first = [], places.pop(FIRST, 0) if without_first else 0
    goes = to_say("on average {share} of its weight goes to {place} ({rows} rows).")
    if without_first:
        goes = to_say(
            "on average {share} of what the first token leaves, which gets {first}, goes to "
            "{place} ({rows} rows)."
        )
    if places:
        most = max(places, key=places.__getitem__)
        share, rows = f"{places[most]:.2f}", measures[most].rows[head]
        said.append(say(goes, share=share, first=f"{first:.2f}", place=PLACES[most], rows=rows))
    said += [
        say("{share} goes to {place}.", share=f"{share:.2f}", place=PLACES[name])
        for name, share in rare.items()
        if share > LOST
    ]
    if SPREAD in found and not (brief and said):
        even = to_say("evenness {share} (0 is all on one token, 1 the same on every token).")
        if said:
            even = to_say("Evenness {share} (0 is all on one token, 1 the same on every token).")
        said.append(say(even, share=f"{found[SPREAD]:.2f}"))
    rest = sentences(*said) or say("there is no row to measure.")
    return say("{title}: {rest}", title=name, rest=rest)
