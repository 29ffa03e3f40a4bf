"""Two solvers compared run by run: wins, median ratios, and Wilcoxon's test with Holm's correction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kdrbench.errors import InputError, unknown_name
from kdrbench.kernels.family import FloatArray
from kdrbench.reports.records import Metric
from kdrbench.reports.tables.cells import COMPLETED, METRICS
from kdrbench.reports.tables.significance import holm, signed_rank_p

_AXES = ["experiment", "dataset", "kernel"]
# Costs nearer than this, relative to the larger one, are the same cost: rounding decides no win.
_SAME_COST = 1e-9


@dataclass(frozen=True)
class Pair:
    """One metric of two solvers in one cell, over the ``runs`` in which both have a number.

    ``wins`` and ``losses`` are the first one's; the rest are ties. ``ratio`` is the median of first / second, ``None``
    where a number is not positive (of costs that of F = -cost). ``p`` is that of Wilcoxon's signed rank test, ``holm``
    the same after Holm's correction over all cells of the metric; ``None`` where all differences are zero.
    """

    experiment: str
    dataset: str
    kernel: str
    metric: str
    runs: int
    wins: int
    losses: int
    ratio: float | None
    p: float | None
    holm: float | None = None


class _Cell(NamedTuple):
    axes: tuple[str, str, str]
    first: pd.DataFrame
    second: pd.DataFrame


def compare_solvers(runs: pd.DataFrame, first: str, second: str) -> list[Pair]:
    """Return each metric of each cell in which both solvers have runs; times only of runs that came to their own end.

    Raises ``InputError`` for a solver without runs, and when the two have no cell in common.
    """
    methods = sorted(str(name) for name in runs["method"].unique())
    for name in (first, second):
        if name not in methods:
            raise InputError(unknown_name("method", name, methods))
    pairs = [pair for cell in _cells(runs, first, second) for metric in METRICS if (pair := _pair(cell, metric))]
    if not pairs:
        raise InputError(f"{first!r} and {second!r} have no run with the same number in a cell")
    return [pair for metric in METRICS for pair in _corrected([one for one in pairs if one.metric == metric])]


def _cells(runs: pd.DataFrame, first: str, second: str) -> list[_Cell]:
    cells = []
    for axes, group in runs.groupby(_AXES, sort=False):
        parts = [group[group["method"] == name].set_index("run").sort_index() for name in (first, second)]
        shared = parts[0].index.intersection(parts[1].index)
        if len(shared):
            cells.append(_Cell(axes, parts[0].loc[shared], parts[1].loc[shared]))  # type: ignore[arg-type]
    return cells


def _pair(cell: _Cell, metric: str) -> Pair | None:
    kept = cell.first[metric].notna() & cell.second[metric].notna()
    for part in (cell.first, cell.second):
        # The time of a run that was stopped is only a bound.
        kept &= part["status"].isin([str(status) for status in COMPLETED]) if metric == "time_s" else kept
    if not kept.any():
        return None
    ours, theirs = (part.loc[kept, metric].to_numpy(dtype=float) for part in (cell.first, cell.second))
    better = _better(ours, theirs, metric, str(cell.first["quality_metric"].iloc[0]))
    sizes = (-ours, -theirs) if metric == "cost" else (ours, theirs)
    positive = all((size > 0).all() for size in sizes)
    ratio = float(np.median(sizes[0] / sizes[1])) if positive else None
    wins, losses = int((better > 0).sum()), int((better < 0).sum())
    return Pair(*cell.axes, metric, len(ours), wins, losses, ratio, signed_rank_p(better) if better.any() else None)


def _better(ours: FloatArray, theirs: FloatArray, metric: str, quality_metric: str) -> FloatArray:
    """Return by how much ours is better, 0 for ties."""
    lower = metric != "quality" or quality_metric == Metric.ERROR
    difference = theirs - ours if lower else ours - theirs
    if metric == "cost":
        tied = np.abs(difference) <= _SAME_COST * np.maximum(np.abs(ours), np.abs(theirs))
        difference = np.where(tied, 0.0, difference)
    return difference


def _corrected(pairs: list[Pair]) -> list[Pair]:
    tested = [pair for pair in pairs if pair.p is not None]
    values: dict[int, Any] = dict(zip(map(id, tested), holm([pair.p or 0.0 for pair in tested]), strict=True))
    return [Pair(**{**vars(pair), "holm": values.get(id(pair))}) for pair in pairs]
