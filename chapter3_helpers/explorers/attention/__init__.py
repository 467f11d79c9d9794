"""The big explorer: every mechanism of the chapter, on one sentence."""

from chapter3_helpers.explorers.attention.explorer import attention_explorer

__all__ = ["attention_explorer"]
