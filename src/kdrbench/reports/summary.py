"""From runs to cells: mean and spread over folds of each (data set, kernel, solver) and metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kdrbench.bench.fold import Split
from kdrbench.bench.quality import Metric
from kdrbench.reports import numbers
from kdrbench.reports.cautions import caution_of, is_untimed
from kdrbench.solvers import Status

COMPLETED = (Status.CONVERGED, Status.STALLED, Status.MAX_ITERATIONS)
METRICS = ("time_s", "cost", "quality")
# Endings whose names alone would not tell.
_ENDINGS = {Status.SKIPPED: "not run, the budget of the grid was used up"}
# Of alternative clustering only.
NMI_GIVEN = "nmi_given"
# Of experiments where q follows a rule.
COMPONENTS = "n_components"
_ALL = (*METRICS, NMI_GIVEN, COMPONENTS)
# Quality is printed by what it is.
FORMATS: dict[str, Callable[[float, float | None], str]] = {
    "time_s": numbers.duration,
    "cost": numbers.quantity,
    Metric.ACCURACY: numbers.percentage,
    Metric.ERROR: numbers.percentage,
    Metric.NMI: numbers.agreement,
    NMI_GIVEN: numbers.agreement,
    COMPONENTS: numbers.count,
}


@dataclass(frozen=True)
class Cell:
    """One metric of one solver on one problem, over all folds.

    ``mean`` and ``std`` (ddof 0) are over the ``counted`` of ``folds`` runs that have a number; ``None`` if none
    has, and for the time of a cell with unfinished folds, of which only a bound is known. ``note`` says how many
    folds did not converge, and is empty when all did. ``complete`` is true when every fold came to its solver's
    own end and has a number: only such a time or quality can be compared with a published one. ``caution`` says why a
    time is to be taken with care; one of runs that shared their cores is printed, but is no number to compare.
    ``judged`` counts the test samples of the runs that have a number, each once in a cross validation.
    """

    metric: str
    mean: float | None
    std: float | None
    text: str
    note: str
    folds: int
    counted: int
    complete: bool
    caution: str = ""
    judged: int = 0


def read_all_runs(path: Path) -> pd.DataFrame:
    """Read a merged table."""
    return pd.read_csv(path, keep_default_na=True, dtype={"message": str, "cores": str})


def read_runs(path: Path, experiment: str) -> pd.DataFrame:
    """Read a merged table and keep one experiment's runs."""
    runs = read_all_runs(path)
    return runs[runs["experiment"] == experiment].reset_index(drop=True)


def summarise(runs: pd.DataFrame) -> dict[tuple[str, str, str], dict[str, Cell]]:
    """Return the cells of each (data set, kernel, solver), by metric."""
    groups = runs.groupby(["dataset", "kernel", "solver"], sort=False)
    return {
        (str(dataset), str(kernel), str(solver)): {metric: _cell(metric, group) for metric in _ALL}
        for (dataset, kernel, solver), group in groups
    }


def _cell(metric: str, group: pd.DataFrame) -> Cell:
    note, bound = _unfinished(group)
    # A run that failed may have seen good iterates before, but they are no result of the solver's.
    usable = group[group["status"] != str(Status.FAILED)].dropna(subset=[metric])
    values = usable[metric].to_numpy(dtype=float)
    folds, counted = len(group), int(values.size)
    if (metric == "time_s" and bound) or not counted:
        return Cell(metric, None, None, bound or "N/A", note, folds, counted, complete=False)
    mean, std = float(np.mean(values)), float(np.std(values))
    complete = counted == folds and not bound
    shown = FORMATS[str(group["quality_metric"].iloc[0]) if metric == "quality" else metric]
    # One run has no spread to show.
    text = shown(mean, std if folds > 1 else None)
    if metric != "time_s":
        judged = int(usable["n_test"].sum())
        return Cell(metric, mean, std, text, note, folds, counted, complete, judged=judged)
    if is_untimed(group):
        return Cell(metric, None, None, text, note, folds, counted, complete=False, caution=caution_of(group))
    return Cell(metric, mean, std, text, note, folds, counted, complete, caution_of(group))


def _runs(group: pd.DataFrame) -> str:
    return "folds" if (group["split"] == Split.FOLDS).all() else "runs"


def _unfinished(group: pd.DataFrame) -> tuple[str, str]:
    """Return the note on folds that did not converge, and what stands in place of a time that is only bounded."""
    counts = group["status"].value_counts()
    notes, bound = [], ""
    for status, words in (
        (Status.STALLED, ""),
        (Status.MAX_ITERATIONS, ""),
        (Status.TIME_LIMIT, "> " + numbers.duration(float(group["time_limit_s"].max()))),
        (Status.MEMORY_LIMIT, f"> {group['memory_limit_mib'].max():g} MiB"),
        (Status.FAILED, "failed"),
        (Status.SKIPPED, "> budget"),
    ):
        if count := int(counts.get(str(status), 0)):
            which = f"{count} of {len(group)} {_runs(group)}: " if len(group) > 1 else ""
            notes.append(which + _ENDINGS.get(status, status.value.replace("_", " ")))
            bound = words or bound
    return "; ".join(notes), bound
