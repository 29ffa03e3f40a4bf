"""Charts drawn with matplotlib for paper, as vector PDF and as PNG, with their data beside them.

A figure is as wide as a column of a two-column paper where it has one column of panels, and as wide as the page else.
"""

from __future__ import annotations

import io
import math
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import (
    EngFormatter,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    StrMethodFormatter,
)

from kdrbench.files import write_bytes, write_text
from kdrbench.suite.reports.declared import declared
from kdrbench.suite.reports.figures.chart import NOTHING, Axis, Chart, Mark, Panel, Scale, Series, Symbol, from_png

_LOOKS = declared("names")["matplotlib"]
# Inches, as two-column papers have them, and the height of a panel as a share of its width.
COLUMN_WIDTH, PAGE_WIDTH = 3.5, 7.0
_SHAPE, _PICTURE_SHAPE = 0.8, 1.0
# Of a line of the legend and of a heading, and of a row that has a name, in inches.
_LINE_HEIGHT, _ROW_HEIGHT = 0.18, 0.15
_DPI = 220
# Letters that can be read in print at that size. Matplotlib 3.11 splits the font of a PDF by that of PostScript, and a
# minus sign would be a second one.
_STYLE: Any = {"font.size": 7.5, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6}
_STYLE |= {"pdf.fonttype": 42, "ps.fonttype": 42}
# Titles keep their height: no tick labels stand above a panel that they had to avoid.
_STYLE |= {"axes.titley": 1.0}
# Ligatures would be a second font in each PDF, and words that no search finds. Matplotlib 3.10 has none.
_WORDS: Any = {"fontfeatures": ["-liga"]} if hasattr(Text, "set_fontfeatures") else {}
# Of a usual letter, in inches.
_LETTER_WIDTH = 0.066
# What would differ on every run.
_METADATA: dict[str, dict[str, Any]] = {"pdf": {"CreationDate": None}, "png": {"Software": None}}
# From this ratio on, the labels of decades show the scale: marks within them take a tenth of the time of a figure.
_MANY_DECADES = 1e2
# Exponents of powers, as letters of the font: parsing formulas would take a tenth of the time of a figure.
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Names of more letters do not fit side by side below a panel.
_LETTERS_IN_A_ROW = 32


def write_chart(chart: Chart, stem: Path) -> None:
    """Write ``stem`` as .pdf, .png and .json; each appears whole, the same on every run."""
    figure = draw(chart)
    for kind in ("pdf", "png"):
        write_bytes(stem.parent / f"{stem.name}.{kind}", render(figure, kind))
    write_text(stem.parent / f"{stem.name}.json", chart.to_json())


@mpl.rc_context(_STYLE)
def draw(chart: Chart) -> Figure:
    """Return the chart as a figure with one legend for all panels, and all parts in their places."""
    rows = chart.rows or [[]]
    columns = max(1, *map(len, rows))
    named = max((len(panel.y.ticks) for panel in chart.panels), default=0)
    # Names beside the rows of a panel leave it the half of a column.
    beside = max((_LETTER_WIDTH * len(name) for panel in chart.panels for name in panel.y.ticks), default=0.0)
    beside = max(0.0, beside - COLUMN_WIDTH / 2)
    width = (COLUMN_WIDTH + beside) * columns if named or columns == 1 else PAGE_WIDTH
    engine = ConstrainedLayoutEngine()
    figure = Figure(dpi=_DPI, layout=engine)
    # Words that it measures for the layout are not measured again for the PNG.
    FigureCanvasAgg(figure)
    handles: dict[str, Artist] = {}
    for places, panels in zip(_places(figure, rows, columns), rows, strict=True):
        for axes, panel in zip(places, panels, strict=False):
            # Of the first panel that has it: in another a method may have but the mark of a run that was stopped.
            found = _draw_panel(axes, panel, width / columns - beside)
            handles |= {key: handle for key, handle in found.items() if key not in handles}
        for axes in places[len(panels) :]:
            axes.set_axis_off()
        if not panels:
            places[0].set_title(chart.caption, fontsize="small", wrap=True, **_WORDS)
    lines = _add_legend(figure, handles, width) + sum(bool(row and row[0].heading) for row in rows)
    shape = _PICTURE_SHAPE if any(panel.picture for panel in chart.panels) else _SHAPE
    height = max(width / columns * shape, _ROW_HEIGHT * named)
    figure.set_size_inches(width, height * len(rows) + _LINE_HEIGHT * lines)
    # Places of parts take longest to find, and would else be sought again for each file.
    engine.execute(figure)
    # With any engine, also the one called "none", each file would be drawn twice.
    figure.set_layout_engine(None)
    return figure


