"""Runs that were not made, since the user's budget was used up: they are no results, and their cells are open."""

from __future__ import annotations

import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.reports.protocol import STOPPED_EARLY
from kdrbench.suite.reports.tables.labels import dataset_label

# Beside rows: how many other runs of their cell were not made.
NOT_MADE = "not_made"
_CELL = ["experiment", "dataset", "kernel", "method", "partition"]


def without_skipped(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of runs that were made.

    Cells of dimension reduction that lack others for the budget say so, as those do that were stopped too early: in
    the column ``stopped_early``, and with their number in :data:`NOT_MADE`.
    """
    if "status" not in rows or not (skipped := rows["status"] == str(Status.SKIPPED)).any():
        return rows
    made = rows[~skipped]
    if "method" not in rows or STOPPED_EARLY not in rows:
        return made
    axes = [rows[name] for name in _CELL if name in rows]
    lacking = skipped.groupby(axes, dropna=False).transform("sum").astype(int)[~skipped]
    words = [
        _in_words(count, str(method), str(dataset)) if count else early
        for count, early, method, dataset in zip(
            lacking, made[STOPPED_EARLY], made["method"], made["dataset"], strict=True
        )
    ]
    made = made.copy()
    made[NOT_MADE], made[STOPPED_EARLY] = lacking, words
    return made


def _in_words(count: int, method: str, dataset: str) -> str:
    verb = "was" if count == 1 else "were"
    return (
        f"{counted(count, 'run')} of {method} on {dataset_label(dataset)} {verb} not made, since the budget was used up"
    )
