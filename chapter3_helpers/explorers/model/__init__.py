"""The explorer of any model's attention weights.

==============  =====================================================================
file            what it holds
==============  =====================================================================
``explorer``    ``model_explorer`` and its controls
``state``       a window of the weights, drawn and measured, and one head
``panels``      what is drawn of it
``reading``     what is taken for weights, and what is refused, with what to do
``padding``     which tokens are text, and which are padding
``tokens``      tokens as a reader knows them
``measures``    what each head does, as numbers
``montage``     all heads as one picture, and one head as a large one
``pixels``      weights as pixels
``ranking``     the heads in the order of a measure
``text``        a long text in the colours of a row
``cutting``     a model some of whose heads are off
``written``     what it then writes, and its loss
==============  =====================================================================
"""

from chapter3_helpers.explorers.model.explorer import model_explorer

__all__ = ["model_explorer"]
