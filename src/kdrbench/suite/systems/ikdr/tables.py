"""The tables of IKDR in the layout of the papers' Table 4, each cell beside its published number.

One block a data set with a row for time, cost and quality; one group of columns a kernel with a column for each solver.
At the right are the baselines, which have no kernel and no cost. Where solvers declare different settings, each kernel
has a group of columns for each.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.findings.nearness import gaps_of, known_beside, traces_of
from kdrbench.suite.findings.outcome import UNTIMED
from kdrbench.suite.paired import holm, signed_rank_p
from kdrbench.suite.reports.making import Page, Source, sections_of_runs
from kdrbench.suite.reports.protocol import departure
from kdrbench.suite.reports.records import NO_KERNEL, REFERENCE, Config
from kdrbench.suite.reports.tables.cells import (
    BOLD_MEANS,
    COMPONENTS,
    CONVERGED_MEANS,
    GAP,
    METRICS,
    NMI_GIVEN,
    TIMES,
    Cell,
    ikdr_cells,
)
from kdrbench.suite.reports.tables.labels import (
    DEFINITIONS,
    MEASURES,
    METRIC_TITLES,
    NO_CELL,
    OF_REFERENCE,
    TIMES_MEAN,
    dataset_label,
    kernel_label,
    method_alone,
    method_label,
)
from kdrbench.suite.reports.tables.published_numbers import (
    PublishedNumber,
    check_published,
    find_published,
    printed_table,
    published_name,
)
from kdrbench.suite.reports.tables.significance import SIGNIFICANT, meaning_of_cell
from kdrbench.suite.reports.tables.table import (
    FLAGGED,
    UNCONVERGED,
    WARNED,
    Column,
    Entry,
    Group,
    Section,
    Table,
    blocks_by,
    lay_out,
)
from kdrbench.suite.reports.tables.verdicts import VERDICT_RULES, Compared, Verdict
from kdrbench.suite.systems.ikdr.config import Settings, is_redrawn, settings_of, split_of
from kdrbench.suite.systems.ikdr.controls import controls_of
from kdrbench.suite.systems.ikdr.definition import EIGENGAP, Paradigm
from kdrbench.suite.systems.ikdr.folds import Split
from kdrbench.suite.systems.ikdr.paired_tests import FEWEST_PAIRS, without_ties
from kdrbench.suite.systems.ikdr.partitions import Partitions, spread_table
from kdrbench.suite.systems.ikdr.scores import Metric


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
    *,
    with_best: bool = True,
) -> list[IkdrCell]:
    """Return a cell for each data set, kernel, method and metric the experiment names, in its order.

    The cells of a data set end with its baselines', which have the kernel ``none`` and no cost. A cell without runs is
    there too, with the text "not run". ``controls`` are the solvers that do not compete for the best;
    ``partitions`` say how means vary over redrawn folds; ``settings`` are those that solvers declare;
    ``config`` defines kernels and methods, which may depart from those of the papers; ``gaps`` are the runs' distances
    above the best known cost (:func:`.nearness.gaps_of`), without which no cell says them. ``with_best`` tests which
    methods are the best.

    Raises ``InputError`` when the experiment names a published table of which no number is known.
    """
    if table := printed_table(experiment):
        check_published(**table)
    runs = runs if gaps is None else runs.assign(**{GAP: gaps})
    cells, of_solvers = ikdr_cells(runs, settings), _metrics_of(experiment, with_gaps=gaps is not None)
    names = {metric: _metric_name(metric, runs, experiment) for metric in of_solvers}
    groups = [(kernel, experiment["solvers"], of_solvers) for kernel in experiment["kernels"]]
    of_baselines = [metric for metric in METRICS if metric != "cost"]
    groups.append((NO_KERNEL, experiment.get("baselines", []), of_baselines))
    compared = []
    for dataset in experiment["datasets"]:
        for kernel, methods, metrics in groups:
            here = runs.loc[(runs["dataset"] == dataset) & (runs["kernel"] == kernel), ["run", "method", *metrics]]
            for metric in metrics:
                words = NO_CELL if metric == "warm_s" else "not run"
                absent = Cell(metric, None, None, words, "", 0, 0, complete=False)
                ours = {name: cells.get((dataset, kernel, name), {}).get(metric, absent) for name in methods}
                competing = {name: cell for name, cell in ours.items() if name not in controls}
                # Of numbers of components none is the best, and gaps are costs once more.
                competing = {} if metric in (COMPONENTS, GAP) or not with_best else competing
                best = _best(competing, here, metric, lowest=not MEASURES[names[metric]].highest_is_best)
                for name, cell in ours.items():
                    axes = {"dataset": dataset, "kernel": kernel, "method": name}
                    departs = departure(experiment, config or {}, dataset, kernel, name) if table else ""
                    printed = find_published(**table, **published_axes(axes), metric=names[metric]) if table else None
                    compared.append(
                        IkdrCell(
                            ours=cell,
                            published=printed,
                            error=_error(cell, (dataset, kernel, name), experiment, partitions, printed),
                            departure=departs,
                            **axes,
                            metric=names[metric],
                            best=name in best,
                            control=name in controls,
                            settings=(settings or {}).get(name, Settings.OTHER),
                        )
                    )
    return compared


def _error(
    cell: Cell,
    place: tuple[str, str, str],
    experiment: Config,
    partitions: Partitions | None,
    printed: PublishedNumber | None,
) -> float | None:
    """Return the standard error of a cell's mean: by redrawn partitions, or of independent draws.

    Where one draw is printed, it is the root mean square of that of the mean and of the spread of single draws.
    """
    if cell.mean is None or cell.std is None or cell.metric not in ("cost", "quality"):
        return None
    if split_of(experiment) is Split.SUBSETS and cell.error is not None:
        of_one_draw = printed is not None and printed.std is None
        return cell.error * math.sqrt((cell.counted + 1) / 2 if of_one_draw else 1.0)
    if split_of(experiment) is not Split.FOLDS or partitions is None:
        return None
    spread = partitions.of(experiment, *place, cell.metric)
    return spread.error if spread else None


def published_axes(axes: dict[str, str]) -> dict[str, str]:
    """Return the names that published numbers have for our data set, kernel and method."""
    return {axis: published_name(axis, name) for axis, name in axes.items()}


def _metrics_of(experiment: Config, *, with_gaps: bool) -> list[str]:
    by_rule = EIGENGAP in experiment.get("components", {}).values()
    differs = experiment.get("paradigm") == Paradigm.ALTERNATIVE
    compared = with_gaps and len(experiment["solvers"]) > 1
    costs = [metric for one in METRICS for metric in ((one, GAP) if one == "cost" and compared else (one,))]
    return [*([COMPONENTS] if by_rule else []), *costs, *([NMI_GIVEN] if differs else [])]


def _best(cells: dict[str, Cell], runs: pd.DataFrame, metric: str, *, lowest: bool) -> set[str]:
    """Return the significantly best methods of a data set's ``runs``, as :data:`.cells.BOLD_MEANS` says."""
    competing = {name: cell for name, cell in cells.items() if cell.competes and cell.mean is not None}
    if len(competing) < 2:
        return set()
    values = runs.pivot(index="run", columns="method", values=metric)
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
_HEADINGS = {
    Settings.AUTHORS: "as the authors ran them",
    Settings.PUBLISHED: "as published",
    Settings.CONVERGED: "converged",
    Settings.OTHER: "others",
}


