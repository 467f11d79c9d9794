"""Refusals of bad arguments: ``@checked`` for classes, ``checked_by`` for functions."""
