"""What figures, diagrams and explorers are made of; all but the first two need NumPy alone.

``described``  figures that carry their description in words
``labels``     tick labels in any script
``arrays``     tensors and lists as NumPy arrays
``writing``    numbers and names as text, and which of many are shown
``said``       words that are drawn, in the reader's language if a font has its letters
``colours``    scales from number to colour, and axis names
"""
