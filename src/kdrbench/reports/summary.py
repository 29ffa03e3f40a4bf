"""From runs to cells: mean and spread over folds of each (data set, kernel, solver) and metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kdrbench.reports import numbers
from kdrbench.solvers import Status

COMPLETED = (Status.CONVERGED, Status.STALLED, Status.MAX_ITERATIONS)
_FORMATS: dict[str, Callable[[float, float | None], str]] = {
    "time_s": numbers.duration,
    "cost": numbers.quantity,
    "quality": numbers.percentage,
}
METRICS = tuple(_FORMATS)


@dataclass(frozen=True)
class Cell:
    """One metric of one solver on one problem, over all folds.

    ``mean`` and ``std`` (ddof 0) are over the folds that have a number; ``None`` if none has, and for the
    time of a cell with unfinished folds, of which only a bound is known. ``note`` says in words how many
    folds did not run to their end, and is empty when all did.
    """

    metric: str
    mean: float | None
    std: float | None
    text: str
    note: str
    folds: int


def read_runs(path: Path, experiment: str) -> pd.DataFrame:
    """Read the merged table and keep one experiment's runs."""
    runs = pd.read_csv(path, keep_default_na=True, dtype={"message": str, "cores": str})
    return runs[runs["experiment"] == experiment].reset_index(drop=True)


def summarise(runs: pd.DataFrame) -> dict[tuple[str, str, str], dict[str, Cell]]:
    """Return the cells of each (data set, kernel, solver), by metric."""
    groups = runs.groupby(["dataset", "kernel", "solver"], sort=False)
    return {
        (str(dataset), str(kernel), str(solver)): {metric: _cell(metric, group) for metric in METRICS}
        for (dataset, kernel, solver), group in groups
    }


def _cell(metric: str, group: pd.DataFrame) -> Cell:
    note, bound = _unfinished(group)
    values = group[metric].dropna().to_numpy(dtype=float)
    if metric == "time_s" and bound:
        return Cell(metric, None, None, bound, note, len(group))
    if not values.size:
        return Cell(metric, None, None, bound or "N/A", note, len(group))
    mean, std = float(np.mean(values)), float(np.std(values))
    return Cell(metric, mean, std, _FORMATS[metric](mean, std), note, len(group))


def _unfinished(group: pd.DataFrame) -> tuple[str, str]:
    """Return the note on folds that did not run to their end, and what stands in place of their time."""
    counts = group["status"].value_counts()
    total = len(group)
    notes, bound = [], ""
    for status, words in (
        (Status.TIME_LIMIT, "> " + numbers.duration(float(group["time_limit_s"].max()))),
        (Status.MEMORY_LIMIT, f"> {group['memory_limit_mib'].max():g} MiB"),
        (Status.FAILED, "failed"),
        (Status.SKIPPED, "skipped"),
    ):
        count = int(counts.get(str(status), 0))
        if count:
            notes.append(f"{count} of {total} folds: {status.value.replace('_', ' ')}")
            bound = words
    return "; ".join(notes), bound
