"""Figures of traces: how far above the best cost each solver is as it works, and performance profiles over problems.

A problem is one run of one data set and kernel in one experiment. A solver has solved it when it has seen a cost
within a relative accuracy of the best known: the lowest that any solver saw or an atlas of optima has stored. t(p, s)
is what had passed by then, and the profile

    rho_s(tau) = share of the problems p with t(p, s) <= tau min_s t(p, s)

begins with the share of problems on which s is the fastest and ends with the share that it solves at all.

Source: Dolan and More, "Benchmarking optimization software with performance profiles", Mathematical Programming 91,
2002.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.status import Status
from kdrbench.suite.findings.outcome import ENDED, LIMITS
from kdrbench.suite.reports.figures.chart import Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.figures.styles import Style, note_of_reference, styles_of
from kdrbench.suite.reports.making import Source
from kdrbench.suite.reports.records import NO_KERNEL, REFERENCE, read_traces
from kdrbench.suite.reports.tables.labels import (
    SOLVER_TIME,
    TIMES_MEAN,
    by_method,
    dataset_label,
    kernel_label,
    labels_of_variants,
    method_label,
)

_CAPTION = (
    "How far the lowest cost so far of each solver is above the best known of the run's problem, "
    "(cost - best) / |best|, as {passes}. The best known is the lowest that any solver saw in the run or an atlas of "
    "optima has stored. Thin lines are runs, the thick line their median at each place and the band their quartiles; a "
    "full mark ends a run that came to its own end, a cross one that was stopped; failed runs are left out. {counted}"
)


@dataclass(frozen=True)
class Abscissa:
    """What is counted while the cost falls: its key in the traces, its axis, and how it is counted.

    Values below ``smallest`` are raised to it: logarithmic axes have no zero.
    """

    key: str
    smallest: float
    name: str
    axis: Axis
    passes: str
    counted: str


TIME = Abscissa("time_s", 0.0, "time", Axis(SOLVER_TIME, Scale.LOG, "s"), "its time passes", TIMES_MEAN)
CALLS = Abscissa(
    "calls",
    1.0,
    "oracle calls",
    Axis("oracle calls", Scale.LOG),
    "it calls its oracles",
    "Values, gradients, surrogates, Hessians and products with them count one each, though a Hessian that is formed "
    "costs more and Dimension Growth's calls, with fewer columns, less; the start counts as one.",
)
# Gaps below this are rounding of the cost.
_SMALLEST_GAP = 1e-12
_PROBLEM = ["experiment", "dataset", "kernel", "run"]
# A curve of more points looks the same.
_POINTS_OF_A_RUN, _POINTS_OF_A_MEDIAN = 60, 200
# Where profiles end that have no step.
_EDGE = 10.0


def chart_of(source: Source) -> Chart:
    """Return one panel a data set and kernel: (cost - best) / |best| against time or calls, both logarithmic.

    The report's kind says which. ``best`` is the lowest cost that any solver saw in the run or that is known.
    """
    experiment, abscissa = source.experiment, CALLS if source.report.kind.endswith("calls") else TIME
    styles, panels = styles_of([*source.config["solvers"], *experiment["solvers"]]), []
    above_best = Axis("cost above best, relative", Scale.LOG)
    traced = _traced(source.runs[source.runs["method"].isin(experiment["solvers"])], source, abscissa)
    for dataset, kernel in product(experiment["datasets"], experiment["kernels"]):
        chosen = traced[(traced["dataset"] == dataset) & (traced["kernel"] == kernel)]
        series = []
        for solver in by_method(experiment["solvers"]):
            rows = chosen[chosen["method"] == solver]
            gaps = {int(row["run"]): _gaps(row, abscissa) for row in rows.to_dict("records")}
            series += _of_one_solver(gaps, rows.set_index("run")["status"], method_label(solver), styles[solver])
        title = f"{dataset_label(dataset)}, {kernel_label(kernel)} kernel"
        panels.append(Panel(title, abscissa.axis, above_best, series))
    return Chart(
        f"{source.name}_cost_against_{abscissa.name.replace(' ', '_')}",
        f"Cost against {abscissa.name}: {experiment['title']}",
        _CAPTION.format(passes=abscissa.passes, counted=abscissa.counted) + note_of_reference(experiment["solvers"]),
        panels,
        len(experiment["kernels"]),
    )


def _traced(runs: pd.DataFrame, source: Source, abscissa: Abscissa) -> pd.DataFrame:
    """Return the runs that did not fail and have a ``curve`` (:func:`curve_of`), with the ``best`` of their problem."""
    ran = runs.loc[runs["status"] != Status.FAILED, [*_PROBLEM, "method", "status", "time_s", "trace_file"]]
    made: dict[int, Any] = {place: curve_of(points, abscissa) for place, points in read_traces(ran, source.traces)}
    curves = {place: curve for place, curve in made.items() if len(curve)}
    traced = ran.iloc[list(curves)].assign(curve=list(curves.values()))
    seen = pd.Series([float(curve[:, 1].min()) for curve in traced["curve"]], traced.index, dtype=float)
    lowest = seen.groupby([traced[name] for name in _PROBLEM]).transform("min")
    problems, known = map(tuple, traced[_PROBLEM].to_numpy(dtype=object).tolist()), source.known
    return traced.assign(best=[known.best(problem, [cost]) for problem, cost in zip(problems, lowest, strict=True)])


def _gaps(run: dict[Hashable, Any], abscissa: Abscissa) -> np.ndarray:
    """Return (``abscissa``, cost above the best, relative) of a run."""
    curve, best = run["curve"], run["best"]
    above = (curve[:, 1] - best) / max(abs(best), np.finfo(float).tiny)
    gaps = np.column_stack([curve[:, 0], np.maximum(above, _SMALLEST_GAP)])
    # One that was stopped by a limit went on to it after the last iterate that was seen.
    if abscissa is TIME and run["status"] in LIMITS and run["time_s"] > curve[-1, 0]:
        gaps = np.vstack([gaps, [run["time_s"], gaps[-1, 1]]])
    return gaps


def _of_one_solver(gaps: dict[int, np.ndarray], endings: pd.Series, name: str, style: Style) -> list[Series]:
    common: dict[str, Any] = {"group": name, "colour": style.colour}
    series = [_steps(f"run {run}", _thin(curve, _POINTS_OF_A_RUN), common, faint=True) for run, curve in gaps.items()]
    ended = set(endings.index[endings.isin(ENDED)])
    for title, symbol, chosen in (
        ("came to its end", style.symbol, [run for run in gaps if run in ended]),
        ("stopped", Symbol.CROSS, [run for run in gaps if run not in ended]),
    ):
        if chosen:
            last = np.array([gaps[run][-1] for run in chosen])
            details = [f"run {run}: {str(endings[run]).replace('_', ' ')}" for run in chosen]
            x, y = last.T.tolist()
            series.append(Series(title, x, y, Mark.POINTS, symbol, faint=True, words=details, **common))
    if gaps:
        places, quartiles = _quartiles(list(gaps.values()))
        middle = _steps("median", np.column_stack([places, quartiles[1]]), common | {"line": style.line})
        if len(gaps) > 1:
            middle = replace(middle, lower=quartiles[0].tolist(), upper=quartiles[2].tolist())
        series.append(middle)
    return series


def _steps(label: str, curve: np.ndarray, common: dict[str, Any], *, faint: bool = False) -> Series:
    x, y = curve.T.tolist()
    return Series(label, x, y, Mark.STEPS, faint=faint, **common)


def curve_of(points: list[dict[str, Any]], abscissa: Abscissa) -> np.ndarray:
    """Return (``abscissa``, lowest cost so far) of the points of a trace, from the first positive abscissa on."""
    pairs = [(point[abscissa.key], point["cost"]) for point in points if point.get(abscissa.key) is not None]
    curve = np.array(pairs, dtype=float).reshape(-1, 2)
    curve[:, 0] = np.maximum(curve[:, 0], abscissa.smallest)
    curve[:, 1] = np.minimum.accumulate(curve[:, 1])
    return curve[curve[:, 0] > 0]


def _quartiles(curves: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return places and the quartiles (3 x places) over runs; a run that has not begun counts with its first value."""
    places = _thin(np.unique(np.concatenate([curve[:, 0] for curve in curves]))[:, None], _POINTS_OF_A_MEDIAN)[:, 0]
    at = np.array([np.searchsorted(curve[:, 0], places, side="right") - 1 for curve in curves])
    values = np.array([curve[np.maximum(begun, 0), 1] for curve, begun in zip(curves, at, strict=True)])
    shown = (at >= 0).sum(axis=0) * 2 >= len(curves)
    return places[shown], np.percentile(values[:, shown], [25, 50, 75], axis=0)