def _add_legend(figure: Figure, handles: dict[str, Artist], width: float) -> int:
    """Add a legend that is no wider than the figure, and return its height in lines."""
    if not handles:
        return 0
    # A handle takes half an inch.
    fitting = int(width / (_LETTER_WIDTH * max(map(len, handles)) + 0.45))
    columns = max(1, min(len(handles), 6, fitting))
    # Handles are long enough to show how the dots of a line follow each other.
    shape: dict[str, Any] = {"loc": "outside upper center", "fontsize": "small", "frameon": False, "handlelength": 2.4}
    legend = figure.legend(list(handles.values()), list(handles), ncols=columns, **shape)
    for text in legend.get_texts():
        text.set(**_WORDS)
    return -(-len(handles) // columns)


@mpl.rc_context(_STYLE)
def render(figure: Figure, kind: str) -> bytes:
    """Return the figure as ``pdf`` or ``png`` bytes that are the same on every run."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=_METADATA[kind])
    return buffer.getvalue()


def _places(figure: Figure, rows: list[list[Panel]], columns: int) -> list[list[Axes]]:
    """Return the axes of each row, with the rows' headings where there are any."""
    if not any(panel.heading for row in rows for panel in row):
        return [list(line) for line in figure.subplots(len(rows), columns, squeeze=False)]
    places = []
    for part, row in zip(figure.subfigures(len(rows), 1, squeeze=False)[:, 0], rows, strict=True):
        part.suptitle(row[0].heading, fontsize="medium", x=0.005, ha="left", **_WORDS)
        places.append(list(part.subplots(1, columns, squeeze=False)[0]))
    return places


def _draw_panel(axes: Axes, panel: Panel, width: float) -> dict[str, Artist]:
    """Draw the series and return the legend's handles: of each key the first series that is not faint.

    ``width`` is that of the panel in inches; longer titles of axes are broken.
    """
    if panel.picture:
        axes.imshow(from_png(panel.picture), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axes.set_title(panel.title, fontsize="small", **_WORDS)
        axes.set_axis_off()
        return {}
    bars = [series for series in panel.series if series.mark is Mark.BARS]
    handles: dict[str, Artist] = {}
    for series in panel.series:
        place = bars.index(series) if series in bars else 0
        handle = _draw_bars(axes, series, place, len(bars)) if series.mark is Mark.BARS else _draw_points(axes, series)
        if not series.faint:
            handles.setdefault(series.key, handle)
    title = textwrap.fill(panel.title, int(width / _LETTER_WIDTH))
    axes.set_title(title, fontsize="medium" if width > 2 else "small", **_WORDS)
    if panel.is_empty:
        axes.text(0.5, 0.5, NOTHING, transform=axes.transAxes, ha="center", va="center", color="0.4")
        axes.set_xticks([])
        axes.set_yticks([])
        return {}
    for name, axis in (("x", panel.x), ("y", panel.y)):
        _set_axis(axes, name, axis, int(0.75 * width / _LETTER_WIDTH))
    names = dict.fromkeys(str(name) for series in panel.series for name in series.x)
    if panel.x.scale is Scale.NAMES and not bars and sum(map(len, names)) * _LETTER_WIDTH > width / 2:
        axes.tick_params(axis="x", labelrotation=90, labelsize="small")
    axes.grid(alpha=0.25)
    return handles


def _draw_points(axes: Axes, series: Series) -> Artist:
    line = "none" if series.mark is Mark.POINTS else _LOOKS["lines"][series.line]
    symbol = Symbol.DOT if series.mark is Mark.POINTS and series.symbol == Symbol.NONE else series.symbol
    (handle,) = axes.plot(
        series.x,
        series.y,
        linestyle=(0, line) if isinstance(line, list) else line,
        marker=_LOOKS["symbols"][symbol],
        markersize=3,
        color=series.hue,
        linewidth=0.4 if series.faint else 0.7 if series.is_thin else 1.2,
        alpha=0.3 if series.faint else 1.0,
        drawstyle="steps-post" if series.mark is Mark.STEPS else "default",
        label=series.key,
    )
    if series.lower is not None and series.upper is not None:
        step: Any = "post" if series.mark is Mark.STEPS else None
        axes.fill_between(series.x, series.lower, series.upper, color=series.hue, alpha=0.18, linewidth=0, step=step)
    return handle


def _draw_bars(axes: Axes, series: Series, place: int, count: int) -> Artist:
    """Draw bars beside those of the panel's other series, each category one unit wide."""
    width = 0.8 / count
    middles = [position + (place - (count - 1) / 2) * width for position in range(len(series.x))]
    errors = None
    if series.lower is not None and series.upper is not None:
        errors = np.abs(np.array([series.lower, series.upper]) - series.y)
    drawn = axes.bar(middles, series.y, width, yerr=errors, color=series.hue, label=series.key, capsize=1.5)
    names = [str(name) for name in series.x]
    slanted: dict[str, Any] = {"rotation": 55, "ha": "right", "rotation_mode": "anchor", "fontsize": "small"}
    axes.set_xticks(range(len(names)), names, **_WORDS, **(slanted if sum(map(len, names)) > _LETTERS_IN_A_ROW else {}))
    return drawn.patches[0]


def _power(base: int, exponent: int) -> str:
    return f"{base}{str(exponent).translate(_SUPERSCRIPTS)}"


def _set_axis(axes: Axes, name: str, axis: Axis, letters: int) -> None:
    ticks = getattr(axes, f"{name}axis")
    if axis.scale in (Scale.LOG, Scale.LOG2):
        base = 2 if axis.scale is Scale.LOG2 else 10
        getattr(axes, f"set_{name}scale")("log", base=base)
        ticks.set_major_formatter(FuncFormatter(lambda value, _: _power(base, round(math.log(value, base)))))
    if axis.scale is Scale.LOG:
        lowest, highest = getattr(axes, f"get_{name}lim")()
        # Where there are few decades, there are labels within them.
        if highest < 60 * lowest:
            # Within one decade those of 1, 2 and 5 may be fewer than two.
            few = highest < 5 * lowest
            ticks.set_major_locator(MaxNLocator(4) if few else LogLocator(subs=(1.0, 2.0, 5.0)))
            ticks.set_major_formatter(StrMethodFormatter("{x:g}"))
        ticks.set_minor_formatter(NullFormatter())
        if highest >= _MANY_DECADES * lowest:
            ticks.set_minor_locator(NullLocator())
    if axis.unit == "s" and axis.scale is not Scale.LOG2:
        ticks.set_major_formatter(EngFormatter(unit="s"))
        ticks.set_minor_formatter(NullFormatter())
    elif axis.unit:
        axis = replace(axis, title=f"{axis.title} [{axis.unit}]")
    if axis.ticks:
        ticks.set_ticks(list(axis.ticks.values()), labels=list(axis.ticks), **_WORDS)
    getattr(axes, f"set_{name}label")(textwrap.fill(axis.title, max(8, letters)), **_WORDS)
