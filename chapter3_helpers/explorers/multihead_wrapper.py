"""The explorer of ``06_multihead_wrapper``: heads that learn who and whom."""

from typing import NamedTuple

import torch

from chapter3_helpers._figures.colours import KEY_LABEL
from chapter3_helpers._language import say, sentences
from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.explorers.core.controls import Buttons, Slider, TextField
from chapter3_helpers.explorers.core.inputs import CLICK_CELL, clicked_cell, clicked_query_and_key
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Matrix, Note, Panel
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.read_attention import read_attention
from chapter3_helpers.tasks import who_whom

CONTROLS = (
    Buttons(
        "learners",
        say("heads"),
        2,
        say("The total width is the same"),
        options=[(say("one, 32 wide"), 1), (say("two, 16 wide"), 2)],
    ),
    Slider(
        "step",
        say("batches of training"),
        400,
        say("How long they have learned"),
        low=0,
        high=400,
        step=10,
        play=200,
    ),
    TextField("names", say("sentence"), "Ann thanked Bob", say("Any three words: who, verb, whom")),
    *clicked_query_and_key(lambda names: who_whom.encode(names)[0]),
)


class MultiHeadWrapperState(NamedTuple):
    """What a reader with several heads makes of a sentence."""

    tokens: tuple[str, ...]
    x: torch.Tensor  # (4, 20)
    reader: who_whom.WhoWhomReader
    weights: torch.Tensor  # (H, 4, 4)
    answer: tuple[str, str]  # who, whom
    loss: float  # on the batch that comes next


@as_torch_starts()
def multihead_wrapper_state(*, learners: int, step: int, names: str) -> MultiHeadWrapperState:
    """Let a reader that has learned for so many batches read a sentence."""
    tokens, x = who_whom.encode(names)
    states, losses = who_whom.trained_reader(learners)
    reader = states[step]
    weights = reader.attention.attention_weights(x).detach()
    answer, loss = who_whom.answer(reader, names), losses[min(step, len(losses) - 1)]
    return MultiHeadWrapperState(tokens, x, reader, weights, answer, loss)


@torch.no_grad()
def multihead_wrapper_panels(
    state: MultiHeadWrapperState, *, step: int, query: int | None, key: int | None
) -> list[Panel]:
    """Return what the full stop sees in every head, and what the reader answers."""
    tokens, rows = state.tokens, state.weights[:, -1]  # (H, T)
    names = [say("head {head}", head=head) for head in range(len(rows))]
    if len(rows) == 1:
        names = [say("the head")]
    title = say("where the full stop looks")
    head, column = clicked_cell(query, key, rows)
    path = []
    if head is not None:
        vectors = read_attention(state.reader.attention).project(state.x)  # (H, T, D) each
        asked, hidden = (len(tokens) - 1, column), causal_mask(len(tokens))
        path = [NumberPath(tokens, *asked, *(each[head] for each in vectors), hidden=hidden)]
    return [
        Note(_note(state, step)),
        Lines(title, rows, names, tokens, sides=say("from head to token"), click=CLICK_CELL),
        Matrix(
            title,
            rows,
            names,
            tokens,
            corner=(say("head"), KEY_LABEL),
            marked_row=head,
            marked_column=column,
            click=CLICK_CELL,
        ),
        *path,
    ]


def _note(state: MultiHeadWrapperState, step: int) -> str:
    (who, whom), tokens = state.answer, state.tokens
    right = (who == tokens[0]) + (whom == tokens[2])
    verdict = (say("both wrong"), say("one right"), say("both right"))[right]
    answer = say(
        "After {step} batches, “{sentence}” – who? “{who}”. Whom? “{whom}”: {verdict}.",
        step=step,
        sentence=" ".join(tokens[:-1]),
        who=who,
        whom=whom,
        verdict=verdict,
    )
    loss = say("The loss on one batch is {loss}.", loss=f"{state.loss:.2f}")
    return sentences(answer, loss)


multihead_wrapper_explorer = explorer_function(
    "multihead_wrapper_explorer",
    say("several heads"),
    CONTROLS,
    multihead_wrapper_state,
    multihead_wrapper_panels,
)
