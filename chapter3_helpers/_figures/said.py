"""Words that are drawn, in the reader's language if a font has its letters."""

from typing import Any

from chapter3_helpers._language import say


def say_drawn(text: str, /, **parts: Any) -> str:
    """Return a text to be drawn, as ``say`` does: in English where no installed font has what the
    reader's language needs."""
    said = say(text)
    if said != text:
        from chapter3_helpers._figures.labels import font_families  # here: it needs matplotlib

        said = text if font_families(said) is None else said
    return said.format(**parts) if parts else said
