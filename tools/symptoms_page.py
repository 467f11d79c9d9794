"""The page of symptoms, ``notebooks/when_it_does_not_work.md``, made from ``docs/symptoms.json``.

``make questions`` writes it, together with the page of questions.
"""

import json
from collections.abc import Callable
from typing import Any

from tools.notebook_files import NOTEBOOKS
from tools.questions_page import link, sections
from tools.translations.blocks import replace

DATA = NOTEBOOKS.parent / "docs" / "symptoms.json"
PAGE = NOTEBOOKS / "when_it_does_not_work.md"
INTRODUCTION = """# When it does not work

[map](00_why_attention.ipynb#The-map-of-the-series) · [questions](questions.md)

Find your symptom and try its lines from the top. Each line is true if its cause is there. The link
leads to the section that shows it. Names are those of [the one page](one_page.ipynb#Shapes): `ids`
(B, T) go in, `logits` (B, T, V) come out, and one layer has `weights` (B, H, T, T). `changed` is
`ids` with another last token.
"""


def symptoms() -> list[dict[str, Any]]:
    """Return the symptoms with their causes, in the order of the page."""
    return json.loads(DATA.read_text("utf-8"))["symptoms"]


def entry(cause: dict[str, Any], say: Callable[[str], str]) -> str:
    """Return a row: the cause, the line that tells it, and the notebook that shows it."""
    notebook, heading = cause["shown"]["notebook"], cause["shown"]["heading"]
    if heading not in sections(notebook):
        raise ValueError(f"{notebook} has no heading {heading!r}")
    shown = link(notebook[:2], notebook, heading)
    return f"| {say(cause['cause'])} | `{cause['line']}` | {shown} |"


def page(say: Callable[[str], str] = str) -> str:
    """Return the page, a table for each symptom.

    ``say`` gives a text in another language.
    """
    text = [replace(INTRODUCTION, say)]
    names = " | ".join(say(name) for name in ("cause", "true if so", "shown in"))
    for symptom in symptoms():
        note = f"{say(symptom['note'])}\n\n" if symptom["note"] else ""
        table = "\n".join(entry(cause, say) for cause in symptom["causes"])
        head = f"| {names} |\n|---|---|---|"
        text.append(f"## {say(symptom['symptom'])}\n\n{note}{head}\n{table}\n")
    return "\n".join(text)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
