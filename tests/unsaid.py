"""Explorers in a language that puts every message between ⟦ and ⟧: what is outside was forgotten.

``python -m tests.unsaid`` reads the messages from its input, as JSON, and writes for each explorer
the words that it found outside, with the first text that each stood in. It is a program of its own,
since constants say what they say when they are imported.
"""

import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from chapter3_helpers import _language

PLACE = re.compile(r"(\{[^{}]*\})")
WORD = re.compile(r"[A-Za-z][A-Za-z_]*[A-Za-z]")  # a name of code is one
SAID = ("title", "aria-label", "aria-valuetext", "alt", "data-hint", "data-hidden")
END = "\x1f"  # between texts
CODE = ("style", "code")  # not read as words
MOST = 4  # values of a control that are all tried
TEXTS = ("", "zz", "a-b é 我", "a b c d e f g h " * 9)  # for a reader's text, beside its own


class Brackets:
    """A catalogue that shows which words are messages, and which only stand in their places."""

    def __init__(self, messages: list[str]):
        self.messages = {*messages}

    def gettext(self, text: str) -> str:
        if text not in self.messages:
            return text
        pieces = PLACE.split(text)
        return "".join(f"⟦{p}⟧" if WORD.search(p) and p[0] != "{" else p for p in pieces)


class Words(HTMLParser):
    """The texts of some HTML: what stands between its tags, and in attributes that are read."""

    def __init__(self, shown: str):
        super().__init__()
        self.found, self.inside = [], [""]
        self.feed(shown)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.found += [value or "" for name, value in attributes if name in SAID]
        if tag in CODE:
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == self.inside[-1]:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if self.inside[-1] not in CODE:
            self.found.append(data)


def outside(text: str) -> list[str]:
    """Return the words that stand outside brackets; of what is cut off, a bracket may be missing.

    >>> outside("⟦looks at ⟧the⟦ most⟧ now"), outside("⟦attention wei…")
    (['the', 'now'], [])
    """
    text = re.sub(f"⟦[^⟦⟧{END}]*…(?={END}|$)", " ", text)
    return WORD.findall(re.sub("⟦[^⟦⟧]*⟧", " ", text))


def texts(explorer: Any) -> Iterator[str]:
    """Yield all that a page shows of an explorer now."""
    for shown in (explorer.view.value, explorer.said.value, explorer.pictures):
        yield END.join(Words(shown).found)  # a message may stand on two lines of a drawing


def labels(explorer: Any) -> Iterator[str]:
    """Yield what stands on controls and buttons, and what they say when pointed at."""
    from chapter3_helpers.explorers.core.controls import Clicked

    unseen = [explorer.widgets[c.name] for c in explorer.controls if isinstance(c, Clicked)]
    yield repr(explorer)
    for part in explorer._parts():
        if part in unseen:
            continue
        for trait in ("description", "tooltip", "name"):
            yield getattr(part, trait, None) or ""
        yield from getattr(part, "_options_labels", ())
        yield from getattr(part, "player", {}).values()


def steps(explorer: Any) -> Iterator[dict[str, Any]]:
    """Yield settings to try: both ends and the middle of every control, each on its own."""
    from chapter3_helpers.explorers.core.controls import TextField

    start = explorer.settings
    for control in explorer.controls:
        values = [value for _, value in control.choices(start)]
        if isinstance(control, TextField):
            values = [f"{start[control.name]} {start[control.name]}", *TEXTS]
        elif len(values) > MOST:
            values = values[:: (len(values) - 1) // 2]
        yield from ({control.name: value} for value in values)


def walk(explorer: Any) -> Iterator[str]:
    """Move an explorer a few steps and yield all that it says."""
    yield from labels(explorer)
    yield from texts(explorer)
    for moved in steps(explorer):
        for name, value in moved.items():
            explorer.widgets[name].value = value
        yield from texts(explorer)
        explorer.reset()
    explorer.present_button.value = True
    yield explorer.present_button.description
    yield from texts(explorer)


def explorers_to_walk() -> Iterator[tuple[str, Any]]:
    """Yield topics with explorers; models that these train are kept, as in all tests."""
    import torch

    from chapter3_helpers import explorers
    from chapter3_helpers.causal_attention import CausalAttention
    from tests.gguf_files import byte_tokenizer, random_llama

    for name in explorers.__all__:
        if name != "model_explorer":
            yield name.removesuffix("_explorer"), getattr(explorers, name)()
    yield "attention", explorers.attention_explorer(CausalAttention)
    weights = torch.rand(3, 2, 40, 40, generator=torch.manual_seed(0)).tril()
    weights /= weights.sum(-1, keepdim=True)
    yield "model", explorers.model_explorer(weights, [f"t{n % 7}" for n in range(40)])
    few = weights[..., :6, :6] / weights[..., :6, :6].sum(-1, keepdim=True)
    for mask in (None, [0, 1, 1, 1, 1, 1]):
        yield "model", explorers.model_explorer(few, [*"abcdea"], attention_mask=mask)
    model = random_llama(vocab_size=256, context_length=7)  # it writes one letter
    yield "model", explorers.model_explorer(model, "a b, a", tokenizer=byte_tokenizer(), off="0.2")


if __name__ == "__main__":
    _language._CATALOGUE = Brackets(json.load(sys.stdin))
    unsaid: dict[str, dict[str, str]] = {}
    for topic, explorer in explorers_to_walk():
        for text in walk(explorer):
            for word in outside(text):
                unsaid.setdefault(topic, {}).setdefault(word, text)
    print(json.dumps(unsaid))
