"""Charts drawn with Plotly: of each panel the traces, and what the layout has that other panels do not share.

Same colours, dashes, symbols, bands and scales as :mod:`.draw_matplotlib`. A panel is a plot of its own, so that a
narrow screen shows panels below each other; the page's legend switches a key in all panels of a chart. Fonts, margins
and the colours of axes are the page's (``page.js``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kdrbench.suite.reports.figures.chart import NOTHING, Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.tables.numbers import brief

# Those whose names differ from ours.
_SYMBOLS = {"none": "circle", "dot": "circle", "cross": "x-thin", "triangle": "triangle-up"}
_UNSEEN = {"visible": False}
# Pixels of the letters of named rows, of which there may be two dozen.
_NAMED = 10
# Beyond this many powers of two every second one is labelled, and so on.
_MOST_POWERS = 9
# A screen shows no more digits, nor more points of a median and of a single run.
_DIGITS = 3
_POINTS, _POINTS_OF_A_RUN = 48, 16


def legend_of(chart: Chart, panels: int | None = None) -> list[Series]:
    """Return for each key with a point in the first ``panels``, all by default, the series that the legend shows.

    It is the first one of the key that is not faint, where there is such, with the mark of the key's points.
    """
    drawn = [one for panel in chart.panels[:panels] for one in panel.series if any(map(math.isfinite, one.y))]
    shown: dict[str, Series] = {}
    for series in sorted(drawn, key=lambda series: series.faint):
        shown.setdefault(series.key, series)
    marks = {series.key: series.symbol for series in drawn if series.symbol not in (Symbol.NONE, Symbol.CROSS)}
    return [replace(series, symbol=marks.get(key, series.symbol)) for key, series in shown.items()]


def plotly_panels(chart: Chart) -> list[dict[str, Any]]:
    """Return ``data`` and ``layout`` of each panel; a trace names its key as ``legendgroup``."""
    return [
        _picture(panel)
        if panel.picture
        else {"data": [trace for series in panel.series for trace in _traces(series, panel)], "layout": _layout(panel)}
        for panel in chart.panels
    ]


def _picture(panel: Panel) -> dict[str, Any]:
    """Return a picture whose pixels stay square, the first row at the top."""
    trace = {
        "type": "image",
        "source": f"data:image/png;base64,{panel.picture}",
        "hovertemplate": f"{_plain(panel.x.title)} %{{x}}, {_plain(panel.y.title)} %{{y}}<extra></extra>",
    }
    square = {**_UNSEEN, "constrain": "domain"}
    axes = {"xaxis": square, "yaxis": {**square, "scaleanchor": "x", "autorange": "reversed"}}
    return {"data": [trace], "layout": {"margin": {"l": 0, "r": 0, "t": 4, "b": 0}, **axes}}


def _traces(series: Series, panel: Panel) -> list[dict[str, Any]]:
    """Return the trace of a series, after the two of its band where it has one."""
    if series.mark is Mark.STEPS:
        series = series.thinned(_POINTS_OF_A_RUN if series.faint else _POINTS)
    common = {"name": series.key, "legendgroup": series.key, "x": _rounded(series.x)}
    shown = common | {"y": _rounded(series.y)} | _pointed_at(series, panel)
    band = [] if series.lower is None or series.upper is None else [series.lower, series.upper]
    if series.mark is Mark.BARS:
        return [{"type": "bar", "marker": {"color": series.hue}, **shown, **(_whiskers(series, *band) if band else {})}]
    line = {
        "color": series.hue,
        "width": 1.0 if series.faint else 1.3 if series.is_thin else 2.2,
        "dash": series.line,
        "shape": "hv" if series.mark is Mark.STEPS else "linear",
    }
    marked = series.mark is Mark.POINTS or series.symbol != Symbol.NONE
    mode = "markers" if series.mark is Mark.POINTS else "lines+markers" if marked else "lines"
    edge = {"type": "scatter", "mode": "lines", "line": {**line, "width": 0}, "hoverinfo": "skip", **common}
    # Two lines without ink, the area between them filled.
    edges = [{**edge, "y": _rounded(values)} | fill for values, fill in zip(band, ({}, _fill(series)), strict=False)]
    look = {"line": line, "marker": _marker(series), "opacity": 0.45 if series.faint else 1.0}
    return [*edges, {"type": "scatter", "mode": mode, **look, **shown}]


def _fill(series: Series) -> dict[str, str]:
    red, green, blue = (int(series.hue[place : place + 2], 16) for place in (1, 3, 5))
    return {"fill": "tonexty", "fillcolor": f"rgba({red},{green},{blue},0.18)"}


def _whiskers(series: Series, lower: list[float], upper: list[float]) -> dict[str, Any]:
    above = _rounded(high - y for high, y in zip(upper, series.y, strict=True))
    below = _rounded(y - low for low, y in zip(lower, series.y, strict=True))
    lengths = {"type": "data", "symmetric": False, "array": above, "arrayminus": below}
    return {"error_y": {**lengths, "thickness": 1, "width": 3}}


def _pointed_at(series: Series, panel: Panel) -> dict[str, Any]:
    """Return what a reader sees who points at a point."""
    name = series.key if series.key == series.label else f"{series.key}, {series.label}"
    shown = "<br>".join(filter(None, (f"<b>{_plain(name)}</b>", _hover(panel.x, "x"), _hover(panel.y, "y"))))
    if not series.words:
        return {"hovertemplate": f"{shown}<extra></extra>"}
    return {"hovertemplate": f"{shown}<br>%{{text}}<extra></extra>", "text": list(map(_plain, series.words))}


def _marker(series: Series) -> dict[str, Any]:
    # A thin cross is all outline.
    line = {"width": 1.8 if series.symbol == Symbol.CROSS else 0, "color": series.hue}
    return {"symbol": _SYMBOLS.get(series.symbol, series.symbol), "size": 7, "color": series.hue, "line": line}


def _layout(panel: Panel) -> dict[str, Any]:
    if panel.is_empty:
        middle = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False}
        return {"xaxis": _UNSEEN, "yaxis": _UNSEEN, "annotations": [{**middle, "text": NOTHING}]}
    return {
        "xaxis": _axis(panel.x, [x for series in panel.series for x in series.x]),
        "yaxis": _axis(panel.y, [y for series in panel.series for y in series.y]),
    }


def _axis(axis: Axis, values: list[Any]) -> dict[str, Any]:
    seconds = axis.unit == "s"
    unit = f" [{axis.unit}]" if axis.unit and (not seconds or axis.scale is Scale.LOG2) else ""
    shown: dict[str, Any] = {"title": {"text": _plain(axis.title) + unit, "standoff": 8}}
    if axis.ticks:
        names = {"tickvals": list(axis.ticks.values()), "ticktext": [_plain(name) for name in axis.ticks]}
        return {**shown, **names, "automargin": True, "tickfont": {"size": _NAMED}}
    if axis.scale is Scale.NAMES:
        return {**shown, "type": "category", "showgrid": False, "automargin": True}
    if axis.scale is Scale.LOG2:
        return {**shown, "type": "log", **_ticks(axis.scale, values)}
    if axis.scale is Scale.LOG:
        shown |= {"type": "log", "nticks": 6} | _ticks(axis.scale, values)
    shown |= {"exponentformat": "SI", "minexponent": 1, "ticksuffix": "s"} if seconds else {"exponentformat": "power"}
    return {**shown, "automargin": True}


def _ticks(scale: Scale, values: list[Any]) -> dict[str, Any]:
    """Return ticks of a logarithmic axis where Plotly would label every digit, or knows powers of ten only."""
    positive = [value for value in values if isinstance(value, int | float) and 0 < value < math.inf]
    if not positive:
        return {}
    if scale is Scale.LOG:
        return {"dtick": "D2"} if 1 <= math.log10(max(positive) / min(positive)) <= 3 else {}
    lowest, highest = math.floor(math.log2(min(positive))), math.ceil(math.log2(max(positive)))
    powers = range(lowest, highest + 1, -(-(highest - lowest + 1) // _MOST_POWERS))
    return {"tickvals": [2.0**power for power in powers], "ticktext": [f"2<sup>{power}</sup>" for power in powers]}


def _hover(axis: Axis, name: str) -> str:
    if axis.ticks:
        return ""
    if axis.scale is Scale.NAMES:
        return f"%{{{name}}}"
    shown = f"%{{{name}:.3~s}}s" if axis.unit == "s" else f"%{{{name}:.4~g}} {axis.unit}"
    return f"{_plain(axis.title)}: {shown}".rstrip()


def _plain(text: str) -> str:
    """Return words as Plotly shows them: it reads some HTML, and its templates braces after a per cent sign."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("%{", "% {")


def _rounded(values: Iterable[Any]) -> list[Any]:
    """Return numbers in as many digits as a screen can show, counts as they are; what is not finite becomes a gap."""
    return [brief(value, _DIGITS) if isinstance(value, float) else value for value in values]
