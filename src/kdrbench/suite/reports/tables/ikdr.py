"""The tables of IKDR in the layout of the papers' Table 4, each cell beside its published number.

One block a data set with a row for time, cost and quality; one group of columns a kernel with a column for each solver.
At the right are the baselines, which have no kernel and no cost. Where solvers declare different settings, each kernel
has a group of columns for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from kdrbench.errors import counted
from kdrbench.suite.findings.outcome import SCALED, UNTIMED
from kdrbench.suite.reports.records import NO_KERNEL, REFERENCE, Config, Settings, Split, split_of
from kdrbench.suite.reports.tables.cells import BOLD_MEANS, CONVERGED_MEANS, GAP, TIMES, Cell
from kdrbench.suite.reports.tables.html import Section
from kdrbench.suite.reports.tables.ikdr_cells import IkdrCell
from kdrbench.suite.reports.tables.labels import (
    DEFINITIONS,
    METRIC_TITLES,
    NO_CELL,
    OF_REFERENCE,
    TIMES_MEAN,
    dataset_label,
    kernel_label,
    method_alone,
    method_label,
)
from kdrbench.suite.reports.tables.significance import meaning_of_cell
from kdrbench.suite.reports.tables.table import FLAGGED, UNCONVERGED, WARNED, Entry, Group, Table, blocks_by, entries
from kdrbench.suite.reports.tables.verdicts import VERDICT_RULES, Verdict

# What the numbers of a cell are.
_LEGENDS = {
    Split.FOLDS: f"Mean \u00b1 standard deviation over the folds; {BOLD_MEANS}",
    Split.NONE: f"One run on all rows; errors, if any, are those on the same rows; {BOLD_MEANS}",
    Split.SUBSETS: f"Mean \u00b1 standard deviation over random subsets of the rows; {BOLD_MEANS}",
}
_OF_DRAWS = f"Mean \u00b1 standard deviation over draws of the labels that are shown; {BOLD_MEANS}"
_OF_CONTROLS = " Controls do not compete."
_OF_MARKS = (
    f"{UNCONVERGED} Some runs did not converge: those that were stopped count with their last iterate, those that "
    "failed not at all."
)
_OF_FLAGS = (
    f"{FLAGGED} The referee does not find what was said: some runs ended on a saddle (a direction of ascent is left), "
    "or say that they converged and are not stationary to 1e-6."
)
# Headings of columns where solvers declare different settings.
_HEADINGS = {Settings.PUBLISHED: "as published", Settings.CONVERGED: "converged", Settings.OTHER: "others"}
_AXES = ("dataset", "kernel", "method", "metric")


def ikdr_table(name: str, cells: list[IkdrCell], experiment: Config) -> Table:
    """Arrange the cells as the papers do."""
    groups = [(kernel, list(experiment["solvers"])) for kernel in experiment["kernels"]]
    groups += [(NO_KERNEL, list(experiment["baselines"]))] if experiment.get("baselines") else []
    declared = {cell.method: cell.settings for cell in cells if cell.kernel != NO_KERNEL}
    variants = [variant for _, methods in groups for variant in _variants(methods, declared)]
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
    times = [cell for cell in cells if cell.metric == "time_s"]
    remarks = [f"{_place(cell)}: {said}" for cell in times if (said := _remark(cell.ours))]
    marks = [_OF_MARKS] if any(cell.ours.note for cell in times) else []
    departing = dict.fromkeys(cell.departure for cell in cells if cell.verdict is Verdict.NOT_COMPARABLE)
    marks += [f"Published numbers are not comparable: {'; '.join(departing)}."] if departing else []
    marks += [_OF_FLAGS] if any(cell.ours.flag for cell in times) else []
    return Table(
        name=name,
        title=experiment["title"],
        columns=["Data", "Metric", *(heading for _, methods in groups for heading in _headings(methods, declared))],
        blocks=list(blocks_by(rows)),
        notes=[legend, TIMES_MEAN, CONVERGED_MEANS, *marks, *_warnings(cells)],
        n_labels=2,
        groups=[headings, variants] if len(variants) > len(groups) else [headings],
        remarks=remarks,
        listed=[_listed(cell) for cell in cells],
    )


def _variants(methods: list[str], declared: Mapping[str, Settings]) -> list[Group]:
    """Return neighbouring columns of like settings; one group without a title where they are all alike."""
    groups = [(settings, len(list(group))) for settings, group in groupby(methods, declared.get)]
    if len(groups) == 1:
        return [Group("", len(methods))]
    return [Group(_HEADINGS[settings] if settings else "", count) for settings, count in groups]


def _headings(methods: list[str], declared: Mapping[str, Settings]) -> list[str]:
    """Return the columns' titles: without the variant where the line above says it, and never without the reference."""
    alone = len(_variants(methods, declared)) > 1
    return [
        _alone(name) if alone and declared.get(name) is not Settings.OTHER else method_label(name) for name in methods
    ]


