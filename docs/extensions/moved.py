"""Pages and sections that have moved: an old address leads to the new one.

One notebook came in behind 09, so the later ones have other numbers than before. Sections that were
merged or moved stand in ``docs/moved_sections.json``: notebook and heading, before and after.
"""

import json
from pathlib import Path
from typing import Any

from pages import slug
from sphinx.application import Sphinx

PAGES = {
    "10_handmade_transformer": "11_handmade_transformer",
    "11_grouped_query_kv_cache": "12_grouped_query_kv_cache",
    "12_performance": "13_performance",
    "13_tensor_parallel": "14_tensor_parallel",
}
SECTIONS = json.loads(Path(__file__).parents[1].joinpath("moved_sections.json").read_text("utf-8"))
OLD_PAGE = """<!DOCTYPE html>
<title>Moved</title>
<script>location.replace("{new}.html" + location.hash);</script>
<p>This page is now <a href="{new}.html">{new}</a>.</p>
"""


def lead_on(app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any) -> None:
    """Let a page send whoever asks for a section that has moved to where it is."""
    moved = {
        slug(old): f"{now}.html#{slug(new)}"
        for notebook, old, now, new in SECTIONS
        if page == f"notebooks/{notebook}"
    }
    if moved:
        app.add_js_file(
            None,
            body=f"const moved = {json.dumps(moved)}[location.hash.slice(1)]; "
            "if (moved) location.replace(moved);",
        )


def write_old_pages(app: Sphinx, error: Exception | None) -> None:
    for old, new in PAGES.items():
        Path(app.outdir, "notebooks", f"{old}.html").write_text(OLD_PAGE.format(new=new), "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", lead_on)
    app.connect("build-finished", write_old_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
