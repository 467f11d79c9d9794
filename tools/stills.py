"""Still pictures of explorers, for whoever sees a notebook that has not been run.

A widget is not stored with a notebook; in its place stands a picture of its first state, taken in
Chromium. Where nothing has changed, or there is no Chromium, the stored picture stays.
"""

import base64
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import nbformat
from playwright.sync_api import Page

from chapter3_helpers.explorers.core.controls import Buttons
from chapter3_helpers.explorers.core.panels import escape
from chapter3_helpers.explorers.core.style import STYLE
from chapter3_helpers.explorers.core.widget import Explorer
from tools.lab import browse, find_chromium
from tools.notebook_files import explorer_calls

WIDTH = 900


@contextmanager
def photographer() -> Iterator[Page | None]:
    """Open an empty page, or yield None where there is no Chromium."""
    if find_chromium() is None:
        yield None
        return
    with browse() as browser:
        yield browser.new_page(viewport={"width": WIDTH, "height": 600}, color_scheme="light")


def add_stills(
    notebook: nbformat.NotebookNode, before: nbformat.NotebookNode, page: Page | None
) -> None:
    """Put a picture beside the words that stand for each explorer of a notebook."""
    calls = explorer_calls(notebook)
    for cell, old, call in zip(notebook.cells, before.cells, calls, strict=True):
        if call is None:
            continue
        content, words = first_state(call.build())
        state = hashlib.sha256(content.encode()).hexdigest()[:16]
        output = next(o for o in cell.outputs if "text/plain" in o.get("data", {}))
        stored = next((o for o in old.outputs if "image/png" in o.get("data", {})), None)
        if stored and (page is None or stored.metadata.get("image/png", {}).get("state") == state):
            output.data["image/png"] = stored.data["image/png"]
            output.metadata = stored.metadata
        elif page is not None:
            page.set_content(content)
            picture = page.locator(".c3-explorer").screenshot()
            output.data["image/png"] = base64.b64encode(picture).decode()
            output.metadata = nbformat.from_dict({"image/png": {"alt": words, "state": state}})


def first_state(explorer: Explorer) -> tuple[str, str]:
    """Return an explorer's first state as a page, and what it is in words."""
    words = f"{explorer!r} It begins with " + ", ".join(
        f"{control.label} {explorer.settings[control.name]}"
        for control in explorer.controls
        if control.is_shown(explorer.settings)
    )
    page = (
        f'{STYLE}<body style="margin:0;background:#fff;font:14px sans-serif">'
        f'<div class="c3-explorer" style="padding:8px"><em>{escape(repr(explorer))}</em>'
        f"{small_pictures(explorer)}{explorer.view.value}</div>"
    )
    return page, words


def small_pictures(explorer: Explorer) -> str:
    """Return the pictures to choose from, with their names, as they stand under their buttons."""
    for control in explorer.controls:
        if control.stands == "on a picture" and control.is_shown(explorer.settings):
            widget = explorer.widgets[control.name]
            names = widget._options_labels if isinstance(control, Buttons) else []
            buttons = "".join(
                f"<label><input type=radio{' checked' * (i == widget.index)}>{escape(name)}</label>"
                for i, name in enumerate(names)
            )
            box = f'<div class="c3-buttons"><div class="widget-radio-box">{buttons}</div></div>'
            return f'<div class="c3-{control.kind}">{explorer.pictures}{box * bool(names)}</div>'
    return ""
