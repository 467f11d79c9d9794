"""What is learned in the notebooks, and how.

``toy_language``  words to be translated backwards, for ``00_why_attention``
``next_word``     the next word of a text, for ``09_transformer_block``
``loop``          the training loop, with its progress bar
"""
