"""Every cell of an experiment beside the published number: paper, ours, verdict, why."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import pandas as pd

from kdrbench.bench.config import NO_KERNEL
from kdrbench.bench.experiment import ALTERNATIVE, EIGENGAP, Config, split_of
from kdrbench.bench.fold import Split
from kdrbench.bench.quality import Metric
from kdrbench.reports.published import check_published, find_published, published_name
from kdrbench.reports.summary import COMPONENTS, METRICS, NMI_GIVEN, Cell, summarise
from kdrbench.reports.verdict import Verdict, judge

# Of these the highest is the best, of all else the lowest.
_HIGHEST = (Metric.ACCURACY, Metric.NMI)
_METRICS_OF_BASELINES = tuple(metric for metric in METRICS if metric != "cost")


@dataclass(frozen=True)
class LedgerRow:
    """One number of the table; ``solver`` is a baseline's name where ``kernel`` is ``none``.

    ``control`` says that it is a control's, which is never the best: a random start takes no time.
    """

    dataset: str
    kernel: str
    solver: str
    metric: str
    paper: str
    ours: Cell
    best: bool
    verdict: Verdict
    why: str
    control: bool = False


def make_ledger(runs: pd.DataFrame, experiment: Config, controls: Collection[str] = ()) -> list[LedgerRow]:
    """Return a row for each data set, kernel, solver and metric the experiment names, in its order.

    The rows of a data set end with its baselines', which have the kernel ``none`` and no cost. A cell without runs
    is a row too, with the text "not run". ``controls`` are the solvers that do not compete for the best.

    Raises ``InputError`` when the experiment names a published table of which no number is known.
    """
    if "published" in experiment:
        check_published(**experiment["published"])
    cells = summarise(runs)
    of_solvers = _metrics_of(experiment)
    names = {metric: _metric_name(metric, runs, experiment) for metric in of_solvers}
    groups: list[tuple[str, list[str], tuple[str, ...]]]
    groups = [(kernel, experiment["solvers"], of_solvers) for kernel in experiment["kernels"]]
    groups.append((NO_KERNEL, experiment.get("baselines", []), _METRICS_OF_BASELINES))
    rows = []
    for dataset in experiment["datasets"]:
        for kernel, solvers, metrics in groups:
            for metric in metrics:
                row_cells = {
                    solver: cells.get((dataset, kernel, solver), {}).get(metric, _absent(metric)) for solver in solvers
                }
                competing = {solver: cell for solver, cell in row_cells.items() if solver not in controls}
                # Of numbers of components none is the best.
                best = set() if metric == COMPONENTS else _best(metric, competing, lowest=names[metric] not in _HIGHEST)
                for solver, cell in row_cells.items():
                    row = _row(experiment, dataset, kernel, solver, names[metric], cell, solver in best)
                    rows.append(replace(row, control=solver in controls))
    return rows


def _metrics_of(experiment: Config) -> tuple[str, ...]:
    """Return what is told of solvers."""
    follows = EIGENGAP in experiment.get("components", {}).values()
    given = experiment.get("paradigm") == ALTERNATIVE
    return ((COMPONENTS,) if follows else ()) + METRICS + ((NMI_GIVEN,) if given else ())


def _row(experiment: Config, dataset: str, kernel: str, solver: str, metric: str, cell: Cell, best: bool) -> LedgerRow:
    published = None
    if table := experiment.get("published"):
        ours = {"dataset": dataset, "kernel": kernel, "method": solver}
        axes = {axis: published_name(axis, name) for axis, name in ours.items()}
        published = find_published(**table, **axes, metric=metric)
    verdict = judge(published, cell)
    reasons = [reason for reason in (cell.note, cell.caution) if reason]
    if published and published.why:
        reasons.append(published.why)
    return LedgerRow(
        dataset,
        kernel,
        solver,
        metric,
        published.text if published else "",
        cell,
        best,
        verdict,
        "; ".join(reasons),
    )


def _best(metric: str, cells: dict[str, Cell], *, lowest: bool) -> set[str]:
    """Return the solvers whose cell reads the same as the best one's.

    Means over fewer folds than there are do not compete.
    """
    known = {solver: cell for solver, cell in cells.items() if cell.mean is not None and cell.counted == cell.folds}
    if not known:
        return set()
    sign = 1.0 if lowest else -1.0
    winner = min(known.values(), key=lambda cell: sign * (cell.mean or 0.0))
    return {solver for solver, cell in known.items() if _reads_as(cell, winner)}


def _reads_as(cell: Cell, winner: Cell) -> bool:
    """Return whether the means read the same; costs also if they are the same, for their digits follow the spread."""
    same = f"{cell.mean:.6g}" == f"{winner.mean:.6g}"
    return _mean_text(cell) == _mean_text(winner) or (cell.metric == "cost" and same)


def _mean_text(cell: Cell) -> tuple[str, str]:
    """Return the mean as printed, and the power of ten behind the spread."""
    return cell.text.split(" ")[0], cell.text.rpartition(")")[2] if ")" in cell.text else ""


def _absent(metric: str) -> Cell:
    return Cell(metric, None, None, "not run", "", 0, 0, complete=False)


def _metric_name(metric: str, runs: pd.DataFrame, experiment: Config) -> str:
    """Return ``metric``, or what quality is: as the runs say, or as the experiment promises where there are none."""
    if metric != "quality":
        return metric
    names = runs["quality_metric"].unique()
    if len(names):
        return str(names[0])
    if experiment.get("paradigm", "supervised") != "supervised":
        return Metric.NMI
    return Metric.ACCURACY if split_of(experiment) is Split.FOLDS else Metric.ERROR
