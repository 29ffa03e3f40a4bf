"""The legend of a figure on paper: as many columns and as large letters as its width allows."""

from __future__ import annotations

from typing import Any

from matplotlib.artist import Artist
from matplotlib.figure import Figure

# Of a usual letter, in inches.
LETTER_WIDTH = 0.066
# Letters of a legend by their share of a usual one's size, and lines from which on they are smaller.
_LEGEND_LETTERS, _MOST_LINES = {"medium": 1.0, "small": 0.833, "x-small": 0.694}, 5


def add_legend(figure: Figure, handles: dict[str, Artist], width: float) -> float:
    """Add a legend that is no wider than the figure, and return its height in lines; many names are in small letters.

    Beside a record there are three times the methods, and a line for each would take half of a column's figure.
    """
    if len(handles) < 2:
        return 0
    longest = max(map(len, handles))
    sizes = {size: _columns(len(handles), longest * share, width) for size, share in _LEGEND_LETTERS.items()}
    size = next((one for one, ncols in sizes.items() if -(-len(handles) // ncols) <= _MOST_LINES), [*sizes][-1])
    named: dict[str, Any] = {"loc": "outside upper center", "ncols": sizes[size], "fontsize": size, "frameon": False}
    # In letters: as long as beside usual ones, which shows how the dots of a line follow each other.
    named |= {"handlelength": 2.0 / _LEGEND_LETTERS[size]}
    figure.legend(list(handles.values()), list(handles), **named)
    return -(-len(handles) // sizes[size]) * _LEGEND_LETTERS[size]


def _columns(count: int, letters: float, width: float) -> int:
    # A handle takes half an inch.
    return max(1, min(count, 6, int(width / (LETTER_WIDTH * letters + 0.45))))