def _alone(name: str) -> str:
    return method_alone(name) + (OF_REFERENCE if name.endswith(REFERENCE) else "")


def _entry(cell: IkdrCell | None) -> Entry:
    if cell is None:
        return Entry(NO_CELL)
    ours = cell.ours
    mark = (UNCONVERGED if ours.note else "") + (WARNED if ours.warning else "") + (FLAGGED if ours.flag else "")
    axes = (cell.metric, cell.dataset, cell.kernel, cell.method)
    paper, verdict = cell.paper, str(cell.verdict)
    return Entry(ours.text, ours.mean, ours.std, cell.best, mark, _meaning(cell), paper, verdict, axes)


def _meaning(cell: IkdrCell) -> str:
    """Return what the number is, of how many runs, with its interval and what is to be known of these."""
    words, title = DEFINITIONS.get(cell.metric, ""), METRIC_TITLES.get(cell.metric, cell.metric)
    what = f"{title}: {words}" if words else title
    return meaning_of_cell(what, cell.metric, cell.ours, said=_said(cell.ours))


def _said(ours: Cell) -> str:
    """Return all that is to be known of a cell's runs."""
    return "; ".join(filter(None, (_remark(ours), ours.warning if ours.metric in TIMES else "")))


def _remark(ours: Cell) -> str:
    return "; ".join(filter(None, (ours.note, ours.flag)))


def _place(cell: IkdrCell) -> str:
    return f"{dataset_label(cell.dataset)}, {kernel_label(cell.kernel)}, {method_label(cell.method)}"


def _warnings(cells: list[IkdrCell]) -> list[str]:
    """Return why times of the table need care."""
    times = [cell.ours for cell in cells if cell.metric == "time_s"]
    marked = [cell for cell in times if cell.warning]
    not_timed = [cell.warning for cell in marked if cell.warning in (UNTIMED, SCALED)]
    reasons = list(dict.fromkeys(not_timed))
    if drifted := len(marked) - len(not_timed):
        doubt = (
            "the cores were not as fast (10 %) as for other methods, a run waited for its core or worked off the clock"
        )
        reasons.append(f"in {drifted} of {counted(len(times), 'time')} {doubt}")
    return [f"{WARNED} Times to be taken with care: {'; '.join(reasons)}."] if reasons else []


def _listed(cell: IkdrCell) -> dict[str, Any]:
    ours, axes = cell.ours, {axis: getattr(cell, axis) for axis in _AXES}
    printed = {"paper": cell.paper, "ours": ours.text, "verdict": cell.verdict, "why": cell.why}
    numbers = {"mean": ours.mean, "std": ours.std, "runs": ours.runs, "counted": ours.counted, "best": cell.best}
    return axes | printed | numbers


def beside_published(cells: list[IkdrCell]) -> Section:
    """Return the section of a page that shows each cell beside its published number."""
    printed = [cell for cell in cells if cell.metric not in ("warm_s", GAP)]
    rows = [[*entries(_words(cell)), Entry(cell.verdict, verdict=cell.verdict), Entry(cell.why)] for cell in printed]
    columns = ["Data", "Kernel", "Method", "Metric", "Paper", "Ours", "Verdict", "Why"]
    table = Table("beside_published", "", columns, [rows], n_labels=len(columns))
    return Section("Beside the published numbers", table, paragraphs=[VERDICT_RULES])


def _words(cell: IkdrCell) -> tuple[str, ...]:
    names = dataset_label(cell.dataset), kernel_label(cell.kernel), method_label(cell.method)
    return *names, METRIC_TITLES[cell.metric], cell.paper or "\u2013", cell.ours.text
