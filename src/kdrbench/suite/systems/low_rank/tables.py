"""Low-rank kernel learning: the numbers in the paper's text beside ours, all that was measured, and its figures.

Source: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.reports.figures.chart import BLACK, Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.figures.styles import Style, styles_of
from kdrbench.suite.reports.making import Page, sections_of_runs
from kdrbench.suite.reports.making import Source as ReportSource
from kdrbench.suite.reports.records import LOW_RANK, Config, experiments_of
from kdrbench.suite.reports.tables.cells import UNSTOPPED, Cell, summarise
from kdrbench.suite.reports.tables.labels import DEFINITIONS, METRIC_TITLES, TIMES_MEAN, Format, low_rank_label
from kdrbench.suite.reports.tables.numbers import agreement, duration, percentage, whole
from kdrbench.suite.reports.tables.published_numbers import published_numbers
from kdrbench.suite.reports.tables.significance import interval_words, meaning, meaning_of_mean
from kdrbench.suite.reports.tables.table import Column, Entry, lay_out

# What the published numbers are of.
PAPER = {"paper": "lowrank2006", "table": "text", "setting": "learning"}
METRIC_LABELS = {
    "accuracy": "5-NN accuracy",
    "sweeps_least": "sweeps, fewest constraints",
    "sweeps_most": "sweeps, most constraints",
    "sweeps": "sweeps, all numbers of constraints",
    "nmi": "NMI, fewest to most constraints",
}


# What its figures show is known in words only; the ends of our curves are printed beside it.
FIGURES = PAPER | {"table": "figures"}
_CURVES = {"accuracy": "accuracy", "nmi": "nmi_ten_starts"}
# Sweeps on gyrB were counted beside DefiniteBoost, whose kernels have trace one: methods like it come first.
_LIKE_FOR_LIKE = {
    "von_neumann": ("von_neumann_trace", "von_neumann"),
    "definite_boost": ("definite_boost", "definite_boost_exact", "definite_boost_own_range"),
}
# Methods that can have learned the kernel with no constraints, or with all of them.
_EXACT = ("burg", "von_neumann")


@dataclass(frozen=True)
class Source:
    """Where our number for a published one comes from: an experiment's runs of a method, and their cell."""

    experiment: str
    method: str
    cell: Cell

    @property
    def label(self) -> str:
        """The source in words."""
        return f"{self.experiment}, {low_rank_label(self.method)}"


def published_and_sources(runs: pd.DataFrame, config: Config) -> Iterator[tuple[dict[str, str], list[Source]]]:
    """Yield each number of the paper's text, and curve of its figures, with ours from all experiments and methods."""
    for axes in published_numbers(**PAPER):
        alike = _LIKE_FOR_LIKE.get(axes["method"], ()) if axes["metric"] == "sweeps" else ()
        found = list(_sources(axes, runs, config, alike or (axes["method"],)))
        yield axes, sorted(found, key=lambda source: alike.index(source.method) if alike else 0)
    for axes in published_numbers(**FIGURES):
        yield axes, list(_curves(axes, runs, config))


def _sources(axes: dict[str, str], runs: pd.DataFrame, config: Config, methods: tuple[str, ...]) -> Iterator[Source]:
    wanted = axes["method"]
    for name in experiments_of(config, LOW_RANK):
        experiment = config["experiments"][name]
        # The same data, or their synthetic stand-in.
        if not any(dataset.startswith(axes["dataset"]) for dataset in experiment["datasets"]):
            continue
        counts = _counts(axes, experiment)
        for method in experiment["methods"]:
            if method not in methods and not (wanted in ("none", "learned", "original") and method in _EXACT):
                continue
            of_method = (runs["experiment"] == name) & (runs["method"] == method)
            chosen = runs[of_method & runs["n_constraints"].isin(counts)]
            if len(chosen):
                yield Source(name, method, _cell(axes["metric"], chosen, original=wanted == "original"))
            if wanted in ("none", "original"):
                # Without constraints, and for the kernel that distances are taken from, the method does not matter.
                break


def _curves(axes: dict[str, str], runs: pd.DataFrame, config: Config) -> Iterator[Source]:
    for name in experiments_of(config, LOW_RANK):
        for method in config["experiments"][name]["methods"]:
            rows = runs[(runs["experiment"] == name) & (runs["method"] == method)]
            if method in _EXACT and axes["dataset"] in config["experiments"][name]["datasets"] and len(rows):
                means = rows.groupby("n_constraints")[_CURVES[axes["metric"]]].mean().dropna()
                shown = percentage if axes["metric"] == "accuracy" else agreement
                text = f"{shown(means.iloc[0])} to {shown(means.iloc[-1])}" if len(means) > 1 else "N/A"
                cell = Cell(axes["metric"], None, None, text, "", len(rows), len(rows), complete=True)
                yield Source(name, method, cell)


