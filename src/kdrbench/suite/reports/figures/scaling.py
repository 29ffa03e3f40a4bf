"""The figure of time against size (NeurIPS 2019, Fig. 1b, and the same for d and q)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kdrbench.suite.reports.figures.chart import Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.figures.styles import Style, styles_of
from kdrbench.suite.reports.outputs import FIGURE_1B
from kdrbench.suite.reports.tables.labels import SOLVER_TIME, TIMES_MEAN, by_method, kernel_label, method_label
from kdrbench.suite.reports.tables.size_series import (
    ALL_PAIRS,
    AXES,
    LETTERS,
    MANY_SAMPLES,
    SizeSeries,
    exponent_text,
    fixed_sizes,
    size_series,
)

if TYPE_CHECKING:
    from kdrbench.suite.reports.figures.making import Source


def chart_of(source: Source) -> Chart:
    """Return the figure of all experiments on size, or the panel of it that the paper prints."""
    series = size_series(source.runs, source.config)
    if source.report.kind != FIGURE_1B:
        return scaling_chart(series, source.config["solvers"])
    printed = [one for one in series if one.axis == "n_train" and one.evaluation == ALL_PAIRS]
    title = "Run time against the number of samples (NeurIPS 2019, Figure 1b)"
    return replace(scaling_chart(printed, source.config["solvers"]), name=FIGURE_1B, title=title)


def scaling_chart(series: list[SizeSeries], defined: Iterable[str] = ()) -> Chart:
    """Return one panel for each axis, kernel and evaluation, with a line for each method and its law.

    ``defined`` are the solvers that the configuration defines, from which those of the user's own have their styles.
    """
    places = list(dict.fromkeys(one.place for one in series))
    methods = by_method(list(dict.fromkeys(one.method for one in series)))
    styles = styles_of([*defined, *methods])
    labels = {method: _legend(method, places, series) for method in methods}
    panels = []
    for place in places:
        here = sorted((one for one in series if one.place == place), key=lambda one: methods.index(one.method))
        drawn = [part for one in here for part in _drawn(one, labels[one.method], styles[one.method])]
        axis = Axis(f"number of {AXES[here[0].axis]} {LETTERS[here[0].axis]}", Scale.LOG2)
        panels.append(Panel(_heading(here[0]), axis, Axis(SOLVER_TIME, Scale.LOG2, "s"), drawn))
    if not panels:
        # A grid of one or two sizes has nothing to draw, but the other reports do not depend on it.
        panels = [
            Panel("no series of three sizes was run", Axis("size", Scale.LOG2), Axis(SOLVER_TIME, Scale.LOG2, "s"))
        ]
    caption = (
        "Time against the size of the problem, both as powers of two, with the fitted power laws (lines); their "
        "exponents are in the legend in the order of the panels, - where fewer than three sizes ended. "
        f"Laws in n are fitted from {MANY_SAMPLES:g} samples on where three such sizes ended. "
        "Crosses are runs stopped at their limit of time or memory: their times are lower bounds and enter no fit. "
        f"{TIMES_MEAN}"
    )
    return Chart("scaling", "Run time against the size of the problem", caption, panels, columns=min(2, len(panels)))


def _legend(method: str, places: list[tuple[object, ...]], series: list[SizeSeries]) -> str:
    laws = {one.place: one.law for one in series if one.method == method}
    slopes = [exponent_text(laws.get(place)) for place in places]
    return f"{method_label(method)} ({'; '.join(slopes)})"


def _heading(one: SizeSeries) -> str:
    return f"{kernel_label(one.kernel)} kernel, {one.evaluation}, {fixed_sizes(one)}"


def _drawn(one: SizeSeries, label: str, style: Style) -> list[Series]:
    """Return the law, the runs that ended and those that were stopped; one entry of the legend."""
    common: dict[str, Any] = {"colour": style.colour, "group": label}
    parts = []
    if one.law is not None:
        sizes = [one.law.smallest, one.law.largest]
        fitted = [one.law.at(size) for size in sizes]
        parts.append(Series(label, sizes, fitted, Mark.LINE, line=style.line, **common))
    for points, symbol, ending in (
        (one.ended, style.symbol, "ended"),
        (one.stopped, Symbol.CROSS, "stopped at its limit"),
    ):
        if points:
            details = [
                f"{method_label(one.method)}, {LETTERS[one.axis]} = {size:g}: {time:.3g} s, {ending}"
                for size, time in points
            ]
            sizes, times = [size for size, _ in points], [time for _, time in points]
            parts.append(Series(label, sizes, times, Mark.POINTS, symbol, words=details, **common))
    return parts
