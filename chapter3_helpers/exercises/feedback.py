"""What a reader sees of a verdict: a box with a colour and a word, or only the words."""

import enum
import html
import re
from dataclasses import dataclass

from chapter3_helpers._language import say, sentences, to_say


class Outcome(enum.Enum):
    """How an attempt went, and the sign and the colour of its box."""

    CORRECT = (to_say("correct"), "✓", "46, 160, 67")
    NOT_YET = (to_say("not yet"), "✗", "219, 130, 0")
    NOT_ATTEMPTED = (to_say("not attempted yet"), "…", "128, 128, 128")


@dataclass(frozen=True)
class Verdict:
    """A verdict on one exercise, as a box in a notebook and as text in a terminal.

    >>> Verdict("01a", Outcome.NOT_YET, "This adds; a dot product multiplies before it adds.")
    Exercise 01a: not yet. This adds; a dot product multiplies before it adds.
    """

    exercise: str
    outcome: Outcome
    words: str = ""

    def __repr__(self) -> str:
        went = say("Exercise {name}: {went}.", name=self.exercise, went=say(self.outcome.value[0]))
        return sentences(went, self.words)

    def _repr_html_(self) -> str:
        went, sign, colour = self.outcome.value
        title = say("Exercise {name}: {went}", name=self.exercise, went=say(went).capitalize())
        text = re.sub("`(.+?)`", r"<code>\1</code>", html.escape(self.words))
        # long numbers scroll, so that the verdict stays in sight
        seen = "white-space: pre-wrap; max-height: 32em; overflow: auto"
        return (
            f'<div style="border-left: 8px solid rgb({colour}); background: rgba({colour}, 0.14); '
            f'padding: 8px 14px; font-size: 16px; line-height: 1.5">'
            f"<strong>{sign} {html.escape(title)}</strong>"
            + (f'<div style="{seen}">{text}</div>' if text else "")
            + "</div>"
        )
