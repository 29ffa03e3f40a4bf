"""What the page knows of each run: its row, in the order in which a reader asks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.suite.engine.record import Record, column_types
from kdrbench.suite.reports.dashboard.rendering import run_labels
from kdrbench.suite.reports.declared import declared
from kdrbench.suite.reports.records import IKDR, KPCA_TRICK, NO_KERNEL
from kdrbench.suite.reports.tables.labels import METRIC_TITLES, learner_name
from kdrbench.suite.reports.tables.numbers import brief

# Costs of solvers are close to each other.
_EXACT = {"cost", "mean_cost"}
_SHARES = {"quality", "accuracy", "train_accuracy", "test_accuracy"}
# Letters that are kept of words that hardly two runs share.
_SHORTENED = {"started_at": len("2026-11-23T07:24:25"), "batch_sha256": 12, "definition_sha256": 12}
# What the details show apart, in their heading.
_RESULTS = {"cost", "quality", "time_s"}
_HEADING = {"system", "experiment", "dataset", "kernel", "method", "run", "status", "message", "quality_metric"}


def all_runs(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the runs of all systems in one table, with the column ``system``.

    A system lacks the others' columns. Those that name a run, and its cost and quality, are always there. The quality
    of a learner's run is its accuracy.
    """
    runs = pd.concat([runs.assign(system=system) for system, runs in tables.items()], ignore_index=True)
    lacking = [column for column in sorted(_HEADING | _RESULTS) if column not in runs]
    runs = pd.concat([runs, pd.DataFrame(None, runs.index, lacking, dtype=object)], axis=1)
    if "accuracy" in runs:
        learned = (runs["system"] == KPCA_TRICK) & runs["accuracy"].notna()
        runs = runs.assign(
            quality=runs["quality"].where(~learned, runs["accuracy"]),
            quality_metric=runs["quality_metric"].where(~learned, "accuracy"),
        )
    return runs


def run_data(runs: pd.DataFrame) -> dict[str, Any]:
    """Return columns and groups of columns, as the page's script reads them.

    ``values`` are those of each column, one below the other, which compresses better than rows do; words that are
    repeated are kept once (:func:`_words`). ``names`` are three more columns: the labels of data set, kernel and
    method.
    """
    columns = [str(name) for name in runs.columns]
    axes = [name for name in ("system", "dataset", "kernel", "method", "learner", "variant") if name in runs]
    groups = {
        title: [name for name in group.split() if name in columns]
        for title, group in declared("names")["columns"].items()
    }
    others = [name for name in columns if name not in {*_HEADING, *chain(*groups.values())}]
    shared = column_types(Record)
    groups["Provenance"] += [name for name in others if name in shared]
    return {
        "columns": columns,
        "groups": {"Result": [name for name in others if name not in shared], **groups},
        "values": [_column(name, runs[name]) for name in columns],
        "names": [_words(list(labels)) for labels in zip(*map(_labels, runs[axes].to_dict("records")), strict=True)],
        "metrics": METRIC_TITLES,
    }


def run_name(row: Mapping[Hashable, Any]) -> str:
    """Return the name that lists give to the run of a row of the table."""
    dataset, kernel, method = _labels(row)
    of_kernel = "" if row["system"] != IKDR or row["kernel"] == NO_KERNEL else f", {kernel} kernel"
    return f"{method}, {dataset}{of_kernel}, run {row['run']}"


def _labels(row: Mapping[Hashable, Any]) -> tuple[str, str, str]:
    """Return data set, kernel and method of a run as tables print them."""
    named = learner_name(row["learner"], row["variant"]) if row["system"] == KPCA_TRICK else row["method"]
    kernel, method = (word if isinstance(word, str) else "" for word in (row["kernel"], named))
    return run_labels(row["system"], row["dataset"], kernel, method)


def _column(name: str, values: pd.Series) -> Any:
    """Return the values of a column as JSON has them; of words as :func:`_words` does."""
    if values.dtype != float:
        return _words([_plain(name, value) for value in values.tolist()])
    # A number, or that there is none, comes many times: each is rounded once.
    numbers, places = np.unique(values.to_numpy(), return_inverse=True)
    plain = [_plain(name, value) for value in numbers.tolist()]
    return [plain[place] for place in places.tolist()]


def _words(plain: list[Any]) -> Any:
    """Return a column as it is; of one with words each value once, and the ``places`` where they are."""
    if not any(isinstance(value, str) for value in plain):
        return plain
    places = {word: place for place, word in enumerate(dict.fromkeys(plain))}
    return {"words": list(places), "places": [places[word] for word in plain]}


def _plain(name: str, value: Any) -> Any:
    """Return a value of the table: whole numbers without a point, ``None`` for what is not there.

    Costs have eight digits, shares four, other numbers three, times of day no fractions of a second, and hashes of
    definitions their first digits: the page is looked at, and the merged tables beside it have all.
    """
    if isinstance(value, float):
        return brief(value, 8 if name in _EXACT else 4 if name in _SHARES else 3)
    if isinstance(value, str) and name in _SHORTENED:
        return value[: _SHORTENED[name]]
    return value
