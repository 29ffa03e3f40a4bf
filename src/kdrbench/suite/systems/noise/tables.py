"""The table and figure of noise: what methods make of labels without meaning, and how often the test calls it real."""

from __future__ import annotations

import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.reports.figures.chart import BLACK, Axis, Chart, Line, Mark, Panel, Series
from kdrbench.suite.reports.making import Page, Source, sections_of_runs
from kdrbench.suite.reports.tables.labels import NO_CELL, dataset_label
from kdrbench.suite.reports.tables.numbers import duration, percentage
from kdrbench.suite.reports.tables.significance import clopper_pearson
from kdrbench.suite.reports.tables.table import Entry, Table, entries, measured
from kdrbench.suite.systems.league.figures import style_of
from kdrbench.suite.systems.league.table_rows import leading_to, title_of

_COLUMNS = ["Data", "Method", "Draws", "On its own samples", "On others", "Median p", "Called real", "CPU time"]
_NOTE = (
    "Draws are of the labels. Accuracy of 5 nearest neighbours in the projection, mean over draws of five folds: on "
    "the samples that it was learned from, and on those left out. p: of the permutation test that refits the method, "
    "median over draws. Called real: draws with p of at most 0.05, with the exact 95 % interval of their share, which "
    "should hold 5 %. CPU time: median of a draw, its test included."
)


def page(source: Source) -> Page:
    """Return the table of an experiment: a row for each data set and method."""
    groups = source.runs.groupby(["dataset", "method"], sort=False)
    rows = [_row(str(dataset), str(method), group) for (dataset, method), group in groups]
    table = Table(source.report.name, source.experiment["title"], _COLUMNS, [rows], [_NOTE], n_labels=2)
    return table, sections_of_runs(source.runs)


def called_real(runs: pd.DataFrame) -> str:
    """Return in how many draws the test rejects, with the interval of the share: ``2 of 20 (1.2 to 31.7 %)``."""
    known = runs["rejected"].dropna()
    if known.empty:
        return NO_CELL
    low, high = clopper_pearson(int(known.sum()), len(known))
    return f"{int(known.sum())} of {len(known)} ({100 * low:.1f} to {100 * high:.1f} %)"


def _row(dataset: str, method: str, runs: pd.DataFrame) -> list[Entry]:
    rejected, draws = runs["rejected"].dropna(), counted(len(runs.dropna(subset=["p_value"])), "draw")
    numbers = [
        Entry(str(len(runs)), float(len(runs))),
        *(_accuracy(runs[name], draws) for name in ("train_accuracy", "test_accuracy")),
        measured(float(runs["p_value"].median()), "{:.2f}", f"median over {draws}"),
        Entry(called_real(runs), float(rejected.mean()) if len(rejected) else None, detail="draws with p <= 0.05"),
        measured(float(runs["cpu_s"].median()), duration, f"median over {draws}"),
    ]
    labels = entries([dataset_label(dataset), title_of(method)])
    return [*labels, *leading_to(method, numbers, dataset)]


def _accuracy(values: pd.Series, draws: str) -> Entry:
    if not values.count():
        return Entry(NO_CELL)
    mean, spread = float(values.mean()), float(values.std(ddof=0))
    return Entry(percentage(mean, spread), mean, spread, detail=f"mean and standard deviation over {draws}")


def chart_of(source: Source) -> Chart | None:
    """Return the figure of an experiment; ``None`` where no run has tested a projection."""
    known = source.runs.dropna(subset=["train_accuracy", "test_accuracy", "p_value"])
    if known.empty:
        return None
    accuracies, shares = [], [Series("expected of noise", [0.0, 1.0], [0.0, 1.0], colour=BLACK, line=Line.DASHED)]
    for place, (method, runs) in enumerate(known.groupby("method", sort=False)):
        title, (colour, symbol) = title_of(str(method)), style_of(str(method), place)
        own, others, p = (runs[name].astype(float) for name in ("train_accuracy", "test_accuracy", "p_value"))
        words = [f"draw {int(number)}" for number in runs["run"]]
        accuracies.append(Series(title, own.tolist(), others.tolist(), Mark.POINTS, symbol, colour, words=words))
        values, below = p.sort_values().tolist(), p.rank(method="max", pct=True).sort_values().tolist()
        words = [f"called real: {called_real(runs)}"] * len(runs)
        shares.append(Series(title, values, below, Mark.POINTS, symbol, colour, words=words))
    return Chart(
        name=source.name,
        title=source.experiment["title"],
        caption=(
            f"{source.experiment['title']} A point is a draw of the labels, of which a method has up to "
            f"{int(known['run'].nunique())}. Left: accuracy of 5 nearest neighbours on the samples that a projection "
            "was learned from, and on others. Right: p-values of the test in ascending order, whose share at or below "
            "a value should be that value: the black line. Tests of hopeless draws stop early, and all of p = 1 are "
            "alike."
        ),
        panels=[
            Panel("accuracy", Axis("on its own samples"), Axis("on other samples"), accuracies),
            Panel("test", Axis("p-value"), Axis("share of draws at or below"), shares),
        ],
        columns=2,
    )