def page(source: Source) -> Page:
    """Return the table of an experiment, and on its page each cell beside its published number."""
    runs, config, name = source.runs, source.config, source.report.name
    experiment, own = source.experiment, runs[runs["experiment"] == name]
    traces = traces_of(own, source.traces)
    gaps = gaps_of(own, traces, known_beside(traces, config))
    settings, partitions = settings_of(config), Partitions(runs, config)
    cells = compared_cells(own, experiment, controls_of(name, config), partitions, settings, config, gaps)
    sections = [beside_published(cells)] if printed_table(experiment) else []
    if is_redrawn(experiment):
        alone = Partitions(own, {**config, "run": [name]})
        sections.append(Section("How the means vary", spread_table(alone)))
    return ikdr_table(name, cells, experiment), [*sections, *sections_of_runs(own)]


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
    remarks = [
        f"{dataset_label(cell.dataset)}, {kernel_label(cell.kernel)}, {method_label(cell.method)}: {remark}"
        for cell in times
        if (remark := _remark(cell.ours))
    ]
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
    groups = [(settings, len(list(group))) for settings, group in groupby(methods, declared.get)]
    if len(groups) == 1:
        return [Group("", len(methods))]
    return [Group(_HEADINGS[settings] if settings else "", count) for settings, count in groups]


