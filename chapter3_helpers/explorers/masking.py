"""The explorer of ``04_masking``: a sentence is read, and the matrix grows row by row.

A function that stands in a notebook's cell is shown by ``masking_explorer(mask_scores)``. It is
given scores (T, T) and returns masked scores. What it computes is drawn, and where that does not
hide exactly the future, a sentence says so.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.nn.functional import pad

from chapter3_helpers import masking
from chapter3_helpers._language import say, sentences, to_say
from chapter3_helpers._switches import as_torch_starts, seeded
from chapter3_helpers.explorers.core.controls import Buttons, DropDown, Seed, Steps, TextField
from chapter3_helpers.explorers.core.inputs import (
    clicked_query_and_key,
    looks,
    options_of,
    read_sentence,
    token_options,
    up_to,
)
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Facts, Matrix, Note, Panel
from chapter3_helpers.explorers.core.widget import Explorer, described
from chapter3_helpers.explorers.pronouns import read_known
from chapter3_helpers.masking import causal_mask, mask_then_renormalise
from chapter3_helpers.softmax import softmax
from chapter3_helpers.tasks.pronouns import trained_reader
from chapter3_helpers.trainable_qkv import SelfAttention_v2

LEARNED, RANDOM = to_say("learned in 03"), to_say("random")
FIRST, SECOND = to_say("−inf, then softmax"), to_say("softmax, zero, renormalise")
WEIGHTS, SCORES, NUMBER = to_say("weights"), to_say("masked scores"), to_say("one number")
CLICK = {"q": "query", "k": "column", "show": NUMBER}
SENTENCE = "The dog left the milk in the glass because it was sour"


def _tokens(text: str, matrices: str) -> tuple[str, ...]:
    return _read(text, matrices)[0]


def _read(text: str, matrices: str) -> tuple[tuple[str, ...], torch.Tensor]:
    if matrices == RANDOM:
        return read_sentence(text)
    otherwise = say("The weight matrices “{random}” take any sentence.", random=say(RANDOM))
    return read_known(text, otherwise)


CONTROLS = (
    Buttons(
        "show",
        say("show"),
        WEIGHTS,
        say(
            "The weights, the scores that softmax is given, or the arithmetic of one of the weights"
        ),
        lambda way: way == FIRST,
        options=(WEIGHTS, SCORES, NUMBER),
    ),
    TextField(
        "text",
        say("sentence"),
        SENTENCE,
        say("Type a sentence of your own; the matrices that were learned know 38 words"),
    ),
    Steps(
        "tokens_read",
        say("tokens read"),
        12,
        say("How far the sentence has been read"),
        options=up_to(_tokens),
        play=700,
        to_the_end=True,
    ),
    DropDown(
        "matrices",
        say("matrices"),
        LEARNED,
        say("Matrices of the reader of notebook 03, or random ones, which take any words"),
        options=(LEARNED, RANDOM),
        presented=False,
    ),
    DropDown(
        "way",
        say("mask"),
        FIRST,
        say("Two ways to the same weights"),
        options=(FIRST, SECOND),
        presented=False,
    ),
    Seed(
        "seed",
        say("seed"),
        789,
        say("Another seed draws other matrices"),
        lambda matrices: matrices == RANDOM,
    ),
    Buttons(
        "column",
        say("about"),
        4,
        say("Whose key the newest token's query meets; later ones are hidden from it"),
        lambda show, way: show == NUMBER and way == FIRST,
        options=options_of(_tokens, token_options),
        presented=False,
    ),
    clicked_query_and_key(lambda tokens_read: range(tokens_read))[0],
)


class MaskingState(NamedTuple):
    """What was read of a sentence, and all of it."""

    sentence: tuple[str, ...]
    queries: torch.Tensor  # (T, D) of the sentence, as keys and values
    keys: torch.Tensor
    values: torch.Tensor
    whole: torch.Tensor  # (T, T), the weights of the sentence
    tokens: tuple[str, ...]  # that were read
    masked_scores: torch.Tensor  # (read, read)
    hidden: torch.Tensor  # (read, read), True where a key is hidden
    weights: torch.Tensor  # (read, read)
    computed_by: Callable[..., torch.Tensor]
    fault: str  # what is to be said of a reader's function, if it does not hide the future alone


@as_torch_starts()
def masking_state(
    *,
    text: str,
    tokens_read: int,
    matrices: str,
    way: str,
    seed: int,
    mask_scores: Callable[[torch.Tensor], torch.Tensor],
) -> MaskingState:
    """Return the weights of what was read of a sentence, and of all of it."""
    tokens, x = _read(text, matrices)
    if matrices == RANDOM:
        with seeded(seed):
            attention = SelfAttention_v2(3, 2)
    else:
        attention = trained_reader().model
    with torch.no_grad():
        queries, keys, values = attention.W_query(x), attention.W_key(x), attention.W_value(x)
    scores = queries @ keys.T / keys.shape[-1] ** 0.5  # (T, T)
    read = scores[:tokens_read, :tokens_read]
    fault = ""
    if way == FIRST:
        all_masked, masked = (masked_by(mask_scores, some) for some in (scores, read))
        fault = fault_of_mask(scores, all_masked)
        whole, weights = softmax(all_masked), softmax(masked)
        hidden = _hidden(masked, weights)
    else:
        whole, weights = (mask_then_renormalise(softmax(some)) for some in (scores, read))
        hidden = causal_mask(tokens_read)
        masked = read.masked_fill(hidden, -torch.inf)
    return MaskingState(
        *(tokens, queries, keys, values, whole, tokens[:tokens_read], masked, hidden, weights),
        computed_by=mask_scores if way == FIRST else mask_then_renormalise,
        fault=fault,
    )


def masked_by(function: Callable[[torch.Tensor], Any], scores: torch.Tensor) -> torch.Tensor:
    """Return what a reader's function makes of scores (T, T), of the same shape.

    Raises:
        ValueError: it returned something else.
    """
    masked = function(scores.clone())
    fault, of = "", {"function": function.__name__}
    if masked is None:
        fault = to_say(
            "{function} must return scores, and it returned nothing: is there a return at its end?"
        )
    elif not isinstance(masked, torch.Tensor):
        fault = to_say("{function} must return scores, a tensor, got {type}")
        of["type"] = type(masked).__name__
    elif masked.shape != scores.shape:
        fault = to_say(
            "{function} must return scores {shape}, the shape that it was given, got {got}"
        )
        of |= {"shape": tuple(scores.shape), "got": tuple(masked.shape)}
    elif masked.dtype == torch.bool:
        fault = to_say(
            "{function} must return scores, −inf where the mask is True, got the mask itself"
        )
    if fault:
        raise ValueError(say(fault, **of))
    return masked.to(scores.dtype)


def fault_of_mask(scores: torch.Tensor, masked: torch.Tensor) -> str:
    """Say what masked scores (T, T) do other than hide the future; nothing if that is all.

    >>> fault_of_mask(torch.zeros(2, 2), masking.mask_scores(torch.zeros(2, 2)))
    ''
    >>> fault_of_mask(torch.zeros(2, 2), torch.zeros(2, 2))
    'It hides nothing: every token sees the future.'
    """
    if masked.isnan().any():
        return say(
            "There is NaN among its scores: 0 · −inf is NaN. Does masked_fill write the −inf?"
        )
    future = causal_mask(len(scores))
    hidden = _hidden(masked, softmax(masked))
    seen = future & ~hidden
    if (hidden & ~future).tril(-1).any():
        if seen.any():
            return say(
                "It hides words that were already read, and the future is seen: the future is "
                "above the diagonal."
            )
        return say("It hides words that were already read: the future is above the diagonal.")
    if hidden.diagonal().any():
        return say("It hides a token from itself too: on the diagonal nothing is hidden.")
    if seen.any() and not torch.equal(masked[seen], scores[seen]):
        return say(
            "It changes scores of the future, and they still get a weight: only e to the −inf is 0."
        )
    if seen.any() and not hidden.any():
        return say("It hides nothing: every token sees the future.")
    if seen.any():
        return say("A part of the future is seen: does the mask begin right above the diagonal?")
    if not torch.equal(masked[~future], scores[~future]):
        return say("It changes scores that may be seen: all but the future stays as it was.")
    return ""


def _hidden(masked: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return what is hidden (T, T): by -inf, or by a number so low that no weight is left."""
    return masked.isneginf() | (causal_mask(len(masked)) & (weights == 0))


