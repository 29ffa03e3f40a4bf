"""Time against the size of a problem: power laws, series of runs in which only n, d or q differs, table and figure.

Runs that were stopped are drawn and counted, and enter no fit: of their time only a bound is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.findings.outcome import ENDED, LIMITS
from kdrbench.suite.paired import half_width
from kdrbench.suite.reports.figures.chart import Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.figures.styles import Style, styles_of
from kdrbench.suite.reports.making import Page, Source
from kdrbench.suite.reports.records import NO_KERNEL, Config
from kdrbench.suite.reports.tables.labels import NO_CELL, SOLVER_TIME, TIMES_MEAN, by_method, kernel_label, method_label
from kdrbench.suite.reports.tables.significance import meaning
from kdrbench.suite.reports.tables.table import Column, Entry, lay_out
from kdrbench.suite.systems.ikdr.config import is_scaling
from kdrbench.suite.systems.ikdr.system import FIGURE_1B

# Columns of the records and what they count.
AXES = {"n_train": "samples", "n_features": "features", "n_components": "components"}
LETTERS = {"n_train": "n", "n_features": "d", "n_components": "q"}
ALL_PAIRS, FACTORED = "all pairs", "factored"
_EVALUATIONS = {"panels": ALL_PAIRS, "dense": ALL_PAIRS, "pairwise_sum": ALL_PAIRS, "autograd": ALL_PAIRS}
# Laws hold for large sizes: of small ones a run is made of calls, and of what grows slower.
_FEWEST_SIZES, _LARGEST_SIZES = 3, 4

# Exponents of one iteration, see the note below the table.
_OF_PAIRS = {"n_train": "2", "n_features": "at most 1", "n_components": "at most 1"}
_OF_FACTORS = {"n_train": "1", "n_features": "at most 1", "n_components": "at most p - 1"}
_NOTES = [
    TIMES_MEAN,
    "Run: exponent of the time of a whole run; iteration: of time over iterations, which is what an analysis of "
    "complexity counts. 95 %: interval of Student's t for the slope of log2 time against log2 size.",
    "Expected, an iteration: n^2 for sums over all pairs, as the papers state for every solver (NeurIPS 2019, Figure "
    "1b), and n for sums in factors; in d and q by counting operations: over all pairs a surrogate takes n^2 (d + q) "
    "and a gradient n^2 q + n d q, and in factors of a polynomial of degree p the features grow as q^(p-1).",
    f"Laws are fitted to the {_LARGEST_SIZES} largest sizes that ended. Runs that were stopped or failed enter no fit.",
    "All runs that ended are here. Claims and published numbers leave out those whose time was disturbed, and so have "
    "other exponents.",
]


@dataclass(frozen=True)
class PowerLaw:
    """time = 2^``level`` size^``exponent``, over ``n_points`` of sizes ``smallest`` to ``largest``.

    ``low`` to ``high`` is the 95 % interval of the exponent.
    """

    exponent: float
    low: float
    high: float
    level: float
    smallest: float
    largest: float
    n_points: int

    def at(self, size: float) -> float:
        """Return the time of the law at a size."""
        return float(2.0 ** (self.level + self.exponent * math.log2(size)))


def fit_power_law(points: Iterable[tuple[float, float]], least: float = 0.0) -> PowerLaw | None:
    """Return the least-squares line through (log2 size, log2 time) of points, with Student's t for its slope.

    Through those from the size ``least`` on where there are three such sizes, else through all. ``None`` where fewer
    than three different sizes have a positive time: a line through two points has no interval.
    """
    known = [(size, time) for size, time in points if size > 0 and time > 0]
    choices = ([(size, time) for size, time in known if size >= least], known)
    fitted = next((some for some in choices if len(dict(some)) >= _FEWEST_SIZES), None)
    if fitted is None:
        return None
    x, y = np.log2(np.array(fitted)).T
    (var_x, covariance), (_, var_y) = np.cov(x, y, bias=True)
    slope = float(covariance / var_x)
    unexplained = max(0.0, 1.0 - covariance**2 / (var_x * var_y)) if var_y else 0.0
    half = half_width(len(x) - 2) * math.sqrt(unexplained * var_y / var_x / (len(x) - 2))
    level = float(y.mean() - slope * x.mean())
    sizes = [size for size, _ in fitted]
    return PowerLaw(slope, slope - half, slope + half, level, min(sizes), max(sizes), len(fitted))


def exponent_text(law: PowerLaw | None) -> str:
    """Return the exponent with two decimals, or a dash where there is no law."""
    return "-" if law is None else f"{law.exponent:.2f}"


@dataclass(frozen=True)
class SizeSeries:
    """The runs of one method in which ``axis`` differs; ``fixed`` holds the two other sizes.

    ``ended`` and ``stopped`` are (size, seconds), ``an_iteration`` (size, seconds of one iteration) of those that
    ended. ``lost`` counts runs that left no time. ``experiments`` are those of all runs.
    """

    axis: str
    kernel: str
    evaluation: str
    fixed: tuple[tuple[str, int], ...]
    method: str
    ended: tuple[tuple[float, float], ...]
    stopped: tuple[tuple[float, float], ...]
    an_iteration: tuple[tuple[float, float], ...]
    lost: int
    experiments: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[object, ...]:
        """What the series of several methods have in common."""
        return self.axis, self.kernel, self.evaluation, self.fixed

    @property
    def law(self) -> PowerLaw | None:
        """The law of whole runs."""
        return _law_of_largest(self.ended)

    @property
    def law_of_an_iteration(self) -> PowerLaw | None:
        """The law of time over iterations, which is what the papers analyse."""
        return _law_of_largest(self.an_iteration)


def _law_of_largest(points: Iterable[tuple[float, float]]) -> PowerLaw | None:
    sizes = sorted({size for size, _ in points})
    return fit_power_law(points, min(sizes[-_LARGEST_SIZES:], default=0.0))


def size_series(runs: pd.DataFrame, config: Config) -> list[SizeSeries]:
    """Return the series of all scaling experiments in ``runs``: against n first, then d, then q.

    Runs of several experiments belong together where kernel, evaluation and the two other sizes are the same. A series
    has three sizes at least.
    """
    chosen = runs[runs["experiment"].map(is_scaling).astype(bool) & (runs["kernel"] != NO_KERNEL)]
    evaluations = {name: evaluation_of(config["experiments"][name]) for name in chosen["experiment"].unique()}
    chosen = chosen.assign(how=chosen["experiment"].map(evaluations))
    series = [series for axis in AXES for series in _along(axis, chosen)]
    # What the papers drew comes first.
    return sorted(series, key=lambda one: (list(AXES).index(one.axis), one.evaluation != ALL_PAIRS))


def evaluation_of(experiment: Mapping[str, Any]) -> str:
    """Return whether the experiment sums over all pairs of samples, as the papers do, or in factors of the kernel."""
    asked = experiment.get("evaluation", {}).get("evaluator", FACTORED)
    return _EVALUATIONS.get(asked, str(asked))


def _along(axis: str, runs: pd.DataFrame) -> Iterator[SizeSeries]:
    others = [name for name in AXES if name != axis]
    for (kernel, how, *sizes), group in runs.groupby(["kernel", "how", *others], sort=False):
        fixed = tuple((name, int(float(str(size)))) for name, size in zip(others, sizes, strict=True))
        for method, of_method in group.groupby("method", sort=False):
            if of_method[axis].nunique() < _FEWEST_SIZES:
                continue
            timed = of_method[of_method["time_s"] > 0]
            ended, stopped = (timed[timed["status"].isin(part)] for part in (ENDED, LIMITS))
            iterated = ended[ended["iterations"] > 0]
            yield SizeSeries(
                axis,
                str(kernel),
                str(how),
                fixed,
                str(method),
                _points(ended[axis], ended["time_s"]),
                _points(stopped[axis], stopped["time_s"]),
                _points(iterated[axis], iterated["time_s"] / iterated["iterations"]),
                len(of_method) - len(ended) - len(stopped),
                tuple(map(str, of_method["experiment"].unique())),
            )


def _points(sizes: pd.Series, times: pd.Series) -> tuple[tuple[float, float], ...]:
    return tuple(sorted((float(size), float(time)) for size, time in zip(sizes, times, strict=True)))


def fixed_sizes(series: SizeSeries) -> str:
    """Return the two sizes that do not differ: ``d = 20, q = 4``."""
    return ", ".join(f"{LETTERS[name]} = {size}" for name, size in series.fixed)


def page(source: Source) -> Page:
    """Return measured exponents of time, whole runs and iterations, with 95 % intervals, beside what is expected."""
    series, title = size_series(source.runs, source.config), "Measured exponents of time in n, d and q."
    place = attrgetter("place")
    return lay_out("complexity", title, _COLUMNS, series, number=_number, block=place, notes=_NOTES, n_labels=3), []


def _number(one: SizeSeries, text: str, detail: str) -> Entry:
    """Return a number that leads to its runs, where they are all of one experiment."""
    alone = len(one.experiments) == 1
    axes = ("time_s", "", one.kernel, one.method) if alone else ()
    return Entry(text, detail=detail, axes=axes, experiment=one.experiments[0] if alone else "")


def _of_law(one: SizeSeries, law: PowerLaw | None, of: str, *, interval: bool = False) -> Entry:
    if law is None:
        return Entry(NO_CELL)
    bounds = f"{law.low:.2f} to {law.high:.2f}"
    what = f"exponent of the {of} in {LETTERS[one.axis]}, from {law.smallest:g} to {law.largest:g}"
    return _number(one, bounds if interval else exponent_text(law), meaning(what, counted(law.n_points, "run"), bounds))


def _span(one: SizeSeries) -> str:
    sizes = sorted({size for size, _ in one.ended + one.stopped})
    return f"{sizes[0]:g} to {sizes[-1]:g}" if sizes else NO_CELL


_RUN, _ITERATION = "time of a run", "time over iterations"
_COLUMNS = (
    Column("Varied", lambda one: f"{LETTERS[one.axis]}, {one.evaluation}"),
    Column("Others", lambda one: fixed_sizes(one)),
    Column("Method", lambda one: method_label(one.method)),
    Column("Sizes", _span),
    Column("Ended", lambda one: len(one.ended), "runs that came to their own end"),
    Column("Stopped", lambda one: len(one.stopped) + one.lost, "runs that were stopped at a limit, or failed"),
    Column("Run", lambda one: _of_law(one, one.law, _RUN)),
    Column("95 %", lambda one: _of_law(one, one.law, _RUN, interval=True)),
    Column("Iteration", lambda one: _of_law(one, one.law_of_an_iteration, _ITERATION)),
    Column("95 %", lambda one: _of_law(one, one.law_of_an_iteration, _ITERATION, interval=True)),
    Column("Expected", lambda one: (_OF_PAIRS if one.evaluation == ALL_PAIRS else _OF_FACTORS)[one.axis]),
)


def chart_of(source: Source) -> Chart | None:
    """Return the figure of all experiments on size."""
    return scaling_chart(size_series(source.runs, source.config), source.config["solvers"])


def figure_1b(source: Source) -> Chart | None:
    """Return the panel of :func:`chart_of` that NeurIPS 2019 prints."""
    printed = [
        one for one in size_series(source.runs, source.config) if (one.axis, one.evaluation) == ("n_train", ALL_PAIRS)
    ]
    title = "Run time against the number of samples (NeurIPS 2019, Figure 1b)"
    if (chart := scaling_chart(printed, source.config["solvers"])) is None:
        return None
    caption = f"{chart.caption} The paper's figure has q = 20; the panel's heading gives q of these runs."
    return replace(chart, name=FIGURE_1B, title=title, caption=caption)


def scaling_chart(series: list[SizeSeries], defined: Iterable[str] = ()) -> Chart | None:
    """Return one panel for each axis, kernel and evaluation, with a line for each method and its law, if there is any.

    ``defined`` are the solvers that the configuration defines, from which those of the user's own have their styles.
    """
    places = list(dict.fromkeys(one.place for one in series))
    methods = by_method(list(dict.fromkeys(one.method for one in series)))
    styles = styles_of([*defined, *methods])
    exponents = {(one.method, one.place): exponent_text(one.law) for one in series}
    slopes = {method: "; ".join(exponents.get((method, place), "-") for place in places) for method in methods}
    labels = {method: f"{method_label(method)} ({slopes[method]})" for method in methods}
    panels = []
    for place in places:
        here = sorted((one for one in series if one.place == place), key=lambda one: methods.index(one.method))
        drawn = [part for one in here for part in _drawn(one, labels[one.method], styles[one.method])]
        heading = f"{kernel_label(here[0].kernel)} kernel, {here[0].evaluation}, {fixed_sizes(here[0])}"
        axis = Axis(f"number of {AXES[here[0].axis]} {LETTERS[here[0].axis]}", Scale.LOG2)
        panels.append(Panel(heading, axis, Axis(SOLVER_TIME, Scale.LOG2, "s"), drawn))
    if not panels:
        return None
    caption = (
        "Time against the size of the problem, both as powers of two, with the fitted power laws (lines); their "
        "exponents are in the legend in the order of the panels, - where fewer than three sizes ended. "
        f"Laws are fitted to the {_LARGEST_SIZES} largest sizes that ended. "
        "Crosses are runs stopped at their limit of time or memory: their times are lower bounds and enter no fit. "
        f"{TIMES_MEAN}"
    )
    return Chart("scaling", "Run time against the size of the problem", caption, panels, columns=min(2, len(panels)))


def _drawn(one: SizeSeries, label: str, style: Style) -> list[Series]:
    common: dict[str, Any] = {"colour": style.colour, "group": label}
    parts = []
    if one.law is not None:
        sizes = [one.law.smallest, one.law.largest]
        fitted = [one.law.at(size) for size in sizes]
        parts.append(Series(label, sizes, fitted, Mark.LINE, line=style.line, **common))
    name, stopped = f"{method_label(one.method)}, {LETTERS[one.axis]}", "stopped at its limit"
    for points, symbol, ending in ((one.ended, style.symbol, "ended"), (one.stopped, Symbol.CROSS, stopped)):
        if points:
            details = [f"{name} = {size:g}: {time:.3g} s, {ending}" for size, time in points]
            sizes, times = [size for size, _ in points], [time for _, time in points]
            parts.append(Series(label, sizes, times, Mark.POINTS, symbol, words=details, **common))
    return parts
