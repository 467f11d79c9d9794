"""Names in the package's docstrings lead to their entries: ``CausalAttention`` is one click away.

A notebook's page has its own class of that name in a cell, so nothing is linked there.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode


class LinkNames(SphinxPostTransform):
    """Link what stands in code and is the name of one class or function of the package.

    Attributes and methods are left out: ``num_heads`` and ``weight`` are mostly arguments of the
    entry in which they stand.
    """

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        if self.env.docname.startswith("notebooks/"):
            return
        domain, page = self.env.domains["py"], self.env.docname
        for literal in [*self.document.findall(nodes.literal)]:
            found = domain.find_obj(self.env, None, None, literal.astext(), None, 1)
            if len(found) != 1 or isinstance(literal.parent, nodes.reference):
                continue
            name, entry = found[0]
            if entry.objtype in ("class", "function"):
                place = entry.docname, entry.node_id
                link = make_refnode(self.app.builder, page, *place, literal.deepcopy(), name)
                literal.replace_self(link)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
