"""Two figures: how far above the best cost each solver is, as its time passes and as it calls its oracles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.bench.experiment import Config
from kdrbench.bench.published import read_points
from kdrbench.reports.chart import Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.reports.layout import by_method, dataset_label, kernel_label, solver_label
from kdrbench.reports.looks import Look, looks_of
from kdrbench.reports.summary import COMPLETED
from kdrbench.solvers import Status

_CAPTION = (
    "How far each solver is above the lowest cost that any of them saw in the fold, (cost - best) / |best|, as "
    "{passes}. Thin lines are folds, the thick line their median at each place and the band their quartiles, dashed "
    "for converged variants; a full mark ends a run that came to its own end, a cross one that was stopped; failed "
    "runs are left out. {counted}"
)


@dataclass(frozen=True)
class Abscissa:
    """What passes while the cost falls: its key in the traces, its axis, and words on how it is counted.

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
    Axis("solver time", Scale.LOG, "s"),
    "its time passes",
    "Times are those of the first, watched solve of each fold; the tables' times are medians of repeated ones.",
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
# A curve of more points cannot be told from one of so many.
_POINTS_OF_A_FOLD, _POINTS_OF_A_MEDIAN = 60, 200


def cost_against_time(
    runs: pd.DataFrame,
    traces: Path,
    name: str,
    experiment: Config,
    abscissa: Abscissa = TIME,
    defined: Iterable[str] = (),
) -> Chart:
    """Return one panel a data set and kernel: (cost - best) / |best| against ``abscissa``, both logarithmic.

    ``best`` is the lowest cost that any solver saw in the fold. Seconds are those of the first, watched solve. ``name``
    is the experiment's, ``defined`` the solvers that the configuration defines, from which those of the user's own have
    their looks.
    """
    looks, panels = looks_of([*defined, *experiment["solvers"]]), []
    for dataset in experiment["datasets"]:
        for kernel in experiment["kernels"]:
            chosen = runs[(runs["dataset"] == dataset) & (runs["kernel"] == kernel) & (runs["status"] != Status.FAILED)]
            panels.append(
                Panel(
                    f"{dataset_label(dataset)}, {kernel_label(kernel)} kernel",
                    abscissa.axis,
                    Axis("cost above best, relative", Scale.LOG),
                    _series(chosen, traces, experiment["solvers"], looks, abscissa),
                )
            )
    return Chart(
        f"{name}_cost_against_{abscissa.name.replace(' ', '_')}",
        f"Cost against {abscissa.name}: {experiment['title']}",
        _CAPTION.format(passes=abscissa.passes, counted=abscissa.counted),
        panels,
        len(experiment["kernels"]),
    )


def _series(
    runs: pd.DataFrame, traces: Path, solvers: list[str], looks: dict[str, Look], abscissa: Abscissa
) -> list[Series]:
    """Return of each solver its folds, their ends and their median."""
    curves = {solver: read_curves(runs[runs["solver"] == solver], traces, abscissa) for solver in solvers}
    best: dict[int, float] = {}
    for by_fold in curves.values():
        for fold, curve in by_fold.items():
            best[fold] = min(best.get(fold, np.inf), float(curve[:, 1].min()))
    found = []
    for solver in by_method(solvers):
        gaps = {
            fold: np.column_stack([curve[:, 0], _gap(curve[:, 1], best[fold])])
            for fold, curve in curves[solver].items()
        }
        endings = runs[runs["solver"] == solver].set_index("fold")["status"]
        found += _of_one_solver(gaps, endings, solver_label(solver), looks[solver])
    return found


def _of_one_solver(gaps: dict[int, np.ndarray], endings: pd.Series, name: str, look: Look) -> list[Series]:
    style: dict[str, Any] = {"group": name, "colour": look.colour}
    found = [_steps(f"fold {fold}", _thin(curve, _POINTS_OF_A_FOLD), style, faint=True) for fold, curve in gaps.items()]
    ended = set(endings.index[endings.isin([*map(str, COMPLETED)])])
    for title, symbol, folds in (
        ("came to its end", look.symbol, [fold for fold in gaps if fold in ended]),
        ("stopped", Symbol.CROSS, [fold for fold in gaps if fold not in ended]),
    ):
        if folds:
            last = np.array([gaps[fold][-1] for fold in folds])
            words = [f"fold {fold}: {str(endings[fold]).replace('_', ' ')}" for fold in folds]
            x, y = last[:, 0].tolist(), last[:, 1].tolist()
            found.append(Series(title, x, y, Mark.POINTS, symbol, faint=True, words=words, **style))
    if gaps:
        places, quartiles = _quartiles(list(gaps.values()))
        middle = _steps("median", np.column_stack([places, quartiles[1]]), style | {"line": look.line})
        if len(gaps) > 1:
            middle = replace(middle, lower=quartiles[0].tolist(), upper=quartiles[2].tolist())
        found.append(middle)
    return found


def _steps(label: str, curve: np.ndarray, style: dict[str, Any], *, faint: bool = False) -> Series:
    return Series(label, curve[:, 0].tolist(), curve[:, 1].tolist(), Mark.STEPS, faint=faint, **style)


def read_curves(runs: pd.DataFrame, traces: Path, abscissa: Abscissa) -> dict[int, np.ndarray]:
    """Return (``abscissa``, lowest cost so far) of each fold that has any, from the first positive abscissa on."""
    result = {}
    for fold, points in _points(runs, traces).items():
        known = [(point[abscissa.key], point["cost"]) for point in points if point.get(abscissa.key) is not None]
        curve = np.array(known, dtype=float).reshape(-1, 2)
        curve[:, 0] = np.maximum(curve[:, 0], abscissa.smallest)
        curve[:, 1] = np.minimum.accumulate(curve[:, 1])
        if (curve[:, 0] > 0).any():
            result[fold] = curve[curve[:, 0] > 0]
    return result


def _points(runs: pd.DataFrame, traces: Path) -> dict[int, list[dict[str, Any]]]:
    found = {}
    for name, group in runs.groupby("trace_file", sort=False):
        points = read_points(traces / str(name))
        for kernel, solver, fold in zip(group["kernel"], group["solver"], group["fold"], strict=True):
            if (kernel, solver, fold) in points:
                found[int(fold)] = points[kernel, solver, fold]
    return found


def _gap(costs: np.ndarray, best: float) -> np.ndarray:
    return np.maximum((costs - best) / max(abs(best), np.finfo(float).tiny), _SMALLEST_GAP)


def _quartiles(curves: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return places and the quartiles (3 x places) over folds of the step functions, where half of them have begun.

    A fold that has not begun is where it begins: were it left out, the median would rise whenever a late one joins.
    """
    places = _thin(np.unique(np.concatenate([curve[:, 0] for curve in curves]))[:, None], _POINTS_OF_A_MEDIAN)[:, 0]
    at = np.array([np.searchsorted(curve[:, 0], places, side="right") - 1 for curve in curves])
    values = np.array([curve[np.maximum(own, 0), 1] for curve, own in zip(curves, at, strict=True)])
    shown = (at >= 0).sum(axis=0) * 2 >= len(curves)
    return places[shown], np.percentile(values[:, shown], [25, 50, 75], axis=0)


def _thin(curve: np.ndarray, most: int) -> np.ndarray:
    """Return at most ``most`` points of a step curve, the first and the last among them, evenly over log time."""
    if len(curve) <= most:
        return curve
    places = np.linspace(np.log(curve[0, 0]), np.log(curve[-1, 0]), most)
    return np.asarray(curve[np.unique(np.searchsorted(np.log(curve[:, 0]), places).clip(max=len(curve) - 1))])
