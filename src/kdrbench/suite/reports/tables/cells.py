"""From runs to cells: mean and spread of one metric over the runs of a cell, and how far their times can be trusted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kdrbench.solvers.geometry.stiefel import STATIONARY
from kdrbench.status import Status
from kdrbench.suite.findings.outcome import LIMITS, WITHOUT_RESULT, clean_times, is_usable, marked, warning_of
from kdrbench.suite.reports.declared import declared
from kdrbench.suite.reports.tables import numbers
from kdrbench.suite.reports.tables.labels import FORMATS, NO_CELL, Format
from kdrbench.suite.systems.ikdr.config import Settings
from kdrbench.suite.systems.ikdr.folds import Split
from kdrbench.suite.systems.ikdr.scores import OWN_RULE, ending_of

if TYPE_CHECKING:
    import pandas as pd

# A run that ended otherwise was stopped, also by a limit of iterations: what it shows is not where its method ends.
UNSTOPPED = [str(Status.CONVERGED), str(Status.STALLED)]
# Which cells may be bold, printed below every table that marks the best.
BOLD_MEANS: str = declared("words")["bold"]
# Of a table's rows. The first solve of each run, and the median of its repeats where it was short enough to have any.
METRICS = ("time_s", "warm_s", "cost", "quality")
TIMES = ("time_s", "warm_s")
# What the referee found of a final projection, where that is no optimum.
SADDLE, NOT_STATIONARY = "saddle", "not_stationary"
# One definition for every solver, printed wherever endings are.
CONVERGED_MEANS: str = declared("words")["converged"].format(tolerance=f"{STATIONARY:.0e}")
# All in the order of lists.
ENDINGS = (str(Status.CONVERGED), OWN_RULE, *(str(status) for status in Status if status is not Status.CONVERGED))
# Endings whose names alone would not be clear.
_ENDINGS = {Status.SKIPPED: "not run, the budget of the grid was used up"}
# Of alternative clustering only.
NMI_GIVEN = "nmi_given"
# Of experiments where q follows a rule.
COMPONENTS = "n_components"
# Of final costs, above the best known one of their problem, as findings.nearness defines it.
GAP = "gap"
_ALL = (*METRICS, NMI_GIVEN, COMPONENTS, GAP)


@dataclass(frozen=True)
class Cell:
    """One metric of one method on one problem, over all its runs.

    ``mean`` and ``std`` (ddof 0) are over the ``counted`` of ``runs`` that have a number. They are ``None`` if no run
    has one, and for the time of a cell with unfinished runs, of which only a bound is known. ``note`` says how many
    runs did not converge, and is empty when all did. ``complete`` is true when every run came to its method's own end
    and has a number: only such a cell can be compared with a published number. ``warning`` says why a time needs
    care; a time of runs that shared their cores is printed, but has no mean. Only a cell that ``competes`` can be
    best: all its runs have a number and none was stopped at a limit; for times, none was disturbed. ``flag`` says
    what the referee found where a method ended on a saddle, or says that it converged and is not stationary.
    ``n_tested`` counts the test samples of the runs that have a number, each once in a cross validation. ``stopped``
    is true when a limit ended some of the runs and none failed or was skipped; ``at_least`` when ``mean`` is a lower
    bound, since runs used up what is counted.
    """

    metric: str
    mean: float | None
    std: float | None
    text: str
    note: str
    runs: int
    counted: int
    complete: bool
    warning: str = ""
    n_tested: int = 0
    competes: bool = False
    flag: str = ""
    stopped: bool = False
    at_least: bool = False

    @property
    def error(self) -> float | None:
        """The standard error of the mean where runs are independent draws; the spread of a sample of n is over n."""
        return self.std / math.sqrt(self.counted - 1) if self.std is not None and self.counted > 1 else None


def summarise(metric: str, runs: pd.DataFrame, column: str, shown: Format, *, unit: str = "runs") -> Cell:
    """Return the cell of a column, over the runs that did not fail; ``unit`` is what notes call runs.

    A failed run may have seen good iterates before, but they are no result of the method. One run has no spread to
    print.
    """
    values, note = runs[column].to_numpy(dtype=float)[is_usable(runs, column)], endings_in_words(runs, unit)
    endings = set(runs["status"])
    stopped = not endings.isdisjoint(LIMITS) and endings.isdisjoint(WITHOUT_RESULT)
    if not values.size:
        return Cell(metric, None, None, "N/A", note, len(runs), 0, complete=False, stopped=stopped)
    mean, std = float(np.mean(values)), float(np.std(values))
    text = shown(mean, std if len(runs) > 1 else None)
    complete = len(values) == len(runs)
    competes = complete and bool(runs["status"].isin(UNSTOPPED).all())
    return Cell(metric, mean, std, text, note, len(runs), len(values), complete, competes=competes, stopped=stopped)


def endings_in_words(runs: pd.DataFrame, unit: str = "runs") -> str:
    """Return how many runs did not converge and how they ended, or nothing; of a single run only how."""
    counts = Counter(runs["status"])
    parts = []
    for status in Status:
        if status is not Status.CONVERGED and (count := counts[status]):
            which = f"{count} of {len(runs)} {unit}: " if len(runs) > 1 else ""
            parts.append(which + _ENDINGS.get(status, status.value.replace("_", " ")))
    return "; ".join(parts)


def bound_of(runs: pd.DataFrame) -> str:
    """Return what is printed in place of a time that is only bounded, because runs were stopped; or nothing."""
    there = set(runs["status"])
    printed = {
        Status.SKIPPED: "> budget",
        Status.FAILED: "failed",
        Status.MEMORY_LIMIT: f"> {runs['memory_limit_mib'].max():g} MiB",
        Status.TIME_LIMIT: f"> {numbers.duration(float(runs['time_limit_s'].max()))}",
    }
    return next((words for status, words in printed.items() if str(status) in there), "")


def ikdr_cells(
    runs: pd.DataFrame, settings: Mapping[str, Settings] | None = None
) -> dict[tuple[str, str, str], dict[str, Cell]]:
    """Return the cells of each (data set, kernel, method), by metric; ``settings`` are those that solvers declare."""
    cells = {}
    for (dataset, kernel, method), group in runs.groupby(["dataset", "kernel", "method"], sort=False):
        bound, flag = bound_of(group), flag_of(group, (settings or {}).get(str(method), Settings.OTHER))
        cells[str(dataset), str(kernel), str(method)] = {
            metric: replace(_ikdr_cell(metric, group, bound), flag=flag) for metric in _ALL if metric in group
        }
    return cells


def _ikdr_cell(metric: str, group: pd.DataFrame, bound: str) -> Cell:
    unit = "folds" if (group["split"] == Split.FOLDS).all() else "runs"
    # Quality is printed by what it is.
    shown = FORMATS[str(group["quality_metric"].iloc[0]) if metric == "quality" else metric]
    cell = summarise(metric, group, metric, shown, unit=unit)
    if metric == "warm_s" and not cell.counted:
        # Long solves are not repeated.
        return replace(cell, text=NO_CELL, note="")
    if cell.mean is None or (metric in TIMES and bound):
        return replace(cell, mean=None, std=None, text=bound or "N/A", complete=False)
    cell = replace(cell, complete=cell.complete and not bound)
    if metric not in TIMES:
        return replace(cell, n_tested=int(group.loc[is_usable(group, metric), "n_test"].sum()))
    undisturbed = len(clean_times(group)) == len(group)
    cell = replace(cell, warning=warning_of(group), competes=cell.competes and undisturbed)
    return replace(cell, mean=None, std=None, complete=False) if marked(group, "timed").any() else cell


def endings_found(runs: pd.DataFrame) -> pd.Series:
    """Return how each run ended, as the referee found it: see :data:`CONVERGED_MEANS`."""
    import pandas as pd

    if "optimality" not in runs:
        return runs["status"].astype(str)
    parts = (runs["status"].astype(str), runs["optimality"], runs["stationarity"])
    found = [ending_of(*run) for run in zip(*parts, strict=True)]
    return pd.Series(found, index=runs.index, dtype=object)


def flag_of(runs: pd.DataFrame, settings: Settings) -> str:
    """Return where runs ended that the referee does not find as they were said to end, or nothing.

    A saddle is a flaw of every method. Not to be stationary is one of every run with converged settings, and, with
    other settings, of those that say they converged. Published settings have rules of their own.
    """
    if "optimality" not in runs:
        return ""
    parts = []
    if saddles := int((runs["optimality"] == SADDLE).sum()):
        parts.append(f"{saddles} of {len(runs)} on a saddle")
    short = runs["optimality"] == NOT_STATIONARY
    if settings is Settings.OTHER:
        short &= runs["status"] == str(Status.CONVERGED)
    if not settings.has_own_rule and short.any():
        said = "say converged and are" if settings is Settings.OTHER else ""
        parts.append(
            f"{short.sum()} of {len(runs)} {f'{said} '.lstrip()}not stationary (up to "
            f"{runs.loc[short, 'stationarity'].max():.0e})"
        )
    return "; ".join(parts)
