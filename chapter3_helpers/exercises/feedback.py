"""What a reader sees of a verdict: a box with a colour and a word, or the words alone."""

import html
import re
from dataclasses import dataclass

# The word says what the colour says; the sign stands where neither is seen.
BOXES = {
    "correct": ("✓", "Correct", "46, 160, 67"),
    "not yet": ("✗", "Not yet", "219, 130, 0"),
    "not attempted yet": ("…", "Not attempted yet", "128, 128, 128"),
}


@dataclass(frozen=True)
class Feedback:
    """A verdict on one exercise, as a box in a notebook and as text in a terminal.

    >>> Feedback("01a", "not yet. This adds; a dot product multiplies before it adds.")
    Exercise 01a: not yet. This adds; a dot product multiplies before it adds.
    """

    name: str
    verdict: str

    def __repr__(self) -> str:
        return f"Exercise {self.name}: {self.verdict}"

    def _repr_html_(self) -> str:
        kind, _, words = self.verdict.partition(".")
        sign, title, colour = BOXES[kind]
        text = re.sub("`(.+?)`", r"<code>\1</code>", html.escape(words.strip()))
        # long numbers scroll, so that the verdict stays in sight
        seen = "white-space: pre-wrap; max-height: 32em; overflow: auto"
        return (
            f'<div style="border-left: 8px solid rgb({colour}); background: rgba({colour}, 0.14); '
            f'padding: 8px 14px; font-size: 16px; line-height: 1.5">'
            f"<strong>{sign} Exercise {html.escape(self.name)}: {title}</strong>"
            + (f'<div style="{seen}">{text}</div>' if text else "")
            + "</div>"
        )
