"""Refusals of bad arguments, ``numbers`` (no torch needed) and ``tensors``; ``modules``."""
