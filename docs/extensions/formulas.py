"""Formulas as MathML, which browsers draw themselves: no script, no font, no picture."""

import html
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

log = logging.getLogger(__name__)


def mathml(node: nodes.math | nodes.math_block) -> str:
    """Translate a formula; one that can't be translated is a warning, which stops the build."""
    try:
        # the one command of the notebooks that docutils knows by another name
        text = node.astext().replace(r"\dots", r"\ldots")
        return tex2mathml(text, as_block=isinstance(node, nodes.math_block))
    except MathError as error:
        log.warning("no MathML for %r: %s", node.astext(), error)
        return f"<code>{html.escape(node.astext())}</code>"


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(mathml(node))
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(f'<div class="formula">{mathml(node)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("local_mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
