"""Two methods side by side, as a reader asks for them: wins, losses and the median ratio in every cell.

P values are those of Wilcoxon's signed ranks, corrected by Holm over the cells of a metric.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kdrbench.errors import InputError, counted, unknown_name
from kdrbench.status import Status
from kdrbench.suite.findings.outcome import ENDED, clean_times, warning_of
from kdrbench.suite.paired import holm, signed_rank_p
from kdrbench.suite.reports.records import REFERENCE, Metric
from kdrbench.suite.systems.ikdr.paired_tests import CELL, TESTED, without_ties

if TYPE_CHECKING:
    from kdrbench.kernels.family import FloatArray

UNCALIBRATED = "times of a reference are those of another machine"
_WITHOUT_RESULT = (str(Status.FAILED), str(Status.SKIPPED))


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


def compare_solvers(runs: pd.DataFrame, first: str, second: str) -> list[Pair]:
    """Return each metric of each cell in which both solvers have runs; times only of runs that came to their own end.

    Runs that failed or were skipped have no numbers: where no others are left, nothing is returned. Raises
    ``InputError`` for a solver without runs, and when the two have no run of a cell in common.
    """
    methods = sorted(str(name) for name in runs["method"].unique())
    for name in (first, second):
        if name not in methods:
            raise InputError(unknown_name("method", name, methods))
    cells = list(runs[~runs["status"].isin(_WITHOUT_RESULT)].groupby(CELL, sort=False))
    by_metric = [[_pair(*cell, first, second, metric) for cell in cells] for metric in TESTED]  # type: ignore[arg-type]
    pairs = [pair for of_metric in by_metric for pair in _corrected([one for one in of_metric if one])]
    if not pairs and not without_result(runs, (first, second)):
        raise InputError(f"{first!r} and {second!r} have no run with the same number in a cell")
    return pairs


def without_result(runs: pd.DataFrame, methods: Iterable[str]) -> list[str]:
    """Return how many runs of each method have no result, as "of 'dg' 2 of 3 runs failed"."""
    words = []
    for method in methods:
        endings = runs.loc[runs["method"] == method, "status"]
        counts = [(int((endings == status).sum()), status) for status in _WITHOUT_RESULT]
        words += [f"of {method!r} {number} of {counted(len(endings), 'run')} {how}" for number, how in counts if number]
    return words


def without_time(runs: pd.DataFrame, methods: Iterable[str]) -> list[str]:
    """Return why no time of a method counts, for each of which none does."""
    words = []
    for method in methods:
        rows = runs[runs["method"] == method]
        unknown = method.endswith(REFERENCE) and rows["time_s"].isna().all()
        if unknown or clean_times(rows).empty:
            words.append(f"of {method!r}, {UNCALIBRATED if unknown else warning_of(rows)}")
    return words


def _pair(place: tuple[str, str, str], cell: pd.DataFrame, first: str, second: str, metric: str) -> Pair | None:
    if metric == "time_s":
        # The time of a run that was stopped is only a bound.
        cell = clean_times(cell[cell["status"].isin(ENDED)])
    numbers = cell.pivot(index="run", columns="method", values=metric)
    both = numbers.reindex(columns=[first, second]).dropna()
    if both.empty:
        return None
    ours, theirs = both.to_numpy(dtype=float).T
    better = _better(ours, theirs, metric, str(cell["quality_metric"].iloc[0]))
    sizes = (-ours, -theirs) if metric == "cost" else (ours, theirs)
    ratio = float(np.median(sizes[0] / sizes[1])) if all((size > 0).all() for size in sizes) else None
    wins, losses = int((better > 0).sum()), int((better < 0).sum())
    return Pair(*place, metric, len(ours), wins, losses, ratio, signed_rank_p(better) if better.any() else None)


def _better(ours: FloatArray, theirs: FloatArray, metric: str, quality_metric: str) -> FloatArray:
    """Return by how much ours is better, 0 for ties."""
    if metric == "cost":
        return without_ties(theirs, ours)
    lower = metric != "quality" or quality_metric == Metric.ERROR
    return theirs - ours if lower else ours - theirs


def _corrected(pairs: list[Pair]) -> list[Pair]:
    corrected = iter(holm([pair.p for pair in pairs if pair.p is not None]))
    return [pair if pair.p is None else replace(pair, holm=next(corrected)) for pair in pairs]
