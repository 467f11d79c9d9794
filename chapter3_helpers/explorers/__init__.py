"""Explorers: move a slider and see attention follow.

==================  ==================================================================
file                what it holds
==================  ==================================================================
``panels``          what can be shown (matrices, heads, bars, curves), as HTML and SVG
``style``           colours and CSS
``widget``          ``Explorer``: controls on top, panels below; the only ipywidgets here
``inputs``          the sentence, the seed and the picked row that many start from
``attention``       ``attention_explorer``: every mechanism of the chapter, side by side
``mask_constants``  a second explorer of ``09_transformer_block``
the other files     one focused explorer a notebook, in the file of that notebook's topic
==================  ==================================================================

Every explorer is a function of that name plus ``_explorer``, and is imported from here; it loads
nothing but what it needs. What an explorer shows is a plain function of its settings, which is
what the tests and the "Python" button rely on.
"""

import importlib
from typing import Any

TOPICS = (
    "attention",
    "recurrent",
    "dot_products",
    "softmax",
    "trainable_qkv",
    "masking",
    "dropout",
    "multihead_wrapper",
    "fused_multihead",
    "positions",
    "mask_constants",
    "transformer_block",
    "handmade_transformer",
    "grouped_query",
    "performance",
    "tensor_parallel",
)
__all__ = [f"{topic}_explorer" for topic in TOPICS]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    topic = name.removesuffix("_explorer")
    return getattr(importlib.import_module(f"{__name__}.{topic}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
