"""The table of noise: what each method makes of labels that mean nothing, and how often the test calls it real."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.reports.records import Config
from kdrbench.suite.reports.tables.labels import NO_CELL, dataset_label
from kdrbench.suite.reports.tables.numbers import duration, percentage
from kdrbench.suite.reports.tables.significance import clopper_pearson
from kdrbench.suite.reports.tables.table import Entry, Table, entries

_COLUMNS = ["Data", "Method", "Draws", "On its own samples", "On others", "Median p", "Called real", "CPU time"]
_NOTE = (
    "Draws are of the labels. Accuracy of 5 nearest neighbours in the projection, mean over draws of five folds: on "
    "the samples that it was learned from, and on those left out. p: of the permutation test that refits the method, "
    "median over draws. Called real: draws with p of at most 0.05, with the exact 95 % interval of their share, which "
    "should hold 5 %. CPU time: median of a draw, its test included."
)


def noise_table(name: str, runs: pd.DataFrame, experiment: Config) -> Table:
    """Return a row for each data set and method."""
    groups = runs.groupby(["dataset", "method"], sort=False)
    rows = [_row(str(dataset), str(method), group) for (dataset, method), group in groups]
    return Table(name, experiment["title"], _COLUMNS, [rows], [_NOTE], n_labels=2)


def title_of(method: str) -> str:
    """Return a method's name as tables and figures print it."""
    from kdrbench.reduction.methods import METHODS

    return METHODS[method].title if method in METHODS else method


def called_real(runs: pd.DataFrame) -> str:
    """Return in how many draws the test rejects, with the interval of the share: ``2 of 20 (1.2 to 31.7 %)``."""
    known = runs["rejected"].dropna()
    if known.empty:
        return NO_CELL
    low, high = clopper_pearson(int(known.sum()), len(known))
    return f"{int(known.sum())} of {len(known)} ({100 * low:.1f} to {100 * high:.1f} %)"


def _row(dataset: str, method: str, runs: pd.DataFrame) -> list[Entry]:
    known = runs["rejected"].dropna()
    numbers = [
        Entry(str(len(runs)), float(len(runs))),
        *(_mean(runs[column]) for column in ("train_accuracy", "test_accuracy")),
        _median(runs["p_value"], lambda value: f"{value:.2f}"),
        Entry(called_real(runs), float(known.mean()) if len(known) else None, detail="draws with p <= 0.05"),
        _median(runs["cpu_s"], duration),
    ]
    labels = entries([dataset_label(dataset), title_of(method)])
    return [*labels, *(replace(number, axes=("", dataset, "", method)) for number in numbers)]


def _mean(values: pd.Series) -> Entry:
    known = values.dropna()
    if known.empty:
        return Entry(NO_CELL)
    spread = float(known.std(ddof=0))
    detail = f"mean and standard deviation over {counted(len(known), 'draw')}"
    return Entry(percentage(float(known.mean()), spread), float(known.mean()), spread, detail=detail)


def _median(values: pd.Series, shown: Callable[[float], str]) -> Entry:
    known = values.dropna()
    if known.empty:
        return Entry(NO_CELL)
    median = float(known.median())
    return Entry(shown(median), median, detail=f"median over {counted(len(known), 'draw')}")
