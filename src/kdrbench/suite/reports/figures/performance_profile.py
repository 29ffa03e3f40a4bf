"""Performance profiles: on what share of all problems a solver is within a factor of the fastest.

A problem is one run of one data set and kernel in one experiment. A solver has solved it when it has seen a cost
within a relative accuracy of the best known: the lowest that any solver saw or an atlas of optima has stored. t(p, s)
is what had passed by then, and the profile

    rho_s(tau) = share of the problems p with t(p, s) <= tau min_s t(p, s)

begins with the share of problems on which s is the fastest and ends with the share that it solves at all.

Source: Dolan and More, "Benchmarking optimization software with performance profiles", Mathematical Programming 91,
2002.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kdrbench.status import Status
from kdrbench.suite.findings.nearness import until
from kdrbench.suite.reports.figures.chart import Axis, Chart, Mark, Panel, Scale, Series
from kdrbench.suite.reports.figures.cost_against_time import CALLS, TIME, Abscissa, read_curves
from kdrbench.suite.reports.figures.styles import Style, styles_of
from kdrbench.suite.reports.optima import NOTHING_KNOWN, BestKnown
from kdrbench.suite.reports.records import NO_KERNEL, REFERENCE
from kdrbench.suite.reports.tables.labels import SOLVER_TIME, TIMES_MEAN, by_method, method_label

if TYPE_CHECKING:
    from kdrbench.suite.reports.figures.making import Source

# Of the lowest cost known: what the papers' tests reach, and what only converged solvers reach.
ACCURACIES = (1e-2, 1e-4)
_PROBLEM = ["experiment", "dataset", "kernel", "run"]
_CAPTION = (
    "Share of the problems (a run of a data set and kernel each) that a solver solves within a factor of the fastest "
    "(Dolan and More 2002); solved is a cost within the stated share of the best known, the lowest that any of the "
    "solvers saw or an atlas of optima has stored. Lines begin with the share on which the solver is the fastest and "
    "end with the share it solves at all within its "
    "limits; failed runs solve nothing. Compared are {solvers} solvers on the {problems} problems that all of them "
    "ran; oracle calls, all alike and the start as one, are counted of supervised problems only. "
    f"{TIMES_MEAN}"
)
# Of each panel of times where there are methods of a reference, and of the whole figure.
_WITHOUT_REFERENCE = ", without the reference's times"
_NOTE = (
    " Methods of a reference, in thin dotted lines, are in the panels of calls alone: their times are scaled from "
    "another machine by the calibration kernel, and are ranked nowhere."
)


def chart_of(source: Source) -> Chart:
    """Return the figure of all experiments."""
    return performance_profile(source.runs, source.traces, source.config["solvers"], source.known)


def performance_profile(
    runs: pd.DataFrame, traces: Path, defined: Iterable[str] = (), known: BestKnown = NOTHING_KNOWN
) -> Chart:
    """Return the profiles of time and of oracle calls, at either accuracy.

    The solvers are those of the experiment that, with all problems on which all of them ran, makes for most runs.
    ``defined`` are those that the configuration defines, from which those of the user's own have their styles. Methods
    of a reference are not among the times: those of another machine are not ranked with one's own, here as elsewhere.
    """
    # A method of a reference without a calibration has neither times nor points.
    unknown = runs["method"].str.endswith(REFERENCE) & runs["time_s"].isna()
    compared = _compared(runs[(runs["kernel"] != NO_KERNEL) & ~unknown])
    solvers = by_method(list(dict.fromkeys(compared["method"])))
    own = [name for name in solvers if not name.endswith(REFERENCE)]
    styles, panels = styles_of([*defined, *solvers]), []
    for abscissa, shown in ((TIME, own), (CALLS, solvers)):
        needed = _needed(compared, traces, abscissa, known)
        without = _WITHOUT_REFERENCE if len(shown) < len(solvers) else ""
        panels += [
            _panel(needed[accuracy].reindex(columns=shown), abscissa, accuracy, styles, without)
            for accuracy in ACCURACIES
        ]
    problems = len(compared[_PROBLEM].drop_duplicates())
    caption = _CAPTION.format(solvers=len(solvers), problems=problems) + (_NOTE if len(own) < len(solvers) else "")
    return Chart("performance_profile", "Performance profile over all problems", caption, panels, len(ACCURACIES))


def profile(needed: pd.DataFrame) -> dict[str, tuple[list[float], list[float]]]:
    """Return of each solver (column) the factors tau >= 1 at which its profile steps, and the profile from there on.

    ``needed`` has a row for each problem, infinite where it was not solved. All profiles end at the same factor.
    """
    # A problem that no solver solved, where a better solution is known, has no fastest.
    fastest = needed.min(axis=1).replace(np.inf, np.nan)
    ratios = needed.div(fastest, axis=0).where(np.isfinite(needed), np.inf)
    finite = ratios.to_numpy()[np.isfinite(ratios.to_numpy())]
    last = float(finite.max()) if finite.size else 1.0
    profiles = {}
    for solver in needed.columns:
        sorted_ratios = np.sort(ratios[solver].to_numpy())
        steps = np.unique(np.concatenate([[1.0], sorted_ratios[np.isfinite(sorted_ratios)], [last]]))
        profiles[str(solver)] = (
            steps.tolist(),
            (np.searchsorted(sorted_ratios, steps, side="right") / len(sorted_ratios)).tolist(),
        )
    return profiles


def _compared(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the solvers that are compared, on the problems on which all of them ran."""
    best = runs.iloc[:0]
    for _, group in runs.groupby("experiment", sort=False):
        chosen = runs[runs["method"].isin(group["method"].unique())]
        count = chosen.groupby(_PROBLEM)["method"].transform("nunique")
        chosen = chosen[count == group["method"].nunique()]
        best = chosen if len(chosen) > len(best) else best
    return best


