"""Two figures: how far above the best cost each solver is, as its time passes and as it calls its oracles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kdrbench.status import Status
from kdrbench.suite.findings.outcome import ENDED
from kdrbench.suite.reports.figures.chart import Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.figures.styles import Style, note_of_reference, styles_of
from kdrbench.suite.reports.optima import NOTHING_KNOWN, BestKnown
from kdrbench.suite.reports.records import Config, read_traces
from kdrbench.suite.reports.tables.labels import (
    SOLVER_TIME,
    TIMES_MEAN,
    by_method,
    dataset_label,
    kernel_label,
    method_label,
)

if TYPE_CHECKING:
    from kdrbench.suite.reports.figures.making import Source

_CAPTION = (
    "How far the lowest cost so far of each solver is above the best known of the run's problem, "
    "(cost - best) / |best|, as {passes}. The best known is the lowest that any solver saw in the run or an atlas of "
    "optima has stored. Thin lines are runs, the thick line their median at each place and the band their quartiles, "
    "dashed for converged variants; a full mark ends a run that came to its own end, a cross one that was stopped; "
    "failed runs are left out. {counted}"
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


TIME = Abscissa(
    "time_s",
    0.0,
    "time",
    Axis(SOLVER_TIME, Scale.LOG, "s"),
    "its time passes",
    TIMES_MEAN,
)
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

    ``best`` is the lowest cost that any solver saw in the run or that is ``known``. Seconds are those of the first,
    traced solve. ``name`` is the experiment's, ``defined`` the solvers that the configuration defines, from which those
    of the user's own have their styles.
    """
    styles, panels = styles_of([*defined, *experiment["solvers"]]), []
    for dataset in experiment["datasets"]:
        for kernel in experiment["kernels"]:
            place = name, dataset, kernel
            chosen = runs[(runs["dataset"] == dataset) & (runs["kernel"] == kernel) & (runs["status"] != Status.FAILED)]
            panels.append(
                Panel(
                    f"{dataset_label(dataset)}, {kernel_label(kernel)} kernel",
                    abscissa.axis,
                    Axis("cost above best, relative", Scale.LOG),
                    _series(chosen, traces, experiment["solvers"], styles, abscissa, partial(_best, known, place)),
                )
            )
    return Chart(
        f"{name}_cost_against_{abscissa.name.replace(' ', '_')}",
        f"Cost against {abscissa.name}: {experiment['title']}",
        _CAPTION.format(passes=abscissa.passes, counted=abscissa.counted) + note_of_reference(experiment["solvers"]),
        panels,
        len(experiment["kernels"]),
    )


def _best(known: BestKnown, place: tuple[str, str, str], run: int, curves: Iterable[np.ndarray]) -> float:
    return known.best((*place, run), (float(curve[:, 1].min()) for curve in curves))


def _series(
    runs: pd.DataFrame,
    traces: Path,
    solvers: list[str],
    styles: dict[str, Style],
    abscissa: Abscissa,
    best_of: Callable[[int, Iterable[np.ndarray]], float],
) -> list[Series]:
    """Return the runs of each solver, their ends and their median."""
    curves = {solver: read_curves(runs[runs["method"] == solver], traces, abscissa) for solver in solvers}
    numbers = dict.fromkeys(run for by_run in curves.values() for run in by_run)
    best = {run: best_of(run, (by_run[run] for by_run in curves.values() if run in by_run)) for run in numbers}
    series = []
    for solver in by_method(solvers):
        gaps = {
            run: np.column_stack([curve[:, 0], _gap(curve[:, 1], best[run]), curve[:, 1] - best[run]])
            for run, curve in curves[solver].items()
        }
        endings = runs[runs["method"] == solver].set_index("run")["status"]
        series += _of_one_solver(gaps, endings, method_label(solver), styles[solver])
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
            x, y, absolute = last.T.tolist()
            marks = {"faint": True, "words": details, "absolute": absolute}
            series.append(Series(title, x, y, Mark.POINTS, symbol, **marks, **common))
    if gaps:
        places, quartiles = _quartiles(list(gaps.values()))
        absolute = _quartiles([curve[:, [0, 2]] for curve in gaps.values()])[1][1]
        middle = _steps("median", np.column_stack([places, quartiles[1], absolute]), common | {"line": style.line})
        if len(gaps) > 1:
            middle = replace(middle, lower=quartiles[0].tolist(), upper=quartiles[2].tolist())
        series.append(middle)
    return series


def _steps(label: str, curve: np.ndarray, common: dict[str, Any], *, faint: bool = False) -> Series:
    x, y, absolute = curve.T.tolist()
    return Series(label, x, y, Mark.STEPS, faint=faint, absolute=absolute, **common)


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


def _gap(costs: np.ndarray, best: float) -> np.ndarray:
    return np.maximum((costs - best) / max(abs(best), np.finfo(float).tiny), _SMALLEST_GAP)


def _quartiles(curves: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return places and the quartiles (3 x places) over runs of the step functions, where half of them have begun.

    A run that has not begun counts with its first value: without it the median would rise whenever a late one joins.
    """
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
