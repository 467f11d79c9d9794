"""How the cells of a matrix look in a figure: colours, numbers, and a hatch where hidden."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_hex
from matplotlib.patches import Rectangle

from chapter3_helpers._figures.arrays import farthest_from_zero
from chapter3_helpers._figures.colours import SIGNED_COLOURS, WEIGHT_COLOURS, ink

WEIGHT_MAP = LinearSegmentedColormap.from_list("weights", WEIGHT_COLOURS)
SIGNED_MAP = LinearSegmentedColormap.from_list("signed", SIGNED_COLOURS)


def colour_scale(values: np.ndarray, hide: np.ndarray, signed: bool) -> ScalarMappable:
    """Choose the colour scale: 0 to 1 for weights, symmetric around 0 for signed numbers.

    Weights after dropout reach beyond 1, and then the scale does.
    """
    limit = farthest_from_zero(values, hide)
    if not signed:
        return ScalarMappable(Normalize(0.0, max(1.0, limit)), WEIGHT_MAP)
    return ScalarMappable(Normalize(-limit, limit), SIGNED_MAP)


def hatch(ax: Axes, hide: np.ndarray) -> None:
    """Hatch the hidden cells, so that hidden never looks like a weight of zero."""
    for row, column in np.argwhere(hide):
        ax.add_patch(
            Rectangle(
                (column, row), 1, 1, facecolor="0.92", edgecolor="0.7", hatch="////", linewidth=0
            )
        )


def write_numbers(ax: Axes, matrix: np.ndarray, hide: np.ndarray, colours: ScalarMappable) -> None:
    """Write a number into every cell that is not hidden, in the ink that its colour asks for."""
    grounds = colours.to_rgba(matrix)
    rounded = np.round(matrix, 2) + 0.0  # so that there is no -0.00
    for row, column in np.argwhere(~hide):
        ground, number = to_hex(grounds[row, column]), f"{rounded[row, column]:.2f}"
        middle = {"ha": "center", "va": "center", "fontsize": 9}
        ax.text(column + 0.5, row + 0.5, number, color=ink(ground), **middle)
