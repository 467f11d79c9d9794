"""The toy languages that models learn in the notebooks, and their training.

``training``    the training loop, models that are trained once and kept, tables of reports
``translators`` words to be translated backwards, for ``00_why_attention``
``pronouns``    an adjective in search of its noun, for ``03_trainable_qkv`` and later
``leaky_mask``  next words under a mask that hides too little, for ``04_masking``
``riddles``     a name to learn by heart and two clues, for ``05_dropout``
``who_whom``    two look-ups for one head or two, for ``06_multihead_wrapper`` and later
``last_holder`` who took it last, by any way to mark positions, for ``08_positions``
``next_word``   the next word of a text, for ``09_transformer_block`` and later
``phrases``     a phrase that is repeated, for ``10_induction_heads``

Each task has a ``train`` function, which draws batches and hands their loss to ``minimise``; its
``options`` and its result are those of ``minimise``.
"""