def _headings(methods: list[str], declared: Mapping[str, Settings]) -> list[str]:
    """Return the columns' titles: without the variant where the line above says it, and never without the reference."""
    alone = len(_variants(methods, declared)) > 1
    return [
        method_alone(name) + (OF_REFERENCE if name.endswith(REFERENCE) else "")
        if alone and declared.get(name) is not Settings.OTHER
        else method_label(name)
        for name in methods
    ]


def _entry(cell: IkdrCell | None) -> Entry:
    if cell is None:
        return Entry(NO_CELL)
    ours = cell.ours
    mark = (UNCONVERGED if ours.note else "") + (WARNED if ours.warning else "") + (FLAGGED if ours.flag else "")
    words, title = DEFINITIONS.get(cell.metric, ""), METRIC_TITLES.get(cell.metric, cell.metric)
    known = (_remark(ours), ours.warning if ours.metric in TIMES else "")
    what, remarks = f"{title}: {words}" if words else title, "; ".join(filter(None, known))
    detail = meaning_of_cell(what, cell.metric, ours, said=remarks)
    axes = (cell.metric, cell.dataset, cell.kernel, cell.method)
    return Entry(ours.text, ours.mean, ours.std, cell.best, mark, detail, cell.paper, str(cell.verdict), axes)


def _remark(ours: Cell) -> str:
    return "; ".join(filter(None, (ours.note, ours.flag)))


def _warnings(cells: list[IkdrCell]) -> list[str]:
    times = [cell.ours for cell in cells if cell.metric == "time_s"]
    marked = [cell.warning for cell in times if cell.warning]
    reasons = [UNTIMED] if UNTIMED in marked else []
    if drifted := len(marked) - marked.count(UNTIMED):
        doubt = (
            "the cores were not as fast (10 %) as for other methods, a run waited for its core or worked off the clock"
        )
        reasons.append(f"in {drifted} of {counted(len(times), 'time')} {doubt}")
    return [f"{WARNED} Times to be taken with care: {'; '.join(reasons)}."] if reasons else []


def _listed(cell: IkdrCell) -> dict[str, Any]:
    ours, axes = cell.ours, {axis: getattr(cell, axis) for axis in ("dataset", "kernel", "method", "metric")}
    printed = {"paper": cell.paper, "ours": ours.text, "verdict": cell.verdict, "why": cell.why}
    numbers = {"mean": ours.mean, "std": ours.std, "runs": ours.runs, "counted": ours.counted, "best": cell.best}
    return axes | printed | numbers


_BESIDE = (
    Column("Data", lambda cell: dataset_label(cell.dataset)),
    Column("Kernel", lambda cell: kernel_label(cell.kernel)),
    Column("Method", lambda cell: method_label(cell.method)),
    Column("Metric", lambda cell: METRIC_TITLES[cell.metric]),
    Column("Paper", lambda cell: cell.paper or "\u2013"),
    Column("Ours", lambda cell: cell.ours.text),
    Column("Verdict", lambda cell: Entry(cell.verdict, verdict=cell.verdict)),
    Column("Why", lambda cell: cell.why),
)


def beside_published(cells: list[IkdrCell]) -> Section:
    """Return the section of a page that shows each cell beside its published number."""
    printed = [cell for cell in cells if cell.metric not in ("warm_s", GAP)]
    table = lay_out("beside_published", "", _BESIDE, printed, n_labels=len(_BESIDE))
    return Section("Beside the published numbers", table, paragraphs=[VERDICT_RULES])