def masking_panels(
    state: MaskingState, *, show: str, way: str, query: int | None, column: int, own: bool
) -> list[Panel]:
    """Return the weights or the masked scores of what was read, the newest row marked; or the
    path from one score to its weight. ``own`` says that a reader wrote the function that masks."""
    tokens, weights, hidden = state.tokens, state.weights, state.hidden
    read, length = len(tokens), len(state.whole)
    click = CLICK if way == FIRST else None
    number = show == NUMBER and way == FIRST
    row = read - 1 if query is None or not number else query
    key = min(column, length - 1) if number else None
    look = {
        "hidden": hidden,
        "marked_row": row,
        "marked_column": None if key is None or key >= read else key,
        "click": click,
    }
    matrix = Matrix(say("attention weights"), weights, tokens, **look)
    if show == SCORES and way == FIRST:
        matrix = Matrix(
            say("masked scores, scaled"), state.masked_scores, tokens, signed=True, **look
        )
    if number:
        projected = state.queries, state.keys, state.values
        later = (0, length - read, 0, length - read)  # nothing is seen of what is not read yet
        every = pad(state.masked_scores, later, value=-torch.inf)
        gone = pad(hidden, later, value=True)
        path = NumberPath(state.sentence, row, key, *projected, hidden=gone, masked=every)
        return [Note(_note(state, way, own, row)), matrix, path]
    facts = {
        say("visible cells"): say(
            "{visible} of {all}", visible=int((~hidden).sum()), all=read * read
        ),
        say("computed by"): _computed_by(state, way, own),
    }
    return [Note(_note(state, way, own, row)), matrix, Facts(facts, say("the triangle"))]


