"""The exercises of ``11_handmade_transformer``.

An answer is a function that completes a prompt. It is judged by what its model writes, so any
weights that do the task are right.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from chapter3_helpers.exercises import Exercise
from chapter3_helpers.handmade_transformer import LARGE, MODEL, HandmadeTransformer, complete


def looking_back(*distances: int) -> HandmadeTransformer:
    """Return MODEL with queries for the positions at these distances, where they exist."""
    W_query = np.zeros_like(MODEL.W_query)
    for position in range(MODEL.context_length):
        for distance in distances:
            W_query[position, max(position - distance, 0)] = LARGE
    return replace(MODEL, W_query=W_query)


def completer(model: HandmadeTransformer, length: int = 12) -> Callable[[str], str]:
    """Return a function from a prompt to what ``model`` writes after it."""
    return lambda prompt: complete(prompt, length, model)


def pieces(period: str, shortest: int) -> tuple[tuple[str], ...]:
    """Return every piece of an endless repetition, from the shortest to a full context, as cases.

    >>> pieces("aab", shortest=4)
    (('aaba',), ('abaa',), ('baab',), ('aabaa',), ('abaab',), ('baaba',))
    """
    lengths = range(shortest, MODEL.context_length + 1)
    starts = range(len(period))
    return tuple(((period * 9)[i : i + length],) for length in lengths for i in starts)


ABB = Exercise(
    name="11a",
    solution=completer(MODEL.with_weight("c_proj_bias", 5, -LARGE)),
    cases=pieces("abb", shortest=2),
    misconceptions={
        "Your model still writes (aab)*, as MODEL does.": completer(MODEL),
        "You swapped what a and b are worth, but not what is said then: two b's now have the value "
        "1, and 1 says b.": completer(
            MODEL.with_weight("W_value", (5, 7), -1.0).with_weight("W_value", (6, 7), 1.0)
        ),
        "You took the lean towards a away, and put none towards b in its place. A mixed pair now "
        "leaves the choice to the residual, which repeats the last token.": completer(
            MODEL.with_weight("c_proj_bias", 5, 0.0)
        ),
        "You lean towards b so far that two b's can't outweigh it: they raise a by 1024 and lower "
        "b by 1024, no more.": completer(MODEL.with_weight("c_proj_bias", 5, -4 * LARGE)),
    },
)

AABB = Exercise(
    name="11b",
    solution=completer(looking_back(1)),
    cases=pieces("aabb", shortest=2),
    misconceptions={
        "Your model still writes (aab)*, as MODEL does.": completer(MODEL),
        "Each position now looks at itself alone, which gives (ab)*. Which single earlier token "
        "tells the next one of (aabb)*?": completer(looking_back(0)),
        "You changed the last position alone. Until the context is full, the last token stands at "
        "an earlier position.": completer(MODEL.with_weight("W_query", (4, 4), 0.0)),
        "You look back one token too far, which gives (aaabbb)*.": completer(looking_back(2)),
    },
)

AAAB = Exercise(
    name="11c",
    solution=completer(looking_back(0, 1, 2)),
    cases=pieces("aaab", shortest=3),
    misconceptions={
        "Your model still writes (aab)*, as MODEL does.": completer(MODEL),
        "You widened the last position alone. Until the context is full, the last token stands at "
        "an earlier position.": completer(MODEL.with_weight("W_query", (4, 2), LARGE)),
        "You average four tokens. One b among four makes 0.5, a tie of 512 against 512, and the "
        "residual repeats the last token.": completer(looking_back(0, 1, 2, 3)),
        "You replaced the token before by the one before that; it needs all three.": completer(
            looking_back(0, 2)
        ),
    },
)

IDLE_WEIGHT = Exercise(
    name="11d",
    solution=lambda: ("W_query", (0, 0)),
    misconceptions={
        "Position 0 needs no question, but its key is what position 1 looks for.": (
            lambda: ("W_key", (0, 0))
        ),
        "That row also makes the key of position 0, which position 1 looks for.": (
            lambda: ("position_embedding", (0, 0))
        ),
        "Accuracy does not notice that one, since the text it is tried on happens to come out "
        "right; the logits do.": lambda: ("position_embedding", (4, 4)),
    },
)