def _thin(curve: np.ndarray, most: int) -> np.ndarray:
    """Return at most ``most`` points of a step curve, the first and the last among them, evenly over log time."""
    if len(curve) <= most:
        return curve
    places = np.linspace(np.log(curve[0, 0]), np.log(curve[-1, 0]), most)
    return np.asarray(curve[np.unique(np.searchsorted(np.log(curve[:, 0]), places).clip(max=len(curve) - 1))])


# Of the lowest cost known: what the papers' tests reach, and what only converged solvers reach.
ACCURACIES = (1e-2, 1e-4)
_PROFILE_CAPTION = (
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
_WITHOUT_TIMES = (
    " Methods of a reference, in thin lines, are in the panels of calls alone: their times are those of "
    "another machine, and are ranked nowhere."
)


def profile_chart(source: Source) -> Chart:
    """Return the profiles of time and of oracle calls, at either accuracy, over all experiments.

    The solvers are those of the experiment that, with all problems on which all of them ran, makes for most runs.
    Methods of a reference are not among the times, which are those of another machine.
    """
    runs = source.runs
    # A method of a reference has neither times nor points.
    unknown = runs["method"].str.endswith(REFERENCE) & runs["time_s"].isna()
    compared = _compared(runs[(runs["kernel"] != NO_KERNEL) & ~unknown])
    solvers = by_method(list(dict.fromkeys(compared["method"])))
    own = [name for name in solvers if not name.endswith(REFERENCE)]
    styles, labels = styles_of([*source.config["solvers"], *solvers]), labels_of_variants(solvers, source.config)
    looks, panels = {label: styles[name] for name, label in labels.items()}, []
    for abscissa, shown in ((TIME, own), (CALLS, solvers)):
        without = _WITHOUT_REFERENCE if len(shown) < len(solvers) else ""
        for accuracy, needed in _needed(compared, source, abscissa).items():
            named = needed.reindex(columns=shown).rename(columns=labels)
            panels.append(_profile_panel(named, abscissa, accuracy, looks, without))
    problems = len(compared[_PROBLEM].drop_duplicates())
    caption = _PROFILE_CAPTION.format(solvers=len(solvers), problems=problems) + (
        _WITHOUT_TIMES if len(own) < len(solvers) else ""
    )
    return Chart("performance_profile", "Performance profile over all problems", caption, panels, len(ACCURACIES))


def profile(needed: pd.DataFrame) -> dict[str, tuple[list[float], list[float]]]:
    """Return of each solver (column) the factors tau >= 1 at which its profile steps, and the profile from there on.

    ``needed`` has a row for each problem, infinite where it was not solved. All profiles end at the same factor: the
    largest one, or 10 where all are 1, so that they are lines.
    """
    # A problem that no solver solved, where a better solution is known, has no fastest.
    fastest = needed.min(axis=1).replace(np.inf, np.nan)
    ratios = needed.div(fastest, axis=0).where(np.isfinite(needed), np.inf)
    finite = ratios.to_numpy()[np.isfinite(ratios.to_numpy())]
    last = float(finite.max(initial=1.0))
    last = last if last > 1.0 else _EDGE
    profiles = {}
    for solver in needed.columns:
        sorted_ratios = np.sort(ratios[solver].to_numpy())
        steps = np.unique(np.concatenate([[1.0], sorted_ratios[np.isfinite(sorted_ratios)], [last]]))
        shares = np.searchsorted(sorted_ratios, steps, side="right") / len(sorted_ratios)
        profiles[str(solver)] = (steps.tolist(), shares.tolist())
    return profiles


def _compared(runs: pd.DataFrame) -> pd.DataFrame:
    best = runs.iloc[:0]
    for _, group in runs.groupby("experiment", sort=False):
        chosen = runs[runs["method"].isin(group["method"].unique())]
        count = chosen.groupby(_PROBLEM)["method"].transform("nunique")
        chosen = chosen[count == group["method"].nunique()]
        best = chosen if len(chosen) > len(best) else best
    return best


def _needed(runs: pd.DataFrame, source: Source, abscissa: Abscissa) -> dict[float, pd.DataFrame]:
    """Return what each solver (column) needed for each problem (row); infinite where it did not solve it."""
    from kdrbench.suite.findings.nearness import until

    traced, solvers, needed = _traced(runs, source, abscissa), list(dict.fromkeys(runs["method"])), {}
    for accuracy in ACCURACIES:
        pairs = zip(traced["curve"], traced["best"], strict=True)
        until_solved = traced.assign(needed=[until(curve, best, accuracy) for curve, best in pairs])
        by_solver = until_solved.pivot(index=_PROBLEM, columns="method", values="needed")
        needed[accuracy] = by_solver.reindex(columns=solvers).fillna(np.inf)
    return needed


def _profile_panel(
    needed: pd.DataFrame, abscissa: Abscissa, accuracy: float, styles: dict[str, Style], without: str
) -> Panel:
    series = [
        Series(name, *steps, Mark.STEPS, colour=styles[name].colour, line=styles[name].line)
        for name, steps in (profile(needed).items() if len(needed) else ())
    ]
    title = f"{abscissa.name} to within {accuracy:g} of the best, {len(needed)} problems{without}"
    of_what = f"least {SOLVER_TIME}" if abscissa is TIME else "fewest calls"
    return Panel(title, Axis(f"multiple of the {of_what}", Scale.LOG), Axis("share of problems solved"), series)
