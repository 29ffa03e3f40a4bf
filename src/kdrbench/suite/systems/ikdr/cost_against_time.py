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

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.status import Status
from kdrbench.suite.findings.outcome import ENDED, LIMITS
from kdrbench.suite.reports.figures.chart import Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.figures.styles import Style, note_of_reference, styles_of
from kdrbench.suite.reports.making import Source
from kdrbench.suite.reports.records import NO_KERNEL, REFERENCE, Config, read_traces
from kdrbench.suite.reports.tables.labels import (
    SOLVER_TIME,
    TIMES_MEAN,
    by_method,
    dataset_label,
    kernel_label,
    method_label,
)
from kdrbench.suite.systems.atlas.optima import NOTHING_KNOWN, BestKnown

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
# A curve of more points looks the same.
_POINTS_OF_A_RUN, _POINTS_OF_A_MEDIAN = 60, 200
# Where profiles end that have no step.
_EDGE = 10.0


def chart_of(source: Source) -> Chart:
    """Return the figure of time or of calls, as the report's kind says."""
    abscissa = CALLS if source.report.kind.endswith("calls") else TIME
    of_one = source.name, source.experiment, abscissa, source.config["solvers"]
    return cost_against_time(source.runs, source.traces, *of_one, source.known)


def cost_against_time(
    runs: pd.DataFrame,
    traces: Path,
    name: str,
    experiment: Config,
    abscissa: Abscissa = TIME,
    defined: Iterable[str] = (),
    known: BestKnown = NOTHING_KNOWN,
) -> Chart:
    """Return one panel a data set and kernel: (cost - best) / |best| against ``abscissa``, both logarithmic.

    ``best`` is the lowest cost that any solver saw in the run or that is ``known``; ``defined`` are the solvers of the
    configuration, from which those of the user's own have their styles.
    """
    styles, panels = styles_of([*defined, *experiment["solvers"]]), []
    above_best = Axis("cost above best, relative", Scale.LOG)
    for dataset, kernel in product(experiment["datasets"], experiment["kernels"]):
        chosen = runs[(runs["dataset"] == dataset) & (runs["kernel"] == kernel) & (runs["status"] != Status.FAILED)]

        def best_of(run: int, curves: Iterable[np.ndarray], cell: tuple[str, str] = (dataset, kernel)) -> float:
            return known.best((name, *cell, run), (float(curve[:, 1].min()) for curve in curves))

        series = _series(chosen, traces, experiment["solvers"], styles, abscissa, best_of)
        title = f"{dataset_label(dataset)}, {kernel_label(kernel)} kernel"
        panels.append(Panel(title, abscissa.axis, above_best, series))
    return Chart(
        f"{name}_cost_against_{abscissa.name.replace(' ', '_')}",
        f"Cost against {abscissa.name}: {experiment['title']}",
        _CAPTION.format(passes=abscissa.passes, counted=abscissa.counted) + note_of_reference(experiment["solvers"]),
        panels,
        len(experiment["kernels"]),
    )


def _series(
    runs: pd.DataFrame,
    traces: Path,
    solvers: list[str],
    styles: dict[str, Style],
    abscissa: Abscissa,
    best_of: Callable[[int, Iterable[np.ndarray]], float],
) -> list[Series]:
    curves = {solver: read_curves(runs[runs["method"] == solver], traces, abscissa) for solver in solvers}
    numbers = dict.fromkeys(run for by_run in curves.values() for run in by_run)
    best = {run: best_of(run, (by_run[run] for by_run in curves.values() if run in by_run)) for run in numbers}
    series = []
    for solver in by_method(solvers):
        gaps, rows = {}, runs[runs["method"] == solver].set_index("run")
        for run, curve in curves[solver].items():
            above = curve[:, 1] - best[run]
            relative = np.maximum(above / max(abs(best[run]), np.finfo(float).tiny), _SMALLEST_GAP)
            gaps[run] = np.column_stack([curve[:, 0], relative])
            # One that was stopped by a limit went on to it after the last iterate that was seen.
            if abscissa is TIME and rows.at[run, "status"] in LIMITS and rows.at[run, "time_s"] > curve[-1, 0]:
                gaps[run] = np.vstack([gaps[run], [rows.at[run, "time_s"], relative[-1]]])
        series += _of_one_solver(gaps, rows["status"], method_label(solver), styles[solver])
    return series


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


def read_curves(runs: pd.DataFrame, traces: Path, abscissa: Abscissa) -> dict[int, np.ndarray]:
    """Return (``abscissa``, lowest cost so far) of each run that has any, from the first positive abscissa on."""
    curves, numbers = {}, runs["run"].to_list()
    for place, points in read_traces(runs, traces):
        if len(curve := curve_of(points, abscissa)):
            curves[int(numbers[place])] = curve
    return curves


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
_PROBLEM = ["experiment", "dataset", "kernel", "run"]
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
    " Methods of a reference, in thin dotted lines, are in the panels of calls alone: their times are those of "
    "another machine, and are ranked nowhere."
)


def profile_chart(source: Source) -> Chart:
    """Return the performance profile of all experiments."""
    return performance_profile(source.runs, source.traces, source.config["solvers"], source.known)


def performance_profile(
    runs: pd.DataFrame, traces: Path, defined: Iterable[str] = (), known: BestKnown = NOTHING_KNOWN
) -> Chart:
    """Return the profiles of time and of oracle calls, at either accuracy.

    The solvers are those of the experiment that, with all problems on which all of them ran, makes for most runs.
    Methods of a reference are not among the times, which are those of another machine.
    """
    # A method of a reference has neither times nor points.
    unknown = runs["method"].str.endswith(REFERENCE) & runs["time_s"].isna()
    compared = _compared(runs[(runs["kernel"] != NO_KERNEL) & ~unknown])
    solvers = by_method(list(dict.fromkeys(compared["method"])))
    own = [name for name in solvers if not name.endswith(REFERENCE)]
    styles, panels = styles_of([*defined, *solvers]), []
    for abscissa, shown in ((TIME, own), (CALLS, solvers)):
        needed = _needed(compared, traces, abscissa, known)
        without = _WITHOUT_REFERENCE if len(shown) < len(solvers) else ""
        panels += [
            _profile_panel(needed[accuracy].reindex(columns=shown), abscissa, accuracy, styles, without)
            for accuracy in ACCURACIES
        ]
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


def _needed(runs: pd.DataFrame, traces: Path, abscissa: Abscissa, known: BestKnown) -> dict[float, pd.DataFrame]:
    """Return what each solver (column) needed for each problem (row); infinite where it did not solve it."""
    from kdrbench.suite.findings.nearness import until

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


def _profile_panel(
    needed: pd.DataFrame, abscissa: Abscissa, accuracy: float, styles: dict[str, Style], without: str
) -> Panel:
    series = [
        Series(method_label(name), *steps, Mark.STEPS, colour=styles[name].colour, line=styles[name].line)
        for name, steps in (profile(needed).items() if len(needed) else ())
    ]
    title = f"{abscissa.name} to within {accuracy:g} of the best, {len(needed)} problems{without}"
    of_what = f"least {SOLVER_TIME}" if abscissa is TIME else "fewest calls"
    return Panel(title, Axis(f"multiple of the {of_what}", Scale.LOG), Axis("share of problems solved"), series)
