"""What figures, diagrams and explorers are made of; all but the first two need NumPy alone.

``described``  figures that carry their description in words
``labels``     tick labels in any script
``arrays``     tensors and lists as NumPy arrays
``writing``    numbers and names as text, and which of many are shown
``colours``    scales from number to colour, and axis names
"""
