"""The tables of IKDR in the layout of the papers' Table 4, each cell beside its published number.

One block a data set with a row for time, cost and quality; one group of columns a kernel with a column for each solver.
At the right are the baselines, which have no kernel and no cost. Where converged variants are beside published ones,
each kernel has a group of either.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from kdrbench.reports.records import ALTERNATIVE, EIGENGAP, NO_KERNEL, Config, Metric, Split, split_of
from kdrbench.reports.tables.cells import COMPONENTS, METRICS, NMI_GIVEN, UNTIMED, Cell, ikdr_cells
from kdrbench.reports.tables.html import Section
from kdrbench.reports.tables.labels import (
    CONVERGED,
    METRIC_TITLES,
    NO_CELL,
    dataset_label,
    is_converged,
    kernel_label,
    method_alone,
    method_label,
)
from kdrbench.reports.tables.published_numbers import check_published, find_published, printed_table, published_name
from kdrbench.reports.tables.table import UNCONVERGED, WARNED, Entry, Group, Table, blocks_by, entries
from kdrbench.reports.tables.verdicts import VERDICT_RULES, Compared

# Of these the highest is the best, of all else the lowest.
_HIGHEST = (Metric.ACCURACY, Metric.NMI)
_METRICS_OF_BASELINES = tuple(metric for metric in METRICS if metric != "cost")
# What the numbers of a cell are.
_LEGENDS = {
    Split.FOLDS: "Mean \u00b1 standard deviation over the folds; best of each group in bold.",
    Split.NONE: "One run on all rows; errors, if any, are those on the same rows; best of each group in bold.",
    Split.SUBSETS: "Mean \u00b1 standard deviation over random subsets of the rows; best of each group in bold.",
}
_OF_DRAWS = "Mean \u00b1 standard deviation over draws of the labels that are shown; best of each group in bold."
_OF_CONTROLS = " Controls do not compete."
_OF_MARKS = (
    f"{UNCONVERGED} Some runs did not converge: those that were stopped count with their last iterate, those that "
    "failed not at all."
)
# The heading of the columns beside the converged variants.
_AS_PUBLISHED = "as published"
_AXES = ("dataset", "kernel", "method", "metric")


@dataclass(frozen=True)
class IkdrCell(Compared):
    """A cell of the table with its axes; ``method`` is a baseline's name where ``kernel`` is ``none``.

    ``control`` marks a control's cell, which is never the best: a random start takes no time.
    """

    dataset: str
    kernel: str
    method: str
    metric: str
    best: bool
    control: bool = False


def compared_cells(runs: pd.DataFrame, experiment: Config, controls: Collection[str] = ()) -> list[IkdrCell]:
    """Return a cell for each data set, kernel, method and metric the experiment names, in its order.

    The cells of a data set end with its baselines', which have the kernel ``none`` and no cost. A cell without runs is
    there too, with the text "not run". ``controls`` are the solvers that do not compete for the best.

    Raises ``InputError`` when the experiment names a published table of which no number is known.
    """
    if table := printed_table(experiment):
        check_published(**table)
    cells, of_solvers = ikdr_cells(runs), _metrics_of(experiment)
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
                # Of numbers of components none is the best.
                best = set() if metric == COMPONENTS else _best(competing, lowest=names[metric] not in _HIGHEST)
                for name, cell in ours.items():
                    axes = {"dataset": dataset, "kernel": kernel, "method": name}
                    printed = find_published(**table, **published_axes(axes), metric=names[metric]) if table else None
                    marks = (name in best, name in controls)
                    compared.append(IkdrCell(cell, printed, dataset, kernel, name, names[metric], *marks))
    return compared


def published_axes(axes: dict[str, str]) -> dict[str, str]:
    """Return the names that published numbers have for our data set, kernel and method."""
    return {axis: published_name(axis, name) for axis, name in axes.items()}


def _metrics_of(experiment: Config) -> tuple[str, ...]:
    """Return the metrics of solvers."""
    by_rule = EIGENGAP in experiment.get("components", {}).values()
    differs = experiment.get("paradigm") == ALTERNATIVE
    return ((COMPONENTS,) if by_rule else ()) + METRICS + ((NMI_GIVEN,) if differs else ())


def _best(cells: dict[str, Cell], *, lowest: bool) -> set[str]:
    """Return the methods whose cell reads the same as the best one's.

    Means over fewer runs than there are do not compete.
    """
    full = {name: cell for name, cell in cells.items() if cell.mean is not None and cell.counted == cell.runs}
    if not full:
        return set()
    sign = 1.0 if lowest else -1.0
    winner = min(full.values(), key=lambda cell: sign * (cell.mean or 0.0))
    return {name for name, cell in full.items() if _reads_as(cell, winner)}


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


def ikdr_table(name: str, cells: list[IkdrCell], experiment: Config) -> Table:
    """Arrange the cells as the papers do."""
    groups = [(kernel, list(experiment["solvers"])) for kernel in experiment["kernels"]]
    groups += [(NO_KERNEL, list(experiment["baselines"]))] if experiment.get("baselines") else []
    variants = [variant for _, methods in groups for variant in _variants(methods)]
    headings = [Group(kernel_label(kernel), len(methods)) for kernel, methods in groups]
    by_axes = {(cell.dataset, cell.metric, cell.kernel, cell.method): cell for cell in cells}
    rows = []
    for dataset in experiment["datasets"]:
        for metric in dict.fromkeys(cell.metric for cell in cells):
            row = [by_axes.get((dataset, metric, kernel, method)) for kernel, methods in groups for method in methods]
            rows.append((dataset, [Entry(dataset_label(dataset)), Entry(METRIC_TITLES[metric]), *map(_entry, row)]))
    drawn = "shown" in experiment and split_of(experiment) is Split.NONE
    legend = (_OF_DRAWS if drawn else _LEGENDS[split_of(experiment)]) + (
        _OF_CONTROLS if any(cell.control for cell in cells) else ""
    )
    remarks = [f"{_place(cell)}: {cell.ours.note}" for cell in cells if cell.metric == "time_s" and cell.ours.note]
    return Table(
        name=name,
        title=experiment["title"],
        columns=["Data", "Metric", *(heading for _, methods in groups for heading in _headings(methods))],
        blocks=list(blocks_by(rows)),
        notes=[legend, *([_OF_MARKS] if remarks else []), *_warnings(cells)],
        n_labels=2,
        groups=[headings, variants] if len(variants) > len(groups) else [headings],
        remarks=remarks,
        listed=[_listed(cell) for cell in cells],
    )


def _variants(methods: list[str]) -> list[Group]:
    """Return neighbouring columns of one variant; one group without a title where there is only one."""
    groups = [(converged, len(list(group))) for converged, group in groupby(methods, is_converged)]
    if len(groups) == 1:
        return [Group("", len(methods))]
    return [Group(CONVERGED if converged else _AS_PUBLISHED, count) for converged, count in groups]


def _headings(methods: list[str]) -> list[str]:
    """Return the columns' titles: without the variant where the line above says it."""
    return [method_label(name) if len(_variants(methods)) == 1 else method_alone(name) for name in methods]


