"""The explorer of any model's attention weights, or of a model some of whose heads are off."""

from chapter3_helpers.explorers.model.explorer import model_explorer

__all__ = ["model_explorer"]
