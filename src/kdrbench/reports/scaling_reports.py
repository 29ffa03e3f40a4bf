"""The figure of time against size (NeurIPS 2019, Fig. 1b, and the same for d and q) and the table of exponents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kdrbench.reports.chart import Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.reports.layout import by_method, kernel_label, solver_label
from kdrbench.reports.looks import Look, looks_of
from kdrbench.reports.paper_table import Entry, PaperTable
from kdrbench.reports.power_law import MANY_SAMPLES, PowerLaw
from kdrbench.reports.scaling import ALL_PAIRS, AXES, LETTERS, SizeSeries

_NOTHING = "-"
# Exponents of one iteration, see the note below the table.
_OF_PAIRS = {"n_train": "2", "n_features": "at most 1", "n_components": "at most 1"}
_OF_FACTORS = {"n_train": "1", "n_features": "at most 1", "n_components": "at most p - 1"}


def scaling_chart(series: list[SizeSeries], defined: Iterable[str] = ()) -> Chart:
    """Return one panel for each axis, kernel and evaluation, with a line for each solver and its law.

    ``defined`` are the solvers that the configuration defines, from which those of the user's own have their looks.
    """
    places = list(dict.fromkeys(one.place for one in series))
    solvers = by_method(list(dict.fromkeys(one.solver for one in series)))
    looks = looks_of([*defined, *solvers])
    labels = {solver: _legend(solver, places, series) for solver in solvers}
    panels = []
    for place in places:
        own = sorted((one for one in series if one.place == place), key=lambda one: solvers.index(one.solver))
        drawn = [part for one in own for part in _drawn(one, labels[one.solver], looks[one.solver])]
        axis = Axis(f"number of {AXES[own[0].axis]} {LETTERS[own[0].axis]}", Scale.LOG2)
        panels.append(Panel(_heading(own[0]), axis, Axis("run time", Scale.LOG2, "s"), drawn))
    if not panels:
        # A grid of one or two sizes has nothing to draw, which is no reason for the others' reports to fail.
        panels = [
            Panel("no series of three sizes was run", Axis("size", Scale.LOG2), Axis("run time", Scale.LOG2, "s"))
        ]
    caption = (
        "Run time against the size of the problem, both as powers of two, with the fitted power laws (lines); their "
        "exponents stand in the legend in the order of the panels, - where fewer than three sizes ended. "
        f"Laws in n are fitted from {MANY_SAMPLES:g} samples on where three such sizes ended. "
        "Crosses are runs stopped at their limit of time or memory: their times are lower bounds and enter no fit."
    )
    return Chart("scaling", "Run time against the size of the problem", caption, panels, columns=min(2, len(panels)))


def _legend(solver: str, places: list[tuple[object, ...]], series: list[SizeSeries]) -> str:
    own = {one.place: one.law for one in series if one.solver == solver}
    slopes = [_exponent(own.get(place)) for place in places]
    return f"{solver_label(solver)} ({'; '.join(slopes)})"


def _exponent(law: PowerLaw | None) -> str:
    return _NOTHING if law is None else f"{law.exponent:.2f}"


def _heading(one: SizeSeries) -> str:
    fixed = ", ".join(f"{LETTERS[name]} = {size}" for name, size in one.fixed)
    return f"{kernel_label(one.kernel)} kernel, {one.evaluation}, {fixed}"


def _drawn(one: SizeSeries, label: str, look: Look) -> list[Series]:
    """Return the law, the runs that ended and those that were stopped; one entry of the legend."""
    style: dict[str, Any] = {"colour": look.colour, "group": label}
    parts = []
    if one.law is not None:
        sizes = [one.law.smallest, one.law.largest]
        fitted = [one.law.at(size) for size in sizes]
        parts.append(Series(label, sizes, fitted, Mark.LINE, line=look.line, **style))
    for points, symbol, said in (
        (one.ended, look.symbol, "ended"),
        (one.stopped, Symbol.CROSS, "stopped at its limit"),
    ):
        if points:
            words = [
                f"{solver_label(one.solver)}, {LETTERS[one.axis]} = {size:g}: {time:.3g} s, {said}"
                for size, time in points
            ]
            sizes, times = [size for size, _ in points], [time for _, time in points]
            parts.append(Series(label, sizes, times, Mark.POINTS, symbol, words=words, **style))
    return parts


_COLUMNS = ["Varied", "Others", "Solver", "Sizes", "Ended", "Stopped", "Run", "95 %", "Iteration", "95 %", "Expected"]
_NOTES = [
    "Run: exponent of the time of a whole run; iteration: of time over iterations, which is what an analysis of "
    "complexity counts. 95 %: interval of Student's t for the slope of log2 time against log2 size.",
    "Expected, an iteration: n^2 for sums over all pairs, as the papers state for every solver (NeurIPS 2019, Figure "
    "1b), and n for sums in factors; in d and q by counting operations: over all pairs a surrogate takes n^2 (d + q) "
    "and a gradient n^2 q + n d q, and in factors of a polynomial of degree p the features grow as q^(p-1).",
    f"Laws in n are fitted from {MANY_SAMPLES:g} samples on where three such sizes ended, else with all that did. Runs "
    "that were stopped at a limit, or failed, enter no fit.",
]


def complexity_table(series: list[SizeSeries]) -> PaperTable:
    """Return measured exponents of time, whole runs and iterations, with 95 % intervals, beside what is expected."""
    places = dict.fromkeys(one.place for one in series)
    blocks = [[_line(one) for one in series if one.place == place] for place in places]
    title = "Measured exponents of time in n, d and q."
    return PaperTable("complexity", title, _COLUMNS, blocks, _NOTES, n_labels=3)


def _line(one: SizeSeries) -> list[Entry]:
    sizes = sorted({size for size, _ in one.ended + one.stopped})
    fixed = ", ".join(f"{LETTERS[name]} = {size}" for name, size in one.fixed)
    span = f"{sizes[0]:g} to {sizes[-1]:g}" if sizes else _NOTHING
    words = [
        f"{LETTERS[one.axis]}, {one.evaluation}",
        fixed,
        solver_label(one.solver),
        span,
        str(len(one.ended)),
        str(len(one.stopped) + one.lost),
    ]
    for law in (one.law, one.law_of_an_iteration):
        interval = _NOTHING if law is None else f"{law.low:.2f} to {law.high:.2f}"
        words += [_exponent(law), interval]
    return [Entry(text) for text in [*words, _expected(one)]]


def _expected(one: SizeSeries) -> str:
    return (_OF_PAIRS if one.evaluation == ALL_PAIRS else _OF_FACTORS)[one.axis]
