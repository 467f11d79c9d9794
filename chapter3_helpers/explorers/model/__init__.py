"""The explorer of any model's attention weights.

==============  =====================================================================
file            what it holds
==============  =====================================================================
``explorer``    ``model_explorer``: its controls and what it draws
``reading``     what is taken for weights, and what is refused, with what to do
``measures``    what each head does, as numbers
``montage``     all heads as one picture, and one head as a large one
==============  =====================================================================
"""

from chapter3_helpers.explorers.model.explorer import model_explorer

__all__ = ["model_explorer"]
