"""The book's first page: the reader of notebook 03 moves there, and the project can be fetched."""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from translation import speak

from tools.front_door import reader_script, write_archive


def write_files(app: Sphinx) -> None:
    """Write the reader's weights beside the recordings, and the project as a zip file."""
    folder = Path(app.srcdir) / "_build"
    (folder / "recordings" / "front_door_reader.js").write_text(
        reader_script(speak("book")), "utf-8"
    )
    write_archive(folder / "attention.zip")


def add_scripts(app: Sphinx, pagename: str, *_: Any) -> None:
    """Load script and style on the first page alone."""
    if pagename == "index":
        app.add_css_file("front_door.css")
        for name in ("front_door_reader.js", "front_door.js"):
            app.add_js_file(name, loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_files)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
