"""Diagrams: how a result comes about, drawn from the arrays that are there.

A heatmap shows a result; a diagram shows the way to it. It is data: blocks that stand on a grid,
arrows with what happens on them, brackets around what belongs together. On the last line of a cell
it is a picture with its words; in an explorer the same data is drawn live, by the panel ``Flow`` of
``explorers.core.drawings``.

>>> import numpy as np
>>> x, W_query = np.array([[1.0, 0.0], [0.5, 2.0], [0.0, 1.0]]), np.array([[2.0], [-1.0]])
>>> diagram = Diagram(
...     "A query per token",
...     blocks=[
...         Block("x", (0, 0), x, rows=["a", "b", "c"]),
...         Block("queries", (1, 0), x @ W_query, kind="query", marked_row=2),
...     ],
...     arrows=[Arrow("x", "queries", "@ W_query")],
... )
>>> print(diagram.description)
Diagram: A query per token.
x (3, 2) -> @ W_query -> queries (3, 1)
x (3, 2):
a 1.0000 0.0000
b 0.5000 2.0000
c 0.0000 1.0000
queries (3, 1), row 2 marked:
2
-1
-1

How to write one for a topic:

- One file a topic, named as its notebook, which imports from ``diagrams.core``; its functions are
  imported here. A function takes arrays or tensors, and their labels, and returns a ``Diagram``; it
  computes nothing that a lesson teaches, and knows no module and no torch.
- A block stands at (column, row). A picture is at most ``layout.WIDEST`` pixels wide, or else it
  would be shown smaller: some five columns. What is longer goes on below.
- An arrow goes straight, or turns once between the columns, or as ``via`` says. One that would have
  to cross a block is refused. Several sources may share one, as in
  ``Arrow(("queries", "keys"), "scores", "@ keys.T")``; it may end at a bracket, named by its text.
- Arrows call a block by its name, which is there once, or by a ``key`` where a title comes from
  outside. ``caption`` is what the reader sees. Of heads in rows below each other the first alone
  has captions, the others ``""``.
- Names and words on arrows are those of the notebooks: ``queries``, ``@ W_query``, ``softmax``.
- Words that are no names of code are said in the reader's language, by ``say_drawn``: ``sum of
  the rows``, titles, brackets. With every translation all has to stay narrow enough.
- The colours of queries, keys and values stay theirs; positive numbers have that colour, negative
  ones are grey. ``limit`` gives two blocks one scale, so that dividing looks paler.
- ``Block`` and ``Diagram`` refuse what does not fit; a topic's function checks nothing again.
- Add it to the table of ``tests/diagrams/test_builders.py`` in several sizes, and look at it.
"""

from chapter3_helpers.diagrams.attention import attention_diagram
from chapter3_helpers.diagrams.core import Arrow, Block, Bracket, Diagram, Plane
from chapter3_helpers.diagrams.dot_products import (
    one_query_diagram,
    product_diagram,
    shadow_diagram,
)
from chapter3_helpers.diagrams.fused_multihead import out_proj_diagram, split_diagram
from chapter3_helpers.diagrams.grouped_query import cache_diagram, sharing_diagram
from chapter3_helpers.diagrams.handmade_transformer import last_row_diagram
from chapter3_helpers.diagrams.induction_heads import induction_diagram
from chapter3_helpers.diagrams.map import attention_map
from chapter3_helpers.diagrams.multihead_wrapper import heads_diagram, rows_diagram
from chapter3_helpers.diagrams.performance import tiles_diagram
from chapter3_helpers.diagrams.positions import clocks_diagram, rotary_diagram
from chapter3_helpers.diagrams.recurrent import encoder_decoder_diagram, look_back_diagram
from chapter3_helpers.diagrams.tensor_parallel import cut_diagram, processes_diagram, ring_diagram
from chapter3_helpers.diagrams.trainable_qkv import roles_diagram
from chapter3_helpers.diagrams.transformer_block import lane_diagram

__all__ = [
    "Arrow",
    "Block",
    "Bracket",
    "Diagram",
    "Plane",
    "attention_diagram",
    "attention_map",
    "cache_diagram",
    "clocks_diagram",
    "cut_diagram",
    "encoder_decoder_diagram",
    "heads_diagram",
    "induction_diagram",
    "lane_diagram",
    "last_row_diagram",
    "look_back_diagram",
    "one_query_diagram",
    "out_proj_diagram",
    "processes_diagram",
    "product_diagram",
    "ring_diagram",
    "roles_diagram",
    "rotary_diagram",
    "rows_diagram",
    "shadow_diagram",
    "sharing_diagram",
    "split_diagram",
    "tiles_diagram",
]
