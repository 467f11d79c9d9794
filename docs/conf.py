"""How the book is built: from stored notebooks, which are not run, with nothing from elsewhere."""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS / "extensions"), str(DOCS.parent)]

from translation import LANGUAGE, speak  # noqa: E402

project = "Attention, built one cell at a time"
author = "the authors of chapter3_helpers"
language = LANGUAGE or "en"  # of the theme's own words
html_search_language = "en"  # search.js splits what is Chinese itself
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "translation",
    "pages",
    "folds",
    "dark",
    "moved",
    "names",
    "formulas",
    "terms",
    "first_page",
    "passages",
]
exclude_patterns = ["_build", "extensions"]
html_theme = "sphinx_book_theme"
html_title = speak("book")(project)
RECORDINGS = DOCS / "_build" / "recordings"  # pages writes them, once Sphinx has looked for it
RECORDINGS.mkdir(parents=True, exist_ok=True)
html_static_path = ["_static", "_build/recordings"]
html_css_files = ["explorers.css", "book.css", "one_page.css"]
html_js_files = ["hands.js", "book.js"]
html_math_renderer = "local_mathml"
html_copy_source = False
html_show_search_summary = False  # it would be fetched, which a page from a file may not
html_context = {"default_mode": "auto"}
html_theme_options = {
    "navbar_persistent": [],
    "show_toc_level": 2,
    "use_fullscreen_button": False,
    "use_download_button": False,
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

nb_execution_mode = "off"  # what is shown is what is stored
nb_ipywidgets_js = {}  # no widget comes from another site: recordings take their place
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
