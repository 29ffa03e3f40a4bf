"""How lines are broken and points are marked."""

from __future__ import annotations

from enum import StrEnum


class Line(StrEnum):
    """How a line is broken, by its name in Plotly; those of methods of a reference are lengths, and thin."""

    SOLID = "solid"
    DASHED = "dash"
    DOTTED = "dot"
    DASH_DOT = "dashdot"
    LONG_DASHED = "longdash"
    LONG_DASH_DOT = "longdashdot"
    TWO_DASHES = "9px,4px,9px,12px"
    DASH_TWO_DOTS = "16px,5px,3px,5px,3px,5px"
    DOTS = "2px,4px"
    TWO_DOTS = "2px,3px,2px,9px"
    THREE_DOTS = "2px,3px,2px,3px,2px,9px"
    FOUR_DOTS = "2px,3px,2px,3px,2px,3px,2px,9px"
    RARE_DOTS = "2px,12px"
    LONG_DOTS = "5px,6px"
    RARE_LONG_DOTS = "5px,14px"
    UNEQUAL_DOTS = "5px,3px,2px,9px"

    @property
    def lengths(self) -> tuple[int, ...]:
        """Lengths of strokes and gaps in pixels of a thin line; none of others."""
        if "px" not in self or self in (Line.TWO_DASHES, Line.DASH_TWO_DOTS):
            return ()
        return tuple(int(one.removesuffix("px")) for one in self.split(","))


class Symbol(StrEnum):
    """What marks the points of a series; a cross says that a run was stopped."""

    NONE = "none"
    DOT = "dot"
    CROSS = "cross"
    SQUARE = "square"
    TRIANGLE = "triangle"
    DIAMOND = "diamond"
    PENTAGON = "pentagon"
    STAR = "star"
    HEXAGON = "hexagon"
    TRIANGLE_DOWN = "triangle-down"
