"""The big explorer: every mechanism of the chapter, on one sentence.

==================  ===============================================================================
file                what it holds
==================  ===============================================================================
``explorer``        ``attention_explorer``: its controls and what it draws
``states``          what it computes, a function for each kind of mechanism
``mechanisms``      which class each mechanism is, and which mechanism a reader's class is
``handmade_heads``  weights that can be judged by eye
``flow``            the diagram from x to the context vectors, and what is said of a clicked strip
==================  ===============================================================================
"""

from chapter3_helpers.explorers.attention.explorer import attention_explorer

__all__ = ["attention_explorer"]
