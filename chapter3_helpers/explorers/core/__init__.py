"""What explorers are made of; the files beside this folder use it.

===============  ==================================================================
file             what it holds
===============  ==================================================================
``widget``       ``Explorer``: controls on top, where they stay, panels below
``controls``     what can be moved: sliders, buttons, small pictures, a seed, a text
``inputs``       the sentence, the seed and the clicked weight that many start from
``panels``       what can be shown: matrices, heads, bars, facts, as HTML tables
``drawings``     more of it: curves and diagrams, as SVG
``lines``        weights as lines from queries to keys
``number_path``  the arithmetic of one weight
``notebook``     which explorers its cells show, and when they are closed
``marks``        what a picture says to the script: the names after ``data-``
``style``        how they look: colours, ``explorers.css``, decimals, escaped texts
===============  ==================================================================

``hands.js`` says what a picture answers to clicks and keys.
"""