def _entry(cell: IkdrCell | None) -> Entry:
    if cell is None:
        return Entry(NO_CELL)
    ours = cell.ours
    mark = (UNCONVERGED if ours.note else "") + (WARNED if ours.warning else "")
    numbers = {"value": ours.mean, "spread": ours.std}
    return Entry(
        ours.text, **numbers, bold=cell.best, mark=mark, detail=ours.note, paper=cell.paper, verdict=cell.verdict
    )


def _place(cell: IkdrCell) -> str:
    return f"{dataset_label(cell.dataset)}, {kernel_label(cell.kernel)}, {method_label(cell.method)}"


def _warnings(cells: list[IkdrCell]) -> list[str]:
    """Return why times of the table need care."""
    marked = [cell.ours for cell in cells if cell.ours.warning]
    untimed = sum(cell.warning == UNTIMED for cell in marked)
    reasons = [UNTIMED] if untimed else []
    if drifted := len(marked) - untimed:
        times = sum(cell.metric == "time_s" for cell in cells)
        reasons.append(f"in {drifted} of {times} times the speed of the cores drifted by more than 10 %")
    return [f"{WARNED} Times to be taken with care: {'; '.join(reasons)}."] if reasons else []


def _listed(cell: IkdrCell) -> dict[str, Any]:
    ours, axes = cell.ours, {axis: getattr(cell, axis) for axis in _AXES}
    printed = {"paper": cell.paper, "ours": ours.text, "verdict": cell.verdict, "why": cell.why}
    numbers = {"mean": ours.mean, "std": ours.std, "runs": ours.runs, "counted": ours.counted, "best": cell.best}
    return axes | printed | numbers


def beside_published(cells: list[IkdrCell]) -> Section:
    """Return the section of a page that shows each cell beside its published number."""
    rows = [[*entries(_words(cell)), Entry(cell.verdict, verdict=cell.verdict), Entry(cell.why)] for cell in cells]
    columns = ["Data", "Kernel", "Method", "Metric", "Paper", "Ours", "Verdict", "Why"]
    table = Table("beside_published", "", columns, [rows], n_labels=len(columns))
    return Section("Beside the published numbers", table, paragraphs=[VERDICT_RULES])


def _words(cell: IkdrCell) -> tuple[str, ...]:
    names = dataset_label(cell.dataset), kernel_label(cell.kernel), method_label(cell.method)
    return *names, METRIC_TITLES[cell.metric], cell.paper or "\u2013", cell.ours.text
