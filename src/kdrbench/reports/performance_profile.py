"""Performance profiles: on what share of all problems a solver is within a factor of the fastest.

A problem is one fold of one data set and kernel in one experiment. A solver has solved it when it has seen a cost
within a relative accuracy of the lowest that any solver saw; t(p, s) is what had passed by then, and the profile

    rho_s(tau) = share of the problems p with t(p, s) <= tau min_s t(p, s)

begins with the share of problems on which s is the fastest and ends with the share that it solves at all.

Source: Dolan and More, "Benchmarking optimization software with performance profiles", Mathematical Programming 91,
2002.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from kdrbench.bench.config import NO_KERNEL
from kdrbench.reports.chart import Axis, Chart, Mark, Panel, Scale, Series
from kdrbench.reports.cost_against_time import CALLS, TIME, Abscissa, read_curves
from kdrbench.reports.layout import by_method, solver_label
from kdrbench.reports.looks import Look, looks_of
from kdrbench.solvers import Status

# Of the lowest cost known: what the papers' tests reach, and what tells converged solvers from others.
ACCURACIES = (1e-2, 1e-4)
_PROBLEM = ["experiment", "dataset", "kernel", "fold"]
_CAPTION = (
    "Share of the problems (a fold of a data set and kernel each) that a solver solves within a factor of the fastest "
    "(Dolan and More 2002); solved is a cost within the stated share of the lowest that any of the solvers saw. Lines "
    "begin with the share on which the solver is the fastest and end with the share it solves at all within its "
    "limits; failed runs solve nothing. Compared are {solvers} solvers on the {problems} problems that all of them "
    "ran; oracle calls, all alike and the start as one, are counted of supervised problems only."
)


def performance_profile(runs: pd.DataFrame, traces: Path, defined: Iterable[str] = ()) -> Chart:
    """Return the profiles of time and of oracle calls, at either accuracy.

    The solvers are those of the experiment that, with all problems on which all of them ran, makes for most runs.
    ``defined`` are those that the configuration defines, from which those of the user's own have their looks.
    """
    compared = _compared(runs[runs["kernel"] != NO_KERNEL])
    solvers = by_method(list(dict.fromkeys(compared["solver"])))
    looks, panels = looks_of([*defined, *solvers]), []
    for abscissa in (TIME, CALLS):
        needed = _needed(compared, traces, abscissa)
        panels += [
            _panel(needed[accuracy].reindex(columns=solvers), abscissa, accuracy, looks) for accuracy in ACCURACIES
        ]
    problems = len(compared[_PROBLEM].drop_duplicates())
    caption = _CAPTION.format(solvers=len(solvers), problems=problems)
    return Chart("performance_profile", "Performance profile over all problems", caption, panels, len(ACCURACIES))


def profile(needed: pd.DataFrame) -> dict[str, tuple[list[float], list[float]]]:
    """Return of each solver (column) the factors tau >= 1 at which its profile steps, and the profile from there on.

    ``needed`` has a row for each problem, infinite where it was not solved. All profiles end at the same factor.
    """
    fastest = needed.min(axis=1)
    ratios = needed.div(fastest, axis=0).where(np.isfinite(needed), np.inf)
    finite = ratios.to_numpy()[np.isfinite(ratios.to_numpy())]
    last = float(finite.max()) if finite.size else 1.0
    profiles = {}
    for solver in needed.columns:
        own = np.sort(ratios[solver].to_numpy())
        steps = np.unique(np.concatenate([[1.0], own[np.isfinite(own)], [last]]))
        profiles[str(solver)] = steps.tolist(), (np.searchsorted(own, steps, side="right") / len(own)).tolist()
    return profiles


def _compared(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the solvers that are compared, on the problems on which all of them ran."""
    best = runs.iloc[:0]
    for _, group in runs.groupby("experiment", sort=False):
        chosen = runs[runs["solver"].isin(group["solver"].unique())]
        count = chosen.groupby(_PROBLEM)["solver"].transform("nunique")
        chosen = chosen[count == group["solver"].nunique()]
        best = chosen if len(chosen) > len(best) else best
    return best


def _needed(runs: pd.DataFrame, traces: Path, abscissa: Abscissa) -> dict[float, pd.DataFrame]:
    """Return what each solver (column) needed for each problem (row), by accuracy; infinite where it did not solve it.

    Problems in whose traces nothing of the kind is counted are left out.
    """
    curves: dict[tuple[str, ...], dict[str, np.ndarray]] = {}
    for axes, group in runs.groupby([*_PROBLEM[:-1], "solver"], sort=False):
        *problem, solver = map(str, axes)
        counted = read_curves(group[group["status"] != Status.FAILED], traces, abscissa)
        for fold, curve in counted.items():
            curves.setdefault((*problem, str(fold)), {})[solver] = curve
    solvers = list(dict.fromkeys(runs["solver"]))
    needed = {}
    for accuracy in ACCURACIES:
        rows = [[_until_solved(by_solver, solver, accuracy) for solver in solvers] for by_solver in curves.values()]
        needed[accuracy] = pd.DataFrame(rows, columns=solvers, dtype=float)
    return needed


def _until_solved(curves: dict[str, np.ndarray], solver: str, accuracy: float) -> float:
    """Return what had passed when the solver's curve came near the lowest of all; infinite where it never does."""
    if solver not in curves:
        return np.inf
    lowest = min(float(curve[:, 1].min()) for curve in curves.values())
    solved = curves[solver][:, 1] <= lowest + accuracy * abs(lowest)
    return float(curves[solver][np.argmax(solved), 0]) if solved.any() else np.inf


def _panel(needed: pd.DataFrame, abscissa: Abscissa, accuracy: float, looks: dict[str, Look]) -> Panel:
    series = [
        Series(
            solver_label(solver),
            factors,
            shares,
            Mark.STEPS,
            colour=looks[solver].colour,
            line=looks[solver].line,
        )
        for solver, (factors, shares) in profile(needed).items()
        if len(needed)
    ]
    return Panel(
        f"{abscissa.name} to within {accuracy:g} of the best, {len(needed)} problems",
        Axis(
            f"multiple of the least {abscissa.name}" if abscissa is TIME else "multiple of the fewest calls", Scale.LOG
        ),
        Axis("share of problems solved"),
        series,
    )
