"""Attention mechanisms written out to be read: the companion of the notebooks.

Every notebook has a module of the same name; importing the package itself costs nothing.
"""