def _needed(runs: pd.DataFrame, traces: Path, abscissa: Abscissa, known: BestKnown) -> dict[float, pd.DataFrame]:
    """Return what each solver (column) needed for each problem (row), by accuracy; infinite where it did not solve it.

    Problems in whose traces nothing of the kind is counted are left out.
    """
    curves: dict[tuple[str, str, str, int], dict[str, np.ndarray]] = {}
    for axes, group in runs.groupby([*_PROBLEM[:-1], "method"], sort=False):
        experiment, dataset, kernel, solver = map(str, axes)
        counted = read_curves(group[group["status"] != Status.FAILED], traces, abscissa)
        for run, curve in counted.items():
            curves.setdefault((experiment, dataset, kernel, run), {})[solver] = curve
    solvers = list(dict.fromkeys(runs["method"]))
    best = [known.best(one, (float(curve[:, 1].min()) for curve in curves[one].values())) for one in curves]
    needed = {}
    for accuracy in ACCURACIES:
        rows = [
            [until(by_solver[solver], lowest, accuracy) if solver in by_solver else np.inf for solver in solvers]
            for by_solver, lowest in zip(curves.values(), best, strict=True)
        ]
        needed[accuracy] = pd.DataFrame(rows, columns=solvers, dtype=float)
    return needed


def _panel(needed: pd.DataFrame, abscissa: Abscissa, accuracy: float, styles: dict[str, Style], without: str) -> Panel:
    series = [
        Series(
            method_label(solver),
            factors,
            shares,
            Mark.STEPS,
            colour=styles[solver].colour,
            line=styles[solver].line,
        )
        for solver, (factors, shares) in profile(needed).items()
        if len(needed)
    ]
    return Panel(
        f"{abscissa.name} to within {accuracy:g} of the best, {len(needed)} problems{without}",
        Axis(f"multiple of the least {SOLVER_TIME}" if abscissa is TIME else "multiple of the fewest calls", Scale.LOG),
        Axis("share of problems solved"),
        series,
    )
