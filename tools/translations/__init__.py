"""The series in other languages, kept in step with the English: see *Translating* in CONTRIBUTING.

``blocks`` are what a translator sees of a page, ``catalogues`` hold them, ``sources`` says which
there are, ``checks`` compares a block with its translation, ``notebooks`` writes what is read,
and ``program`` the words of verdicts, explorers and figures.
"""
