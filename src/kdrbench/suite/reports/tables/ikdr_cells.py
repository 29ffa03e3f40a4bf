"""From an experiment of IKDR to its cells: every number that its table shows, beside the published one."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kdrbench.suite.paired import holm, signed_rank_p
from kdrbench.suite.reports.protocol import departure
from kdrbench.suite.reports.records import ALTERNATIVE, EIGENGAP, NO_KERNEL, Config, Metric, Settings, Split, split_of
from kdrbench.suite.reports.tables.cells import COMPONENTS, GAP, METRICS, NMI_GIVEN, Cell, ikdr_cells
from kdrbench.suite.reports.tables.labels import NO_CELL
from kdrbench.suite.reports.tables.paired_tests import FEWEST_PAIRS, without_ties
from kdrbench.suite.reports.tables.partitions import Partitions
from kdrbench.suite.reports.tables.published_numbers import (
    check_published,
    find_published,
    printed_table,
    published_name,
)
from kdrbench.suite.reports.tables.significance import SIGNIFICANT
from kdrbench.suite.reports.tables.verdicts import Compared

# Of these the highest is the best, of all else the lowest.
_HIGHEST = (Metric.ACCURACY, Metric.NMI)
_METRICS_OF_BASELINES = tuple(metric for metric in METRICS if metric != "cost")


@dataclass(frozen=True, kw_only=True)
class IkdrCell(Compared):
    """A cell of the table with its axes; ``method`` is a baseline's name where ``kernel`` is ``none``.

    ``control`` marks a control's cell, which is never the best: a random start takes no time. ``settings`` are those
    that the solver declares.
    """

    dataset: str
    kernel: str
    method: str
    metric: str
    best: bool
    control: bool = False
    settings: Settings = Settings.OTHER


def compared_cells(
    runs: pd.DataFrame,
    experiment: Config,
    controls: Collection[str] = (),
    partitions: Partitions | None = None,
    settings: Mapping[str, Settings] | None = None,
    config: Config | None = None,
    gaps: pd.Series | None = None,
) -> list[IkdrCell]:
    """Return a cell for each data set, kernel, method and metric the experiment names, in its order.

    The cells of a data set end with its baselines', which have the kernel ``none`` and no cost. A cell without runs is
    there too, with the text "not run". ``controls`` are the solvers that do not compete for the best;
    ``partitions`` say how means vary over redrawn folds; ``settings`` are those that solvers declare;
    ``config`` defines kernels and methods, which may depart from those of the papers; ``gaps`` are the runs' distances
    above the best known cost (:func:`.nearness.gaps_of`), without which no cell says them.

    Raises ``InputError`` when the experiment names a published table of which no number is known.
    """
    if table := printed_table(experiment):
        check_published(**table)
    runs = runs if gaps is None else runs.assign(**{GAP: gaps})
    cells, of_solvers = ikdr_cells(runs, settings), _metrics_of(experiment, with_gaps=gaps is not None)
    names = {metric: _metric_name(metric, runs, experiment) for metric in of_solvers}
    groups: list[tuple[str, list[str], tuple[str, ...]]]
    groups = [(kernel, experiment["solvers"], of_solvers) for kernel in experiment["kernels"]]
    groups.append((NO_KERNEL, experiment.get("baselines", []), _METRICS_OF_BASELINES))
    compared = []
    for dataset in experiment["datasets"]:
        for kernel, methods, metrics in groups:
            for metric in metrics:
                ours = {name: cells.get((dataset, kernel, name), {}).get(metric, _absent(metric)) for name in methods}
                competing = {name: cell for name, cell in ours.items() if name not in controls}
                # Of numbers of components none is the best, and gaps are costs once more.
                competing = {} if metric in (COMPONENTS, GAP) else competing
                values = _by_run(runs, dataset, kernel, metric)
                best = _best(competing, values, metric, lowest=names[metric] not in _HIGHEST)
                for name, cell in ours.items():
                    axes = {"dataset": dataset, "kernel": kernel, "method": name}
                    departs = departure(experiment, config or {}, dataset, kernel, name) if table else ""
                    printed = find_published(**table, **published_axes(axes), metric=names[metric]) if table else None
                    compared.append(
                        IkdrCell(
                            ours=cell,
                            published=printed,
                            error=_error(cell, (dataset, kernel, name), experiment, partitions),
                            departure=departs,
                            **axes,
                            metric=names[metric],
                            best=name in best,
                            control=name in controls,
                            settings=(settings or {}).get(name, Settings.OTHER),
                        )
                    )
    return compared


def _error(cell: Cell, place: tuple[str, str, str], experiment: Config, partitions: Partitions | None) -> float | None:
    """Return the standard error of a cell's mean: by redrawn partitions, or of independent draws."""
    if cell.mean is None or cell.std is None or cell.metric not in ("cost", "quality"):
        return None
    if split_of(experiment) is Split.SUBSETS and cell.counted > 1:
        return cell.std / math.sqrt(cell.counted - 1)
    if split_of(experiment) is not Split.FOLDS or partitions is None:
        return None
    spread = partitions.of(experiment, *place, cell.metric)
    return spread.error if spread else None


def published_axes(axes: dict[str, str]) -> dict[str, str]:
    """Return the names that published numbers have for our data set, kernel and method."""
    return {axis: published_name(axis, name) for axis, name in axes.items()}


def _metrics_of(experiment: Config, *, with_gaps: bool) -> tuple[str, ...]:
    """Return the metrics of solvers."""
    by_rule = EIGENGAP in experiment.get("components", {}).values()
    differs = experiment.get("paradigm") == ALTERNATIVE
    compared = with_gaps and len(experiment["solvers"]) > 1
    costs = [metric for one in METRICS for metric in ((one, GAP) if one == "cost" and compared else (one,))]
    return ((COMPONENTS,) if by_rule else ()) + tuple(costs) + ((NMI_GIVEN,) if differs else ())


def _by_run(runs: pd.DataFrame, dataset: str, kernel: str, metric: str) -> pd.DataFrame:
    """Return a metric of one data set and kernel, runs x methods."""
    here = runs[(runs["dataset"] == dataset) & (runs["kernel"] == kernel)]
    return here.pivot(index="run", columns="method", values=metric)


def _best(cells: dict[str, Cell], values: pd.DataFrame, metric: str, *, lowest: bool) -> set[str]:
    """Return the methods that are significantly best, as :data:`.cells.BOLD_MEANS` says.

    Cells compete as :class:`Cell` says, and those of controls not at all. ``values`` are the metric's, runs x methods.
    """
    competing = {name: cell for name, cell in cells.items() if cell.competes and cell.mean is not None}
    if len(competing) < 2:
        return set()
    sign = 1.0 if lowest else -1.0
    winner = min(competing, key=lambda name: sign * (competing[name].mean or 0.0))
    others = [name for name in competing if name != winner]
    pairs = [values[[winner, name]].dropna().to_numpy(dtype=float) for name in others]
    if any(len(pair) < FEWEST_PAIRS for pair in pairs):
        return set()
    differ = without_ties if metric == "cost" else np.subtract
    corrected = holm([signed_rank_p(np.round(differ(pair[:, 0], pair[:, 1]), 12)) for pair in pairs])
    behind = {name for name, p in zip(others, corrected, strict=True) if p <= SIGNIFICANT}
    return set(competing) - behind if behind else set()


def _absent(metric: str) -> Cell:
    return Cell(metric, None, None, NO_CELL if metric == "warm_s" else "not run", "", 0, 0, complete=False)


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