def _computed_by(state: MaskingState, way: str, own: bool) -> str:
    name = state.computed_by.__name__
    if own and way == FIRST:
        return say("{function}, as it stands in your notebook", function=name)
    return say("{function} of chapter3_helpers, not by a cell of yours", function=name)


def _note(state: MaskingState, way: str, own: bool, row: int) -> str:
    """Return how much was read, and what the token of a row looks at, of what it can see."""
    tokens, weights, read = state.tokens, state.weights[row], len(state.tokens)
    seen = 1 + max(n for n, hides in enumerate(state.hidden[row]) if not hides or n == row)
    said = [say("{read} of {all} tokens read.", read=read, all=len(state.whole))]
    if own and way == FIRST:
        name = state.computed_by.__name__
        this_is = say("This is {name} as it stands in your notebook.", name=name)
        said = [this_is, state.fault, *said]
    if weights.isnan().any():
        said.append(say("The weights of “{token}” are no numbers.", token=tokens[row]))
    else:
        said.append(say("{looks}.", looks=looks(tokens[row], weights[:seen], tokens[:seen])))
    change = (state.weights - state.whole[:read, :read])[:-1].abs().nan_to_num(1.0)
    if read > 1 and not (state.fault and read == len(state.whole)):  # that would say nothing
        final = change.max() < 1e-4
        settled = say("The rows above will not change any more.")
        said.append(settled if final else say("The rows above will still change."))
    if way == SECOND:
        said.append(
            say(
                "This way masks weights, not scores: the buttons of “show” belong to “{first}”.",
                first=say(FIRST),
            )
        )
    return sentences(*said)


@described(CONTROLS)
def masking_explorer(
    mask_scores: Callable[[torch.Tensor], torch.Tensor] | None = None, **settings: Any
) -> Explorer:
    name, own = say("causal mask"), mask_scores
    if own is not None:
        if not callable(own) or not hasattr(own, "__name__"):
            raise TypeError(f"mask_scores must be a function of scores, got {own!r}")
        name = say("causal mask, as {function} computes it", function=own.__name__)
    state = partial(masking_state, mask_scores=own or masking.mask_scores)
    panels = partial(masking_panels, own=own is not None)
    return Explorer(name, CONTROLS, state, panels, settings, own=own)
