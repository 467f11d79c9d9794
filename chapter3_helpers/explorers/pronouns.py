"""The second explorer of ``03_trainable_qkv``: an adjective learns to find its noun."""

from typing import NamedTuple

import torch

from chapter3_helpers._language import say, sentences, to_say
from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.explorers.core.controls import Buttons, Steps, TextField
from chapter3_helpers.explorers.core.drawings import Curves
from chapter3_helpers.explorers.core.inputs import (
    clicked_query_and_key,
    looks,
    options_of,
    read_tokens,
    token_options,
)
from chapter3_helpers.explorers.core.lines import Lines
from chapter3_helpers.explorers.core.number_path import NumberPath
from chapter3_helpers.explorers.core.panels import Bars, Note, Panel, UnreadableError
from chapter3_helpers.explorers.core.style import quoted
from chapter3_helpers.explorers.core.widget import explorer_function
from chapter3_helpers.tasks.pronouns import (
    PRONOUNS,
    WORDS,
    Answer,
    encode,
    find_answer,
    known_words,
    split_words,
    trained_reader,
)

SENTENCE = "The dog left the milk in the glass because it was sour"
BATCHES = (*range(0, 100, 5), *range(100, 501, 100))
SMOOTH = 5  # batches whose losses make one point of the curve
ROW, NUMBER = to_say("where it looks"), to_say("one number")
CLICK = {"q": "query", "k": "column", "show": NUMBER}


def read_known(text: str, otherwise: str = "") -> tuple[tuple[str, ...], torch.Tensor]:
    """Return the words of a sentence as they were typed, and a row for each (T, 38).

    Raises:
        UnreadableError: the reader does not know a word; ``otherwise`` says what takes any.
        ValueError: there is no word, or there are more than can be drawn.
    """
    read_tokens(text)  # refuses what can't be drawn
    words = split_words(text)
    if not words:
        raise ValueError(say("Type at least one word."))
    unknown = list(dict.fromkeys(quoted(word) for word in words if word.lower() not in WORDS))
    if unknown:
        said = say("The reader does not know {words}.", words=say(" or ").join(unknown[:3]))
        summary = say("The {count} words that it knows", count=len(WORDS))
        raise UnreadableError(sentences(said, otherwise), summary, known_words())
    return words, encode(text)[1]


def _tokens(text: str) -> tuple[str, ...]:
    return read_known(text)[0]


CONTROLS = (
    Buttons(
        "show",
        say("show"),
        ROW,
        say("Where the adjective looks, or the arithmetic of one of its weights"),
        options=(ROW, NUMBER),
    ),
    Steps("batches", say("batches"), 45, say("How long it has learned"), options=BATCHES, play=400),
    TextField(
        "text",
        say("sentence"),
        SENTENCE,
        say("Type a sentence of its 38 words, with one adjective and a noun that it fits"),
    ),
    Buttons(
        "column",
        say("about"),
        4,
        say("Whose key the adjective's query meets"),
        lambda show: show == NUMBER,
        options=options_of(_tokens, token_options),
        presented=False,
    ),
    clicked_query_and_key(_tokens)[0],
)


class PronounsState(NamedTuple):
    """What the reader makes of a sentence."""

    tokens: tuple[str, ...]  # as they were typed
    answer: Answer
    queries: torch.Tensor  # (T, 3)
    keys: torch.Tensor  # (T, 3)
    values: torch.Tensor  # (T, 3)
    weights: torch.Tensor  # (T, T)
    probabilities: torch.Tensor  # (3,), of the pronouns

    @property
    def row(self) -> torch.Tensor:
        """The weights of the adjective, (T,)."""
        return self.weights[self.answer.adjective]


@as_torch_starts()
def pronouns_state(*, batches: int, text: str) -> PronounsState:
    """Let a reader that has learned for so many batches read a sentence."""
    tokens, x = read_known(text)
    answer = find_answer(encode(text)[0])
    reader = trained_reader().states[batches]
    return PronounsState(
        tokens,
        answer,
        reader.W_query(x),
        reader.W_key(x),
        reader.W_value(x),
        reader.attention_weights(x),
        torch.softmax(reader(x)[answer.adjective], dim=-1),
    )


def pronouns_panels(
    state: PronounsState, *, show: str, batches: int, column: int, query: int | None
) -> list[Panel]:
    """Return where every word looks, which pronoun is likely, and how the loss has fallen; or the
    path of one number in place of the loss."""
    tokens, adjective = state.tokens, state.answer.adjective
    row = adjective if query is None or show == ROW else query
    lines = Lines(say("attention weights"), state.weights, tokens, marked_row=row, click=CLICK)
    named_row = say("what “it” is, by the row of “{token}”", token=tokens[adjective])
    says = Bars(named_row, PRONOUNS, state.probabilities, decimals=2, beside=True)
    note = Note(_note(batches, state, row))
    if show == NUMBER:
        column = min(column, len(tokens) - 1)
        path = NumberPath(tokens, row, column, state.queries, state.keys, state.values)
        return [note, lines, path, says]
    losses = torch.tensor(trained_reader().losses).view(-1, SMOOTH).mean(dim=1)
    return [
        note,
        lines,
        Bars(
            say("where “{token}” looks", token=tokens[adjective]),
            [f"{i} {token}" for i, token in enumerate(tokens)],
            state.row,
            decimals=2,
            side="key",
            click={"k": "column", "show": NUMBER, "query": adjective},
        ),
        Curves(
            say("loss, by batches"),
            say("batches"),
            say("loss"),
            torch.arange(len(losses)) * SMOOTH + SMOOTH / 2,
            {say("mean of {batches} batches", batches=SMOOTH): losses},
            mark=batches,
        ),
        says,
    ]


def _note(batches: int, state: PronounsState, row: int) -> str:
    """Return what the token of a row looks at; of the adjective, what that says, too."""
    tokens, answer, weights = state.tokens, state.answer, state.weights[row]
    if weights.max() - weights.min() < 0.08:
        looking = say("“{token}” looks at everything nearly alike", token=tokens[row])
    else:
        looking = looks(tokens[row], weights, tokens)
    if row != answer.adjective:
        said = say("After {batches} batches {looks}.", batches=batches, looks=looking)
        asked = say(
            "Only the row of “{token}” is trained and gives the pronoun.",
            token=tokens[answer.adjective],
        )
        return sentences(said, asked)
    pronoun = PRONOUNS[int(state.probabilities.argmax())]
    verdict = to_say(
        "After {batches} batches {looks}, and says “{said}”; “{noun}” is meant, which is “{right}”."
    )
    if pronoun == answer.pronoun:
        verdict = to_say(
            "After {batches} batches {looks}, and says “{said}”, which is right: “{noun}” is meant."
        )
    noun, right = tokens[answer.noun], answer.pronoun
    return say(verdict, batches=batches, looks=looking, said=pronoun, noun=noun, right=right)


pronouns_explorer = explorer_function(
    "pronouns_explorer", say("learning to find a noun"), CONTROLS, pronouns_state, pronouns_panels
)
