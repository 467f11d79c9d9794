"""What figures and explorers are made of.

``described``  figures that carry their description in words
``labels``     tick labels in any script
``colours``    colour maps and axis names; needs no matplotlib
``arrays``     tensors and lists as NumPy arrays; needs no torch
"""