def _counts(axes: dict[str, str], experiment: Config) -> list[int]:
    """Return the numbers of constraints that a published number refers to."""
    counts = sorted(experiment["constraints"])
    some = [count for count in counts if count > 0]
    by_method = {"none": [count for count in counts if count == 0], "learned": some[-1:], "original": counts[:1]}
    by_metric = {"sweeps_least": some[:1], "sweeps_most": some[-1:]}
    return by_method.get(axes["method"], by_metric.get(axes["metric"], some))


def _cell(metric: str, runs: pd.DataFrame, *, original: bool = False) -> Cell:
    """Return mean and spread of a share or of sweeps; sweeps that were used up are a bound and no number."""
    if metric == "accuracy":
        cell = summarise("quality", runs, "target_accuracy" if original else "accuracy", percentage)
        return replace(cell, note="", complete=True) if cell.counted else cell
    cell = summarise("sweeps", runs, "sweeps", whole)
    if not cell.counted:
        return cell
    if not runs["status"].isin(UNSTOPPED).all():
        return replace(cell, text=f"> {cell.text}", complete=False, at_least=True)
    return replace(cell, note="", complete=True)


def page(source: ReportSource) -> Page:
    """Return all that was measured of an experiment: a row for each method and number of constraints."""
    runs, experiment = source.runs, source.experiment
    groups = [
        group
        for method in experiment["methods"]
        for _, group in runs[runs["method"] == method].groupby("n_constraints")
    ]
    notes = [
        "Means over draws of the constraints; the KKT residual is the largest. Solved: the method's own stopping "
        "rule holds. Machine code is loaded before the clock starts.",
        TIMES_MEAN,
    ]
    name, title = source.report.name, experiment["title"]
    table = lay_out(name, title, _MEASURED, groups, number=_number, block=_axes, notes=notes)
    return table, sections_of_runs(runs)


def text_page(source: ReportSource) -> Page:
    """Return the numbers in the text of the paper beside ours: paper, ours, verdict, why."""
    from kdrbench.suite.findings.ledger import compare

    comparisons = compare({LOW_RANK: source.runs}, source.config)
    title = "Low-rank kernel learning: numbers in the text of the paper, and ours"
    notes = [
        "Mean and standard deviation over draws of the constraints. The published rule ends when the duals come to "
        "rest: |mu - mu_old|_1 / (|mu|_2 + |mu_old|_2) < 1e-3."
    ]
    block = attrgetter("dataset")
    return lay_out(
        source.report.name, title, _COMPARED, comparisons, block=block, notes=notes, n_labels=len(_COMPARED)
    ), []


def _mean(title: str, column: str, words: str, shown: Format, metric: str) -> Column:
    """Return a column of means of a group of runs; ``metric`` is that as which they are printed."""

    def show(group: pd.DataFrame) -> Entry:
        known = group[column].dropna()
        if known.empty:
            return Entry("")
        what = f"{title}: {words}, with {_count(group)} constraints"
        detail = meaning_of_mean(what, metric, group[column], unit="draw")
        return Entry(shown(float(known.mean()), None), detail=detail, axes=_axes(group))

    return Column(title, show)


def _count(group: pd.DataFrame) -> object:
    return group["n_constraints"].iloc[0]


def _axes(group: pd.DataFrame) -> tuple[str, ...]:
    return "", "", "", str(group["method"].iloc[0])


def _number(group: pd.DataFrame, text: str, words: str) -> Entry:
    detail = meaning(words, f"{counted(len(group), 'draw')} of {_count(group)} constraints")
    return Entry(text, detail=detail if text else "", axes=_axes(group) if text else ())


def _solved(group: pd.DataFrame) -> int:
    return int((group["status"] == str(Status.CONVERGED)).sum())


def _residual(group: pd.DataFrame) -> str:
    largest = group["kkt_residual"].max()
    return "" if pd.isna(largest) else f"{largest:.1e}"


