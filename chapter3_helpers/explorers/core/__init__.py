"""What explorers are made of; the files beside this folder use it.

===================  ==================================================================
file                 what it holds
===================  ==================================================================
``widget``           ``Explorer``: controls on top, where they stay, panels below
``controls``         what can be moved: sliders, buttons, small pictures, a seed, a text
``panels``           what can be shown: matrices, heads, bars, facts, as HTML tables
``drawings``         more of it: curves and arrows, as SVG
``lines``            weights as lines from queries to keys
``number_path``      the arithmetic of one weight
``hands``            the widget that hears clicks on the picture, by ``hands.js``
``strips``           what a strip of the live diagram is, and the code that made it
``writing``          decimals, gaps and escaped texts
``style``            colours, and the rules of ``explorers.css``
``pixels``           small heads as pictures
``source``           what the Python button shows: the source behind the picture
``inputs``           the sentence, the seed and the picked row that many start from
``mechanisms``       the module of each mechanism that ``attention_explorer`` shows, a reader's too
``attention_state``  all that it computes
``handmade_heads``   weights for it that can be judged by eye
===================  ==================================================================
"""
