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

Find your symptom and try its causes from the top. A line of code that is true means that the cause
above it is there; where no line can tell, words say where to look. Numbers link to the sections
that show it. Names are those of [the one page](one_page.ipynb#Shapes); `ids` are one batch as it
goes into the model. A layer has `weights` (B, H, T, S) in `eval()`; a fused function returns them
if its values are `torch.eye(S)`. First run:

```python
import torch
from torch.nn.functional import scaled_dot_product_attention as attention


def run(ids):  # (B, T) to logits (B, T, V)
    return model(ids)  # or its .logits, or [0] of a pair


def earlier(ids):  # the last place but one, in training, always with the same dropout
    was = model.training
    model.train()
    torch.manual_seed(0)
    logits = run(ids)[:, -2]
    model.train(was)
    return logits


def rounding(a, b):  # in float32 they differ, but as little as by rounding
    return 0 < (a - b).abs().max() < 1e-5 * a.abs().max()


(B, T), V = ids.shape, run(ids).shape[-1]
changed = ids.clone()
changed[:, -1] = (ids[:, -1] + 1) % V  # another last token
```
"""


def symptoms() -> list[dict[str, Any]]:
    """Return the symptoms with their causes, in the order of the page."""
    return json.loads(DATA.read_text("utf-8"))["symptoms"]


def entry(cause: dict[str, Any], say: Callable[[str], str]) -> str:
    """Return the cause, the notebook that shows it, and below them the line or words that tell."""
    notebook, heading = cause["shown"]["notebook"], cause["shown"]["heading"]
    if heading not in sections(notebook):
        raise ValueError(f"{notebook} has no heading {heading!r}")
    shown = link(notebook[:2], notebook, heading)
    tells = f"`{cause['line']}`" if "line" in cause else say(cause["look"])
    return f"- {say(cause['cause'])} {shown}\\\n  {tells}"


def page(say: Callable[[str], str] = str) -> str:
    """Return the page, a list of causes for each symptom.

    ``say`` gives a text in another language.
    """
    text = [replace(INTRODUCTION, say)]
    for symptom in symptoms():
        note = f"{say(symptom['note'])}\n\n" if symptom["note"] else ""
        causes = "\n".join(entry(cause, say) for cause in symptom["causes"])
        text.append(f"## {say(symptom['symptom'])}\n\n{note}{causes}".rstrip() + "\n")
    return "\n".join(text)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