_MEASURED = (
    Column("Method", lambda group: low_rank_label(_axes(group)[-1])),
    Column("Constraints", _count),
    Column(
        "Solved",
        lambda group: f"{_solved(group)} of {len(group)}",
        "Solved: how often the method's own stopping rule held",
    ),
    _mean("Sweeps", "sweeps", "passes over all constraints", whole, "sweeps"),
    Column("KKT residual", _residual, "KKT residual: the largest distance from the conditions of the optimum"),
    _mean("5-NN", "accuracy", "share of samples that five nearest neighbours label rightly", percentage, "accuracy"),
    _mean("NMI, 1 start", "nmi_one_start", "of k-means' clusters and classes, 0 to 1", agreement, "nmi"),
    _mean("NMI, best of 10", "nmi_ten_starts", "the same, of the best of ten starts", agreement, "nmi"),
    _mean(METRIC_TITLES["time_s"], "time_s", DEFINITIONS["time_s"], duration, "time_s"),
)


def _ours(one: Any) -> Entry:
    """Return our number of a :class:`.Comparison`."""
    interval = "" if one.low is None or one.high is None else interval_words(one.metric, one.low, one.high)
    words = meaning(METRIC_LABELS[one.metric], counted(one.runs, "run"), interval) if one.runs else ""
    return Entry(one.ours, value=one.mean, spread=one.std, detail=words)


_COMPARED = (
    Column("Data", lambda one: one.dataset),
    Column("Number", lambda one: METRIC_LABELS[one.metric]),
    Column("Method", lambda one: low_rank_label(one.method)),
    Column("Ours from", lambda one: one.experiment),
    Column("Paper", lambda one: one.published),
    Column("Ours", _ours),
    Column("Verdict", lambda one: Entry(one.verdict, verdict=one.verdict)),
    Column("Why", lambda one: one.why),
)


# Titles of panels and of their vertical axes.
_PANELS = {
    "accuracy": ("5-NN, 50/50 two-fold", "accuracy"),
    "nmi_one_start": ("kernel k-means from one start", "NMI"),
    "nmi_ten_starts": ("kernel k-means, best of ten starts", "NMI"),
    "sweeps": ("sweeps, or Newton steps", "sweeps"),
}


def chart_of(source: ReportSource) -> Chart:
    """Return an experiment's chart: median over runs with a band of the quartiles; sweeps on a logarithmic axis."""
    runs, experiment = source.runs, source.experiment
    styles = styles_of([*source.config.get("low_rank_methods", {}), *experiment["methods"]])
    shown = {method: styles[method] for method in experiment["methods"]}
    return Chart(
        name=source.name,
        title=experiment["title"],
        caption=(
            f"{experiment['title'].rstrip('.')}. Median of {counted(runs['run'].nunique(), 'draw')} of the "
            "constraints, band of the quartiles. Crosses: some runs did not meet their stopping rule."
        ),
        panels=[_panel(runs, shown, column) for column in _PANELS],
        columns=2,
    )


def _panel(rows: pd.DataFrame, styles: dict[str, Style], column: str) -> Panel:
    title, quantity = _PANELS[column]
    scale = Scale.LOG if column == "sweeps" else Scale.LINEAR
    # Without constraints there are no sweeps, which a logarithmic axis cannot show.
    rows = rows[rows["n_constraints"] > 0] if scale is Scale.LOG else rows
    of_method = {method: rows[rows["method"] == method] for method in styles}
    series = [part for method, style in styles.items() for part in _series(of_method[method], method, style, column)]
    return Panel(title, Axis("constraints"), Axis(quantity, scale), series)


def _series(rows: pd.DataFrame, method: str, style: Style, column: str) -> list[Series]:
    groups, label = rows.groupby("n_constraints"), low_rank_label(method)
    # Quartiles: a few draws without a solution would stretch a standard deviation beyond what can be.
    quartiles = {share: groups[column].apply(pd.Series.quantile, q=share) for share in (0.25, 0.5, 0.75)}
    shown = pd.DataFrame(quartiles).astype(float).dropna()
    if shown.empty:
        return []
    solved, runs = (counts.reindex(shown.index) for counts in (groups.apply(_solved), groups.size()))
    low, middle, high = shown.to_numpy().T.tolist()
    words = [f"{met} of {counted(int(n), 'run')} met their rule" for met, n in zip(solved, runs, strict=True)]
    looks: dict[str, Any] = {"symbol": style.symbol, "colour": style.colour, "line": style.line}
    series = [Series(label, shown.index.astype(float).tolist(), middle, lower=low, upper=high, words=words, **looks)]
    if len(short := shown[solved < runs]):
        x, y = short.index.astype(float).tolist(), short[0.5].tolist()
        crosses = f"{label}: not all met their rule"
        series.append(Series(crosses, x, y, Mark.POINTS, Symbol.CROSS, BLACK, style.line, group=label))
    return series
