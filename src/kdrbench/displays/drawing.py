"""Colours, symbols and axes of all displays."""

from __future__ import annotations

from typing import Any

from kdrbench.extras import needed_for
from kdrbench.palette import COLOURS

# Another one for each neighbour, so that a picture can be read without colours.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def looks(place: int) -> dict[str, str]:
    """Return colour and marker of the series with this number; 56 of them differ."""
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}


def axes_for(ax: Any, what: str, size: tuple[float, float]) -> Any:
    """Return ``ax``, or axes of a figure of this size in inches; ``what`` says in an error who needs matplotlib.

    Raises ``MissingPackageError`` where matplotlib is not installed.
    """
    with needed_for(f"{what}.plot"):
        import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
