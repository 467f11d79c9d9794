"""What figures and explorers are made of.

``described``  figures that carry their description in words
``cells``      how the cells of a matrix look
``labels``     tick labels in any script
``colours``    scales from number to colour, and axis names; needs NumPy alone
``arrays``     tensors and lists as NumPy arrays; needs NumPy alone
"""
