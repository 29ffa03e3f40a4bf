"""A chart as data: what is drawn, apart from who draws it.

Each figure's module makes a :class:`Chart`; :mod:`.draw_matplotlib` draws it on paper, and the dashboard draws the same
one with Plotly on a screen. Written beside the picture as JSON, it is the figure's data too.
"""

from __future__ import annotations

import base64
import io
import json
import math
from dataclasses import dataclass, field, is_dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.palette import COLOURS as COLOURS


class Line(StrEnum):
    """How a line is broken, by its name or lengths in Plotly; names.toml has more, for solvers alone.

    Dots, with dashes for converged ones, are for methods of a reference, and thin.
    """

    SOLID = "solid"
    DASHED = "dash"
    DOTTED = "dot"
    DOTS = "2px,4px"
    DASH_AND_DOT = "9px,3px,2px,3px"


class Symbol(StrEnum):
    """What marks the points of a series, see also names.toml; a cross says that a run was stopped."""

    NONE = "none"
    DOT = "dot"
    CROSS = "cross"
    SQUARE = "square"
    TRIANGLE = "triangle"
    DIAMOND = "diamond"
    PENTAGON = "pentagon"
    STAR = "star"


Pixels = NDArray[np.uint8]
# What a series has of each of its points.
_PARTS = ("x", "y", "lower", "upper", "words")
# The text of a panel that has nothing to show.
NOTHING = "no runs"
# Axes of an array of colours, and colours of a palette.
_COLOURED, _PALETTE = 3, 256
# The place of black, for what is no method or class: lines to compare with, and crosses over other points.
BLACK = 6


class Mark(StrEnum):
    """How a series is drawn."""

    LINE = "line"
    STEPS = "steps"
    POINTS = "points"
    BARS = "bars"


class Scale(StrEnum):
    """How an axis is divided; ``names`` are categories in the order they come."""

    LINEAR = "linear"
    LOG = "log"
    LOG2 = "log2"
    NAMES = "names"


@dataclass(frozen=True)
class Series:
    """Points of one name: ``x`` and ``y`` of equal length, a band from ``lower`` to ``upper`` where there is one.

    ``colour`` counts through :data:`COLOURS`; series of one ``group`` are switched on and off together and have one
    entry in the legend. Faint series are thin and pale, such as single runs behind their median. ``words`` say more of
    each point to a reader who points at it.
    """

    label: str
    x: list[float] | list[str]
    y: list[float]
    mark: Mark = Mark.LINE
    symbol: str = Symbol.NONE
    colour: int = 0
    line: str = Line.SOLID
    faint: bool = False
    group: str = ""
    lower: list[float] | None = None
    upper: list[float] | None = None
    words: list[str] | None = None

    def __post_init__(self) -> None:
        lengths = {len(part) for name in _PARTS if (part := getattr(self, name)) is not None}
        if len(lengths) != 1:
            raise InputError(f"series {self.label!r} has parts of {sorted(lengths)} points; they must be equally long")

    @property
    def key(self) -> str:
        """What the legend calls the series and those switched with it."""
        return self.group or self.label

    def thinned(self, most: int) -> Series:
        """Return the series with at most ``most`` of its points, evenly, the first and the last among them."""
        last = len(self.x) - 1
        if last < most:
            return self
        places, parts = [round(place * last / (most - 1)) for place in range(most)], dict[str, Any]()
        for name in _PARTS:
            part = getattr(self, name)
            parts[name] = part and [part[place] for place in places]
        return replace(self, **parts)

    @property
    def is_thin(self) -> bool:
        """Whether its line is that of a method of a reference."""
        return self.line in (Line.DOTS, Line.DASH_AND_DOT)

    @property
    def hue(self) -> str:
        """Its colour as #RRGGBB."""
        return COLOURS[self.colour % len(COLOURS)]


@dataclass(frozen=True)
class Axis:
    """What an axis shows, with its unit, and how it is divided.

    ``ticks`` are the only places that are labelled, by their labels; where none are given, who draws chooses them.
    """

    title: str
    scale: Scale = Scale.LINEAR
    unit: str = ""
    ticks: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """One pair of axes and the series in it, or a picture: the text of :func:`to_png`.

    A panel with a heading begins a row below that heading.
    """

    title: str
    x: Axis
    y: Axis
    series: list[Series] = field(default_factory=list)
    picture: str = ""
    heading: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to see."""
        return not self.picture and not any(len(series.x) for series in self.series)

    @property
    def longest_name(self) -> int:
        """The letters of the longest name along the x axis, which are drawn aslant or upright; 0 without names."""
        names = (str(x) for series in self.series for x in series.x) if self.x.scale is Scale.NAMES else ()
        return max(map(len, names), default=0)


@dataclass(frozen=True)
class Chart:
    """Panels, ``columns`` of them side by side; the caption says what is seen and from what it was made."""

    name: str
    title: str
    caption: str
    panels: list[Panel]
    columns: int = 1

    @property
    def rows(self) -> list[list[Panel]]:
        """The panels of each row from left to right."""
        rows: list[list[Panel]] = []
        for panel in self.panels:
            if not rows or panel.heading or len(rows[-1]) == max(1, self.columns):
                rows.append([])
            rows[-1].append(panel)
        return rows

    def to_json(self) -> str:
        """Return the chart as JSON; numbers that are not finite become null."""
        text = json.dumps(self, default=lambda value: vars(value) if is_dataclass(value) else value.item())
        return json.dumps(json.loads(text, parse_constant=lambda _: None))

    @classmethod
    def from_json(cls, text: str) -> Chart:
        """Return the chart that :meth:`to_json` has written; null becomes not-a-number in the points."""
        fields = json.loads(text)
        return cls(**{**fields, "panels": [_panel(panel) for panel in fields["panels"]]})


def _panel(fields: dict[str, Any]) -> Panel:
    axes = {name: Axis(**{**fields[name], "scale": Scale(fields[name]["scale"])}) for name in ("x", "y")}
    return Panel(**{**fields, **axes, "series": [_series(series) for series in fields["series"]]})


def _series(fields: dict[str, Any]) -> Series:
    parts = {name: fields[name] for name in _PARTS if fields.get(name) is not None}
    points = {name: [math.nan if value is None else value for value in part] for name, part in parts.items()}
    # Records of earlier versions have a further part of points.
    known = {name: value for name, value in fields.items() if name != "absolute"}
    return Series(**{**known, **points, "mark": Mark(fields["mark"])})


def to_png(pixels: Pixels) -> str:
    """Return an image, rows x columns x 3 or grey without the 3; the same text for the same pixels.

    Of few colours a palette is stored, and a byte for each pixel: less than half of what three take.
    """
    from PIL import Image

    image, buffer = Image.fromarray(pixels), io.BytesIO()
    if pixels.ndim == _COLOURED:
        colours, places = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)
        if len(colours) <= _PALETTE:
            image = Image.fromarray(places.reshape(pixels.shape[:2]).astype(np.uint8)).convert("P")
            image.putpalette(colours.tobytes())
    image.save(buffer, format="PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def from_png(text: str) -> Pixels:
    """Return the pixels that :func:`to_png` was given."""
    from PIL import Image

    with Image.open(io.BytesIO(base64.b64decode(text)), formats=["PNG"]) as image:
        return np.asarray(image.convert("RGB") if image.mode == "P" else image)
